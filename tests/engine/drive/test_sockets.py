"""Sockets as they are opened: what waits in them, what ends a connection, what is dropped with it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator

import pytest
import zmq

from engine.core import Socket as Spec
from engine.drive.links import ZSocket
from engine.drive.sockets import WAITING, make_context, open_socket, receive, send
from engine.parts.limits import MAX_FRAME
from tests.helpers.processes import free_endpoint, until

HERE = "inproc://sockets"  # within a process: what was sent is there


Open = Callable[..., tuple[ZSocket, list[ZSocket]]]


@pytest.fixture
def pair() -> Iterator[Open]:
    """Opens a router and a dealer for each name."""
    context, sockets = make_context(), list[ZSocket]()

    def opened(*names: bytes) -> tuple[ZSocket, list[ZSocket]]:
        sockets.append(open_socket(context, Spec("router", bind=(HERE,))))
        for name in names:
            sockets.append(open_socket(context, Spec("dealer", connect=(HERE,), routing_id=name)))
        return sockets[0], sockets[1:]

    yield opened
    for made in sockets:
        made.close(0)
    context.term()


def test_a_frame_is_pyzmqs_plain_one_and_its_public_calls_take_that_too(pair: Open) -> None:
    router, (a,) = pair(b"a")
    a.send_multipart([b"one", b"two"])
    frames = router.recv_multipart(copy=False)
    assert {type(frame) for frame in frames} == {zmq.backend.Frame}
    assert [(frame.bytes, frame.more) for frame in frames] == [(b"a", True), (b"one", True), (b"two", False)]
    router.send_multipart(frames)
    assert a.recv_multipart() == [b"one", b"two"] and receive(router, 9, "router") == receive(a, 9, "dealer") == []


def test_a_routing_id_that_is_too_long_names_its_endpoint() -> None:
    context = make_context()
    with pytest.raises(zmq.ZMQError, match=r"^tcp://h:1: the routing id made of it is too long$"):
        open_socket(context, Spec("dealer", connect=("tcp://h:1",), routing_id=bytes(256)))
    context.term()


def test_what_waits_for_a_busy_core_stays_with_the_peer() -> None:
    """Else large messages that take longer to read than to send fill the broker's memory."""
    context, endpoint = make_context(), free_endpoint()
    router = open_socket(context, Spec("router", bind=(endpoint,)))
    peer = context.socket(zmq.DEALER)
    peer.set(zmq.SNDHWM, 1)
    peer.connect(endpoint)
    sent = 0
    while peer.poll(200, zmq.POLLOUT) and sent < 1000:
        peer.send(bytes(MAX_FRAME // 8))
        sent += 1
    assert WAITING <= sent < 2 * WAITING  # and a few that are on their way
    peer.close(0)
    router.close(0)
    context.term()


def test_a_peer_that_reads_nothing_is_cut_off_and_what_waited_for_it_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else one that asks for much and reads nothing has the broker keep all of it."""
    monkeypatch.setattr("engine.drive.sockets.STALLED", 200)
    context, endpoint = make_context(), free_endpoint()
    router = open_socket(context, Spec("router", bind=(endpoint,)))
    peer = context.socket(zmq.DEALER)
    peer.set(zmq.RCVHWM, 1)
    peer.set(zmq.ROUTING_ID, b"stalled")
    peer.connect(endpoint)
    peer.send(b"I read nothing")
    assert router.poll(60_000) and receive(router, 64, "router") == [[b"stalled", b"I read nothing"]]
    for _ in range(20):
        assert send(router, [b"stalled", bytes(MAX_FRAME)]) == 0
    until(lambda: send(router, [b"stalled", b"?"]) == errno.EHOSTUNREACH, "the end of a stalled connection")
    peer.close(0)
    router.close(0)
    context.term()


def test_a_message_without_an_end_keeps_nobody_waiting_and_is_dropped_with_its_peer() -> None:
    """libzmq gives nothing of a message before its last frame is there, and forgets it when its sender is gone."""
    context, endpoint = make_context(), free_endpoint()
    router = open_socket(context, Spec("router", bind=(endpoint,)))
    with socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2]))) as raw:
        raw.sendall(b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL".ljust(64, b"\0"))
        raw.sendall(b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER")
        answer = b""
        while b"READY" not in answer:
            answer += raw.recv(4096)
        raw.sendall(b"\0\x05whole" + b"\x01\x04more" * 10_000)
        assert router.poll(60_000)
        (whole,) = receive(router, 64, "router")
        assert whole[1:] == [b"whole"]
        peer = open_socket(context, Spec("dealer", connect=(endpoint,), routing_id=b"honest"))
        until(lambda: send(peer, [b"hello"]) == 0, "a connection")
        assert router.poll(60_000) and receive(router, 64, "router") == [[b"honest", b"hello"]]
    until(lambda: send(router, [whole[0], b"?"]) == errno.EHOSTUNREACH, "the end of the connection")
    assert receive(router, 64, "router") == []
    peer.close(0)
    router.close(0)
    context.term()
