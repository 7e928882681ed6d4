"""A hosted knows its seat, even after a socket was opened anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zmq

from engine.core import NEVER, Command, Received, Seat, Send, Socket, Unsent
from engine.drive.hosted import HostedCore, Port
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from engine.drive.sockets import make_context
from tests.helpers.processes import free_endpoint
from tests.helpers.toys import Probe


def test_a_port_has_the_descriptor_that_signals() -> None:
    context = make_context()
    spec = Socket("router", bind=("inproc://hosted",), routing_id=b"hosted")
    core: Any = object()
    hosted = HostedCore("broker", Seat(core, (spec,)), lambda key, ok, result: None)
    port = Port(hosted, spec, context, lambda port: None)
    assert port.fd >= 0 and port.fds == [port.fd]
    assert not port.outbox
    hosted.ports[spec.name] = port
    assert hosted.scheduled == NEVER
    assert hosted.seat() == Seat(core, (spec,))
    port.close()
    context.term()


def test_what_is_sent_behind_the_end_of_a_connection_waits_for_the_next_one() -> None:
    """libzmq tells of the end before it drops what is sent by that connection: one answer in twenty was lost."""
    context, core = make_context(), object()
    with context.socket(zmq.ROUTER) as router:
        router.bind("inproc://broker")
        spec = Socket("dealer", connect=("inproc://broker",), routing_id=b"peer")
        hosted = HostedCore("worker", Seat(core, (spec,)), lambda key, ok, result: None)  # type: ignore[arg-type]
        port = Port(hosted, spec, context, lambda port: None)
        port.calls.hear(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        port.calls.hear(zmq.EVENT_DISCONNECTED)
        assert port.send([Send([b"first"])], 0) == (1, ())
        port.flush()
        assert list(port.outbox) == [[b"first"]] and not router.poll(0)
        port.calls.hear(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        assert port.send([Send([b"second"])], 0) == (1, ())
        port.flush()
        assert [router.recv_multipart() for _ in range(2)] == [[b"peer", b"first"], [b"peer", b"second"]]
        port.close()
    context.term()


def test_a_batch_that_ended_because_nothing_more_was_there_is_the_last_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.drive.hosted.SMALL", 4)
    context = make_context()
    with context.socket(zmq.ROUTER) as router:
        router.bind("inproc://broker")
        spec = Socket("dealer", connect=("inproc://broker",), routing_id=b"peer")
        hosted = HostedCore("worker", Seat(Probe(), (spec,)), lambda key, ok, result: None)
        port = Port(hosted, spec, context, lambda port: None)

        def taken(*messages: bytes) -> tuple[int, bool]:
            for message in messages:
                router.send_multipart([b"peer", message])
            events = [event for _, event in port.receive()]
            return sum(len(event.messages) for event in events if isinstance(event, Received)), port.more

        assert taken(b"a") == (1, True), "as many as were asked for"
        port.receive()
        port.batch = 8
        assert taken(b"a") == (1, False) and port.receive() == []
        assert taken(b"long") == (1, True), "one that is large may have ended it"
        assert taken(b"a", b"b") == (2, True)
        port.outbox.append([b"x"])
        assert taken(b"a") == (1, True), "what waits goes when nothing is there"
        port.close()
    context.term()


def test_who_was_cut_off_is_sent_nothing_more(tmp_path: Path) -> None:
    keys.make(tmp_path, "depot", "broker")
    context = make_context(curve=Curve(tmp_path, "depot"))
    spec = Socket("router", bind=("inproc://broker", free_endpoint()), roles=("worker",))
    hosted = HostedCore("broker", Seat(Probe(), (spec,)), lambda key, ok, result: None)
    port = Port(hosted, spec, context, lambda port: None)
    with context.socket(zmq.DEALER) as one, context.socket(zmq.DEALER) as other:
        for peer, name in ((one, b"one"), (other, b"other")):
            peer.routing_id = name
            peer.connect("inproc://broker")
        assert port.guard is not None
        port.guard.cut[b"one"] = 7
        orders: list[Command] = [Send([b"one", b"x"]), Send([b"other", b"y"]), Send([b"nobody", b"z"])]
        assert port.send(orders, 0) == (1, (Unsent([b"one", b"x"], "unreachable"),))
        assert port.send(orders, 1) == (2, ()) and other.recv() == b"y"
        assert port.send(orders, 2) == (3, (Unsent([b"nobody", b"z"], "unreachable"),))
        assert port.guard.unsent == 1 and not one.poll(0)
        port.guard.hear(zmq.EVENT_DISCONNECTED, 7)
        assert port.send(orders[:1], 0) == (1, ()) and one.recv() == b"x"
    port.close()
    context.term()
