"""Time that stands: steps, speeds, bounds, and a world that a mistake stops."""

from __future__ import annotations

from typing import Any

import pytest

from engine.feed import Feed
from engine.labs.queuesandbox import QueueSandbox
from engine.labs.virtualclock import QUIET, Happened, VirtualClock
from engine.sim.agenda import Agenda


class Toy(QueueSandbox):
    """A world in which something is said every second."""

    def __init__(self) -> None:
        VirtualClock.__init__(self)
        world: Any = Agenda()
        self.world = world
        self.feed, self.began, self.looks = Feed(), 1000.0, 0
        self.world.acting = "somebody"
        self.tick(1)

    def tick(self, number: int) -> None:
        if self._happened is not None:
            self._happened.append(Happened(self.now, "n", "somebody", number, []))
        self.world.after(1.0, self.tick, number + 1)

    def _look(self) -> None:
        self.looks += 1


def test_time_passes_at_a_speed() -> None:
    toy = Toy()
    toy.speed = 0.1
    toy.advance(5.0)
    assert (toy.now, toy.health(), toy.looks) == (0.5, type(toy.health())((), 0.0), 1)


def test_a_step_ends_at_what_is_wanted() -> None:
    toy = Toy()
    assert [one.event for one in toy._step(lambda one: one.event == 4)] == [2, 3, 4]
    assert toy.now == 3.0
    assert len(toy._step(lambda one: False)) == QUIET and toy.now == 3.0 + QUIET


def test_what_is_too_much_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.labs.virtualclock.MOST", 5)
    toy = Toy()
    toy.advance(20.0)
    assert (toy.now, toy.health().loop_lag) == (5.0, 15.0)


def test_a_mistake_stops_the_world() -> None:
    toy = Toy()
    toy.world.after(2.5, lambda: 1 / 0)
    toy.advance(10.0)
    assert toy.health().dead == ("somebody: ZeroDivisionError: division by zero",) and toy.now == 2.5
    toy.advance(10.0)
    facts, _ = toy.feed.since(0)
    assert toy.now == 2.5 and [(fact.at, fact.source) for fact in facts] == [(1002.5, "sandbox")]
