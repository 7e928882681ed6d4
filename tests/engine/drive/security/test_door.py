"""Raw connections at a socket that binds: which greetings are served, which are refused, and what is said of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.core import Socket as Spec
from engine.drive.hosted import Port
from engine.drive.links import ZSocket
from engine.drive.security import watched as module
from engine.drive.security.descriptors import Descriptors
from engine.drive.security.door import ENDPOINT, Door
from engine.drive.sockets import Context, make_context, open_socket, receive
from engine.labs.live import LiveLab
from tests.helpers.processes import WAIT, free_endpoint, until

V1 = b"\x01\x00" + b"\x06\x00hello" * 3  # ZMTP 1.0: a nameless peer, and three messages
POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n".ljust(81, b"x") + b"\x06\x00hello" * 3
V2 = b"\xff\0\0\0\0\0\0\0\x01\x7f\x01\x05" + b"\0\0" + b"\0\x05hello"
V3 = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL".ljust(64, b"\0")
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
HELLO = b"\0\x05hello"


class Told:
    """What the door says, as its thread says it."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.came = threading.Event()

    def __call__(self, note: Note) -> None:
        self.notes.append(note)
        self.came.set()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def context(told: Told) -> Iterator[Context]:
    context = make_context(told)
    yield context
    context.term()


@pytest.fixture
def router(context: Context) -> Iterator[tuple[ZSocket, str]]:
    endpoint = free_endpoint()
    with open_socket(context, Spec("router", bind=(endpoint, "inproc://door-test"))) as made:
        yield made, endpoint


def connected(endpoint: str, greeting: bytes) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2])), WAIT)
    made.sendall(greeting)
    return made


def joined(endpoint: str) -> socket.socket:
    """A raw peer that greets in ZMTP 3 and says hello."""
    made = connected(endpoint, V3 + READY)
    answer = b""
    while b"READY" not in answer:
        answer += made.recv(4096)
    made.sendall(HELLO)
    return made


def closed(peer: socket.socket) -> None:
    """Read until the other end has closed."""
    try:
        while peer.recv(4096):
            pass
    except ConnectionResetError:
        pass
    peer.close()


def heard(router: ZSocket) -> list[bytes]:
    return [frames[-1] for frames in receive(router, 100, "router")]


def hears(router: ZSocket, *wanted: bytes) -> None:
    """Wait until it has heard this, and nothing else."""
    got: list[bytes] = []

    def more() -> int:
        got.extend(heard(router))
        return len(got)

    until(more)
    assert got == list(wanted)


@pytest.mark.parametrize("greeting", [V1, POST, V2], ids=["ZMTP 1", "a web page", "ZMTP 2"])
def test_who_greets_in_an_old_version_is_cut_off_and_nothing_of_it_arrives(
    router: tuple[ZSocket, str], context: Context, told: Told, greeting: bytes
) -> None:
    closed(connected(router[1], greeting))
    assert told.came.wait(WAIT)
    assert context.door.refused == 1 and heard(router[0]) == []
    assert told.notes == [
        Note("warn", f"a connection was refused at {router[1]}: only ZMTP 3 is served, which a web page can not speak")
    ]


def test_zmtp_3_is_served_and_nothing_is_said_of_it(router: tuple[ZSocket, str], context: Context, told: Told) -> None:
    peer = joined(router[1])
    hears(router[0], b"hello")
    assert context.door.refused == 0 and told.notes == []
    peer.close()


def test_within_the_process_nobody_is_asked(router: tuple[ZSocket, str], context: Context) -> None:
    with open_socket(context, Spec("dealer", connect=("inproc://door-test",))) as peer:
        peer.send(b"hello")
        hears(router[0], b"hello")


def test_a_hundred_that_are_refused_are_said_once_and_all_counted(
    router: tuple[ZSocket, str], context: Context, told: Told
) -> None:
    for _ in range(100):
        closed(connected(router[1], V1))
    until(lambda: context.door.refused == 100)
    assert len(told.notes) == 1


