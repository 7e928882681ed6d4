"""F24: two clients under one routing id that open and close again and again, in both orders."""

from __future__ import annotations

from itertools import product

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.protocols.roundrobin import messages as wire
from tests.helpers.processes import WAIT, free_endpoint, until

CYCLES = 10
NAME = b"one name of two"


def opened(context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> zmq.Socket[bytes]:
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.ROUTING_ID, NAME)
    socket.connect(endpoint)
    return socket


def asks(socket: zmq.Socket[bytes], number: int) -> None:
    socket.send_multipart(wire.ping(number.to_bytes(8, "little"), True))


@pytest.mark.parametrize("newest_first", [False, True])
def test_f24_two_clients_under_one_address_come_and_go_and_the_broker_serves(newest_first: bool) -> None:
    endpoint = free_endpoint()
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=2) as lab, zmq.Context() as context:
        assert lab.wait_registered(2, WAIT)
        for cycle in range(CYCLES):
            first, second = opened(context, endpoint), opened(context, endpoint)
            for number, socket in product(range(3), (first, second)):
                asks(socket, 10 * cycle + number)
            until(lambda a=first, b=second: a.poll(5) or b.poll(5), "an answer to either")  # type: ignore[misc]
            for socket in (second, first) if newest_first else (first, second):
                socket.close()
        lab.run(BulkSpec("ping", 100, 10, timeout=WAIT))
        assert lab.wait_run(WAIT) and lab.report()["succeeded"] == 100
        until(lambda: at_rest(lab), "the end of what the clients asked for")
        view = lab.feed.picture("broker")
        assert [row.state for row in view.workers] == ["ready", "ready"] and view.ledger.balanced


def at_rest(lab: LiveLab) -> bool:
    view = lab.feed.picture("broker")
    return view is not None and not view.in_flight and not view.backlog
