"""Binding a name in a folder: what stands there already, what mode it gets, and what is left afterwards."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from engine.core import Socket as Spec
from engine.drive.security.ipc import LONGEST, listen, sweep
from engine.drive.sockets import Context, close_socket, make_context, open_socket
from tests.helpers.strangers import STRANGER, needs_stranger


@pytest.fixture
def context() -> Iterator[Context]:
    context = make_context()
    yield context
    context.term()


def spec(path: Path) -> Spec:
    return Spec("router", bind=(f"ipc://{path}",))


def refused(context: Context, path: Path | str, why: str) -> None:
    with pytest.raises(zmq.ZMQError) as caught:
        open_socket(context, Spec("router", bind=(f"ipc://{path}",)))
    assert str(caught.value).startswith(f"ipc://{path}: ") and why in str(caught.value)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_it_is_this_users_alone_whatever_the_umask(tmp_path: Path, context: Context, umask: int) -> None:
    before = os.umask(umask)
    try:
        made = open_socket(context, spec(tmp_path / "x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    with open_socket(context, Spec("dealer", connect=(f"ipc://{tmp_path}/x",))) as peer:
        peer.send(b"hello")
        assert made.recv_multipart()[1] == b"hello"
    close_socket(context, made)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "folder", "link", "fifo"])
def test_what_is_no_socket_is_left_alone(tmp_path: Path, context: Context, kind: str) -> None:
    path, target = tmp_path / "x", tmp_path / "precious"
    target.write_text("precious")
    match kind:
        case "file":
            path.write_text("precious")
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(target)
        case "fifo":
            os.mkfifo(path)
    before = path.lstat()
    refused(context, path, "no socket stands there, and is left alone")
    assert path.lstat() == before and target.read_text() == "precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["precious", "x"]


def test_a_living_one_is_left_alone(tmp_path: Path, context: Context) -> None:
    first = open_socket(context, spec(tmp_path / "x"))
    before = (tmp_path / "x").lstat().st_ino
    refused(context, tmp_path / "x", "another program listens there")
    assert (tmp_path / "x").lstat().st_ino == before
    close_socket(context, first)


def test_what_a_dead_one_left_is_replaced(tmp_path: Path, context: Context) -> None:
    fd, _ = listen(f"ipc://{tmp_path}/x")
    os.close(fd)
    assert (tmp_path / "x").is_socket()
    close_socket(context, open_socket(context, spec(tmp_path / "x")))
    assert list(tmp_path.iterdir()) == []


@needs_stranger
def test_what_a_dead_one_of_another_user_left_is_not(tmp_path: Path, context: Context) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        made.bind(str(tmp_path / "x"))
    os.chown(tmp_path / "x", STRANGER, STRANGER)
    refused(context, tmp_path / "x", f"a socket of user {STRANGER} stands there")
    assert (tmp_path / "x").is_socket()


def test_closing_takes_away_nothing_that_another_put_there(tmp_path: Path, context: Context) -> None:
    made = open_socket(context, spec(tmp_path / "x"))
    (tmp_path / "x").unlink()
    (tmp_path / "x").write_text("precious")
    close_socket(context, made)
    assert (tmp_path / "x").read_text() == "precious"


def test_names_that_are_no_paths(tmp_path: Path, context: Context) -> None:
    refused(context, "@name", "an abstract name is open to every user")
    refused(context, "*", "name the path of a socket")
    refused(context, f"{tmp_path}/", "name the path of a socket")
    refused(context, f"{tmp_path}/{'x' * LONGEST}", f"longer than {LONGEST} bytes")
    refused(context, f"{tmp_path}/none/x", "No such file or directory")
    assert list(tmp_path.iterdir()) == []


def test_of_two_that_bind_at_once_the_quicker_has_it(
    tmp_path: Path, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicker: list[int] = []

    def clear(path: str) -> None:
        monkeypatch.undo()
        quicker.append(listen(f"ipc://{path}")[0])

    monkeypatch.setattr("engine.drive.security.ipc._clear", clear)
    refused(context, tmp_path / "x", "another program has bound it meanwhile")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    os.close(quicker.pop())


def test_what_nobody_listens_behind_is_swept(tmp_path: Path, context: Context) -> None:
    made = open_socket(context, spec(tmp_path / "alive"))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead"))
    (tmp_path / "file").write_text("precious")
    found = {name: sweep(str(tmp_path / name)) for name in ("alive", "dead", "file", "none")}
    assert found == {"alive": False, "dead": True, "file": True, "none": True}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alive", "file"]
    close_socket(context, made)