def test_what_is_refused_later_is_said_when_it_is_time(
    router: tuple[ZSocket, str], told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed(connected(router[1], V1))
    assert told.came.wait(WAIT)
    monkeypatch.setattr(module, "AGAIN", 0.0)
    told.came.clear()
    for _ in range(2):
        closed(connected(router[1], V1))
    assert told.came.wait(WAIT)


def test_an_error_of_our_own_refuses_the_newcomer_and_ends_nothing(
    context: Context, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = free_endpoint()
    router = open_socket(context, Spec("router", bind=(endpoint,)))
    right: Callable[..., Any] = Door._judge

    def wrong(self: Door, asked: list[bytes], now: float) -> tuple[bytes, bytes]:
        raise RuntimeError("broken")

    monkeypatch.setattr(Door, "_judge", wrong)
    first = connected(endpoint, V3 + READY)
    assert told.came.wait(WAIT)
    assert "RuntimeError('broken')" in told.notes[0].text and told.notes[0].level == "bad"
    assert heard(router) == []
    monkeypatch.setattr(Door, "_judge", right)
    second = joined(endpoint)
    hears(router, b"hello")
    for each in (first, second, router):
        each.close()


def test_newcomers_are_put_off_while_descriptors_are_short_and_let_in_afterwards(told: Told) -> None:
    left = [0]
    context = Context()
    context.door = Door(context, told, descriptors=Descriptors(lambda: (1000 - left[0], 1000)))
    endpoint = free_endpoint()
    router = open_socket(context, Spec("router", bind=(endpoint,)))
    peer = open_socket(context, Spec("dealer", connect=(endpoint,)))
    assert told.came.wait(WAIT)
    assert told.notes == [
        Note(
            "bad",
            "1,000 of 1,000 descriptors are open: newcomers are asked to try again later; "
            "raise the limit with ulimit -n",
        )
    ]
    left[0] = 900
    until(lambda: bool(peer.poll(0, zmq.POLLOUT)), "the second try")
    peer.send(b"hello")
    hears(router, b"hello")
    assert context.door.put_off >= 1
    router.close()
    peer.close()
    context.term()


def test_a_connection_that_says_nothing_is_ended_at_once_while_descriptors_are_short(told: Told) -> None:
    context = Context()
    context.door = Door(context, told, descriptors=Descriptors(lambda: (1000, 1000)))
    endpoint = free_endpoint()
    with open_socket(context, Spec("router", bind=(endpoint,))):
        closed(connected(endpoint, b""))
        assert context.door.put_off == 1
    context.term()


@pytest.mark.parametrize(
    "asked",
    [[b"1.0", b"7"], [b"2.0", b"7", b"roundhouse-1", b"", b"", b"NULL"], [b"1.0", b"7", b"other", b"", b"", b"NULL"]],
    ids=["short", "another version", "another domain"],
)
def test_a_question_that_is_none_is_answered_with_no(context: Context, asked: list[bytes]) -> None:
    with context.socket(zmq.REQ) as asker:
        asker.connect(ENDPOINT)
        asker.send_multipart(asked)
        assert asker.recv_multipart() == [b"1.0", b"7", b"500", b"not understood", b"", b""]


def test_an_error_that_ends_the_thread_is_told_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: Door, *_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Door, "_hear", wrong)
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint := free_endpoint(),), workers=0, client=False) as lab:
        peer = connected(endpoint, b"")
        until(lambda: lab.health().dead == ("door: RuntimeError: broken",))
        assert "nobody can join any more" in lab.feed.since(0)[0][-1].text
        peer.close()


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_every_socket_of_every_system_that_binds_refuses_old_versions(name: str) -> None:
    endpoint = free_endpoint()
    with LiveLab(SYSTEMS[name], bind=(endpoint,), workers=0, client=False) as lab:
        seat = lab._nodes["broker"]._hosted["broker"]
        bound = [
            (port.socket, at)
            for port in seat.ports.values()
            if isinstance(port, Port) and port.spec.kind != "stream"
            for at in port.spec.bind
            if at.startswith("tcp://")
        ]
        assert bound and all(socket.get(zmq.ZAP_DOMAIN) for socket, _ in bound)
        for _, at in bound:
            for greeting in (V1, POST, V2):
                closed(connected(at, greeting))
        until(lambda: lab._context.door.refused == 3 * len(bound))
        assert lab.health().dead == ()


def test_a_context_ends_when_all_its_sockets_are_gone(
    router: tuple[ZSocket, str], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libzmq aborts the process where a connection asks about itself when nobody answers any more."""
    made, endpoint = router
    peers = [joined(endpoint) for _ in range(5)]
    assert not context.door.settle(0.0)
    made.close(0)
    assert context.door.settle(WAIT)
    for peer in peers:
        peer.close()
    asked: list[float] = []
    monkeypatch.setattr(context.door, "settle", asked.append)
    context.term()
    assert len(asked) == 1 and not context.door.thread.is_alive()
