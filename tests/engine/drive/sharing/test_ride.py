"""The port of a core that shares its connection: what waits, what goes, and what its core hears."""

from __future__ import annotations

from collections import deque

import pytest

from engine.core import Connected, Frames, Note, Received, Seat, Send, Socket, Unsent
from engine.drive.hosted import HostedCore
from engine.drive.sharing import ride as module
from engine.drive.sharing.ride import Ride
from tests.helpers.toys import Probe

SPEC = Socket("dealer", connect=("tcp://there:1",), routing_id=b"w", shares=True)


@pytest.fixture
def ride() -> Ride:
    hosted = HostedCore("worker", Seat(Probe(), (SPEC,)), lambda key, ok, result: None)
    return Ride(hosted, SPEC, deque())


def test_what_is_sent_before_there_is_a_connection_waits_for_it(ride: Ride) -> None:
    way: list[Frames] = []
    assert (ride.fd, list(ride.fds), ride.line, ride.rides) == (-1, [], ride, False)
    assert ride.send([Send([b"1"]), Send([b"2"]), Note("info", "x"), Send([b"3"])], 0) == (2, ())
    assert list(ride.outbox) == [[b"1"], [b"2"]] and not ride.flushes()
    ride.board(way, ride, 5.0)
    assert way == [[b"w", b"1"], [b"w", b"2"]] and (ride.rides, ride.heard, ride.stands) == (True, 5.0, True)
    assert ride.send([Send([b"3"]), Send([b"4"], "other")], 0) == (1, ()) and way[2:] == [[b"w", b"3"]]
    ride.alight()
    assert not ride.rides and not ride.stands
    assert ride.send([Send([b"4"])], 0) == (1, ()) and len(way) == 3


def test_while_it_is_held_nothing_passes(ride: Ride) -> None:
    way: list[Frames] = []
    ride.board(way, ride, 0.0)
    ride.held = True
    ride.told.append(Connected())
    ride.arrived += [[b"a"], [b"b"]]
    assert ride.receive() == [] and ride.send([Send([b"1"])], 0) == (1, ()) and not ride.flushes() and way == []
    ride.held = False
    assert ride.receive() == [(ride.hosted, Connected()), (ride.hosted, Received([[b"a"], [b"b"]]))]
    assert ride.receive() == []
    assert ride.send([Send([b"2"])], 0) == (1, ()) and way == [], "behind what waits"
    assert ride.flushes() and way == [[b"w", b"1"], [b"w", b"2"]]


def test_what_waits_is_bounded_and_dropped_with_it(ride: Ride, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTBOX", 1)
    assert ride.send([Send([b"1"]), Send([b"2"])], 0) == (2, (Unsent([b"2"], "full"),))
    ride.told.append(Connected())
    ride.close()
    assert not ride.outbox and ride.receive() == []
