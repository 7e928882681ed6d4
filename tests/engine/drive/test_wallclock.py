"""A core that uses wall time is told of a clock that was set before anything else."""

from __future__ import annotations

import pytest

from engine.core import Ordered, Started, Woken
from engine.drive import wallclock
from engine.drive.wallclock import WallClock, wall_offset
from engine.parts.orders import ClockSet


def test_a_clock_that_was_set_is_told_once_and_before_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    offset = 1000.0
    monkeypatch.setattr(wallclock, "wall_offset", lambda: offset)
    monkeypatch.setattr(wallclock, "APART", 60.0)
    clock = WallClock(offset)
    assert clock.before(Woken()) == [Woken()]
    offset = 4600.0
    assert clock.before(Started()) == [Started()], "the first event of every core"
    assert clock.before(Woken()) == [Ordered(ClockSet(4600.0)), Woken()]
    assert clock.before(Woken()) == [Woken()]
    offset += 0.01
    assert clock.before(Woken()) == [Woken()], "a clock that is slewed"


def test_two_readings_that_are_far_apart_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wallclock, "wall_offset", lambda: 4600.0)
    monkeypatch.setattr(wallclock, "APART", -1.0)
    assert WallClock(1000.0).before(Woken()) == [Woken()]


def test_the_offset_leads_from_monotonic_to_wall_time() -> None:
    assert wall_offset() > 1e9
