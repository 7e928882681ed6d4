"""Where a broker may listen. With real sockets: tests/loopback/test_lab.py."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from engine.core import Seat, Socket
from engine.errors import Refused
from engine.labs.binding import PORTS, beside, check_local, checked
from tests.helpers.toys import Probe


@pytest.mark.parametrize(
    "endpoint", ["tcp://127.0.0.1:6714", "tcp://localhost:1", "tcp://[::1]:6714", "ipc:///run/x", "inproc://x"]
)
def test_this_machine_is_fine(endpoint: str) -> None:
    check_local(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("tcp://0.0.0.0:6714", "roundhouse keys new NAME, then --curve NAME"),
        ("tcp://*:6714", "roundhouse keys new NAME, then --curve NAME"),
        ("tcp://192.0.2.1:6714", "roundhouse keys new NAME, then --curve NAME"),
        ("tcp://127.0.0.1", "is not an endpoint"),
        ("tcp://127.0.0.1:x", "is not an endpoint"),
        ("udp://127.0.0.1:1", "is not an endpoint"),
        ("ipc://", "is not an endpoint"),
        ("ipc://@name", "open to every user of this machine"),
        ("", "is not an endpoint"),
    ],
)
def test_anything_else_is_refused_with_the_reason(endpoint: str, why: str) -> None:
    with pytest.raises(Refused, match=re.escape(why)):
        check_local(endpoint)


def test_a_port_that_is_taken_is_passed_over_a_thousand_at_a_time() -> None:
    tried = beside("tcp://127.0.0.1:6714")
    assert tried[:3] == ["tcp://127.0.0.1:6714", "tcp://127.0.0.1:7714", "tcp://127.0.0.1:8714"]
    assert len(tried) == PORTS


@pytest.mark.parametrize("kind", ["router", "stream"])
def test_every_socket_of_a_broker_is_looked_at_and_plain_tcp_has_no_keys(kind: Literal["router", "stream"]) -> None:
    """Also those whose endpoints stand in the settings alone."""
    beyond, here = Socket(kind, bind=("tcp://0.0.0.0:1",)), Socket(kind, bind=("tcp://127.0.0.1:1", "inproc://x"))

    def seat(*sockets: Socket) -> Seat:
        return Seat(Probe(), sockets)

    assert checked(fine := seat(here, here), keys=False) is checked(fine, keys=True) is fine
    with pytest.raises(Refused, match="everybody who reaches this machine"):
        checked(seat(here, beyond), keys=False)
    if kind == "router":
        checked(seat(here, beyond), keys=True)
    else:
        with pytest.raises(Refused, match="plain TCP has no keys, so it stays on this machine"):
            checked(seat(here, beyond), keys=True)
