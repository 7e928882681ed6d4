"""Whose the other end of a connection is."""

from __future__ import annotations

import os
import pwd
import socket
import struct
import sys
from pathlib import Path

import pytest

from engine.drive.security import users
from engine.drive.security.users import Trust, name_of, user_named, user_of

OWN = os.geteuid()
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a loopback connection")


def pair(host: str = "127.0.0.1", by: str = "") -> tuple[socket.socket, socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family, dualstack_ipv6=host == "::") as listener:
        here = socket.create_connection((by or host, listener.getsockname()[1]))
        return here, listener.accept()[0]


@linux
@pytest.mark.parametrize(("host", "by"), [("127.0.0.1", ""), ("::1", ""), ("::", "127.0.0.1")])
def test_both_ends_of_a_loopback_connection(host: str, by: str) -> None:
    try:
        here, there = pair(host, by)
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    assert user_of(here.fileno()) == user_of(there.fileno()) == OWN
    here.close()
    there.close()


def test_both_ends_of_a_local_socket() -> None:
    here, there = socket.socketpair()
    assert user_of(here.fileno()) == user_of(there.fileno()) == OWN
    here.close()
    there.close()


@linux
def test_a_connection_that_nobody_has_accepted_yet_is_nobodys_and_not_roots() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = socket.create_connection(listener.getsockname())
        assert user_of(here.fileno()) is None
        here.close()


@linux
def test_neither_is_one_whose_other_end_has_sent_something_and_was_closed() -> None:
    here, there = pair()
    there.sendall(b"JOB")
    there.close()
    assert user_of(here.fileno()) is None
    here.close()


def test_what_is_no_connection_is_nobodys() -> None:
    ends = os.pipe()
    assert user_of(ends[0]) is None
    for end in ends:
        os.close(end)
    assert user_of(ends[0]) is None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert user_of(listener.fileno()) is None


def test_where_there_is_no_such_table_it_can_not_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "TABLES", ("/nowhere/tcp", "/nowhere/tcp6"))
    here, there = pair()
    assert user_of(here.fileno()) is None
    here.close()
    there.close()


def test_as_the_kernel_writes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = "   1: 0100007F:9F1B 0100007F:1A2B {} 0:0 00:0 0 {:5}        0 {} 1 0 20 4 30 10 -1\n"
    if sys.byteorder == "big":
        row = row.replace("0100007F", "7F000001")
    table = tmp_path / "tcp"
    monkeypatch.setattr(users, "TABLES", (str(table), str(tmp_path / "tcp6")))
    other, own = ("127.0.0.1", 0x9F1B), ("127.0.0.1", 0x1A2B)
    for state, inode, wanted in (("01", 7, 1000), ("06", 7, None), ("01", 0, None)):
        table.write_text("  sl  local_address rem_address\n" + row.format(state, 1000, inode))
        assert users._tcp(other, own) == wanted
    assert users._tcp(own, other) is None


def test_as_macos_tells_it_of_local_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    class Connection:
        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            assert (level, option, size) == (0, 1, 76)
            return struct.pack("=IIh2x16I", 0, 501, 1, *([20] * 16))

    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert users._unix(Connection()) == 501  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "platform", "other")
    assert users._unix(Connection()) is None  # type: ignore[arg-type]


def test_whom_trust_names() -> None:
    me = pwd.getpwuid(OWN).pw_name
    assert [user_named(name) for name in (me, "12345", "unknown")] == [OWN, 12345, None]
    for wrong in ("nobody-of-this-name", "-1", str(2**32), "", "a\0b"):
        with pytest.raises(ValueError, match="there is no user"):
            user_named(wrong)
    trust = Trust(7, frozenset({8}))
    assert [trust.admits(user) for user in (7, 8, 9, None)] == [True, True, False, False]
    assert Trust(7, frozenset({None})).admits(None)


def test_users_have_names() -> None:
    assert name_of(OWN) == f"user {pwd.getpwuid(OWN).pw_name} ({OWN})"
    assert name_of(4_000_000_000) == "user 4000000000" and name_of(None) == "a user who can not be told"
