"""A chair knows its seat, even after a socket was opened anew."""

from __future__ import annotations

from typing import Any

from engine.core import NEVER, Seat, Socket
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
