"""When newcomers are put off, and how often somebody looks."""

from __future__ import annotations

import errno
import os
import resource
import socket

import pytest

from engine.drive.security.descriptors import AGAIN, FRESH, RESERVE, Descriptors, count, hang_up


class Table:
    def __init__(self, opened: int, limit: int) -> None:
        self.opened, self.limit, self.looks = opened, limit, 0

    def __call__(self) -> tuple[int, int]:
        self.looks += 1
        return self.opened, self.limit


def test_the_count_is_that_of_this_process() -> None:
    before, limit = count()
    assert limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    ends = os.pipe()
    assert count()[0] == before + 2
    for end in ends:
        os.close(end)


def test_where_none_is_left_to_count_with_all_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def listdir(folder: str) -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("engine.drive.security.descriptors.os.listdir", listdir)
    opened, limit = count()
    assert opened == limit > 0 and Descriptors().short(0.0)


def test_a_reserve_is_kept() -> None:
    limit = 256
    table = Table(limit - RESERVE - 1, limit)
    it = Descriptors(table)
    assert not it.short(0.0)
    table.opened += 1
    assert it.short(0.0), "one newcomer was let in, so the last count may be out of date"
    table.opened -= 10
    assert not it.short(FRESH + 1.0)


def test_nobody_looks_while_the_last_count_leaves_room_for_all_that_have_come_since() -> None:
    table = Table(100, 10_000)
    it = Descriptors(table)
    assert not any(it.short(0.0) for _ in range(1000)) and table.looks == 1
    assert not it.short(FRESH) and table.looks == 2


def test_it_is_said_once_a_while() -> None:
    it = Descriptors(Table(250, 256))
    assert it.short(0.0)
    assert it.words(0.0) == (
        "250 of 256 descriptors are open: newcomers are asked to try again later; raise the limit with ulimit -n"
    )
    assert it.words(1.0) is None and it.words(AGAIN) is not None


def test_only_a_connection_of_this_endpoint_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as other:
        peer = socket.create_connection(listener.getsockname())
        taken, _ = listener.accept()
        hang_up(taken.fileno(), f"tcp://127.0.0.1:{other.getsockname()[1]}")
        peer.sendall(b"x")
        assert taken.recv(1) == b"x", "it belongs to somebody else"
        hang_up(taken.fileno(), f"tcp://127.0.0.1:{listener.getsockname()[1]}")
        assert peer.recv(1) == b"" and taken.fileno() >= 0
        gone = taken.detach()
        os.close(gone)
        hang_up(gone, "tcp://127.0.0.1:1")
        peer.close()
        ends = os.pipe()
        hang_up(ends[0], "tcp://127.0.0.1:1")
        for end in ends:
            os.close(end)
