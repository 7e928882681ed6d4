"""A chair knows its seat, even after a socket was opened anew."""

from __future__ import annotations

from typing import Any

import zmq

from engine.core import NEVER, Seat, Send, Socket
from engine.drive.hosted import HostedCore, Port
from engine.drive.sockets import make_context


def test_a_port_has_the_descriptor_that_signals() -> None:
    context = make_context()
    spec = Socket("router", bind=("inproc://chair",), routing_id=b"chair")
    core: Any = object()
    chair = HostedCore("broker", Seat(core, (spec,)), lambda key, ok, result: None)
    port = Port(chair, spec, context, lambda port: None)
    assert port.fd >= 0 and port.fds == [port.fd]
    assert not port.outbox
    chair.ports[spec.name] = port
    assert chair.scheduled == NEVER
    assert chair.seat() == Seat(core, (spec,))
    port.close()
    context.term()


def test_what_is_sent_behind_the_end_of_a_connection_waits_for_the_next_one() -> None:
    """libzmq tells of the end before it drops what is sent by that connection: one answer in twenty was lost."""
    context, core = make_context(), object()
    with context.socket(zmq.ROUTER) as router:
        router.bind("inproc://broker")
        spec = Socket("dealer", connect=("inproc://broker",), routing_id=b"peer")
        chair = HostedCore("worker", Seat(core, (spec,)), lambda key, ok, result: None)  # type: ignore[arg-type]
        port = Port(chair, spec, context, lambda port: None)
        port.calls.hear(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        port.calls.hear(zmq.EVENT_DISCONNECTED)
        assert port.send([Send([b"first"])], 0) == (1, None)
        port.flush()
        assert list(port.outbox) == [[b"first"]] and not router.poll(0)
        port.calls.hear(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        assert port.send([Send([b"second"])], 0) == (1, None)
        port.flush()
        assert [router.recv_multipart() for _ in range(2)] == [[b"peer", b"first"], [b"peer", b"second"]]
        port.close()
    context.term()
