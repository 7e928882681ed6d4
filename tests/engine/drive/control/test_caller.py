"""One command and a broker's control socket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest

from engine.core import Socket as Spec
from engine.drive.control import caller as module
from engine.drive.control.caller import Caller, check
from engine.drive.links import ZSocket
from engine.drive.sockets import Context, close_socket, make_context, open_socket
from engine.errors import Refused
from engine.protocols.conversation import ORDERS
from engine.protocols.conversation.frontend import Accepted, Hold, ListJobs
from tests.helpers.processes import until
from tests.helpers.strangers import STRANGER, needs_stranger

HERE = "tcp://127.0.0.1:6716"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def context() -> Iterator[Context]:
    made = make_context()
    yield made
    made.term()


@pytest.fixture
def broker(folder: Path, context: Context) -> Iterator[ZSocket]:
    made = open_socket(context, Spec("router", bind=(f"ipc://{folder}/x",), private=True))
    made.rcvtimeo = 60_000
    yield made
    close_socket(context, made)


def test_it_asks_and_hears(folder: Path, broker: ZSocket) -> None:
    with Caller(folder / "x", HERE, ORDERS) as caller:
        caller.order(Hold(3))
        caller.answers(0)
        peer = b""
        while not peer:
            caller.answers(0.01)
            if broker.poll(10):
                peer, body = broker.recv_multipart()
        assert msgpack.unpackb(body) == {"v": 1, "id": 1, "ask": "hold", "JobId": 3}
        broker.send_multipart([peer, msgpack.packb({"v": 1, "id": 1, "say": "accepted", "JobId": 3})])
        assert caller.answers(10) == [Accepted(1, 3)] and caller.linked
        for wrong, why in (({"v": 9}, "version 9 is not spoken"), ({"v": 1, "id": 1, "say": "x"}, "can not be read")):
            broker.send_multipart([peer, msgpack.packb(wrong)])
            with pytest.raises(Refused, match=why):
                caller.answers(10)


def test_a_broker_that_is_silent_is_not_there(folder: Path, broker: ZSocket, monkeypatch: pytest.MonkeyPatch) -> None:
    with Caller(folder / "x", HERE, ORDERS) as caller:
        assert caller.linked
        caller.order(ListJobs())
        assert caller.linked
        monkeypatch.setattr(module, "SILENCE", 0.0)
        until(lambda: not caller.linked)


def test_over_another_connection_nothing_is_asked_twice(folder: Path, context: Context) -> None:
    spec = Spec("router", bind=(f"ipc://{folder}/x",), private=True)
    first = open_socket(context, spec)
    with Caller(folder / "x", HERE, ORDERS) as caller:
        close_socket(context, first)
        caller.order(Hold(3))
        caller.anew()
        caller.order(Hold(4))
        second = open_socket(context, spec)
        try:
            until(lambda: caller.answers(0) == [] and second.poll(10), "the question")
            _, body = second.recv_multipart()
            assert msgpack.unpackb(body)["JobId"] == 4 and not second.poll(0)
        finally:
            close_socket(context, second)


def test_no_socket_is_told_with_where_it_would_be(folder: Path) -> None:
    for path in (folder / "x", folder / "none" / "x"):
        with pytest.raises(Refused) as caught:
            check(path, HERE)
        assert str(caught.value) == (
            f"no broker of this user is at {HERE}: orders go over its control socket {path}, which is not there; "
            "give them on the broker's machine, as its user"
        )


def test_what_is_not_this_users_socket_is_not_spoken_to(folder: Path) -> None:
    (folder / "x").write_text("")
    with pytest.raises(Refused, match="is no socket of this user"):
        check(folder / "x", HERE)
    folder.chmod(0o770)
    with pytest.raises(Refused, match="has mode 770"):
        check(folder / "x", HERE)


@needs_stranger
def test_neither_is_one_that_another_user_put_there(folder: Path, broker: ZSocket) -> None:
    os.chown(folder / "x", STRANGER, STRANGER)
    with pytest.raises(Refused, match="is no socket of this user"):
        check(folder / "x", HERE)
    os.chown(folder, STRANGER, STRANGER)
    with pytest.raises(Refused, match=f"belongs to user {STRANGER}"):
        check(folder / "x", HERE)
    assert broker.poll(0) == 0
