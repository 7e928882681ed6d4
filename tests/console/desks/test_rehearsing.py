"""A stage at the console, whatever stands on it: real time becomes its own, orders are carried out at once."""

from __future__ import annotations

import pytest

from console.desks.rehearsing import LATE, Pace, Rehearsing
from engine.parts.fault import Fault, Made
from engine.rehearsal.queuestage import QueueStage
from engine.rehearsal.watch import Plan
from engine.tracing.operations import Operations


class Desk(Rehearsing):
    """Of a pipeline."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = QueueStage()
        self.trace = Operations(self.stage.world.queues)
        self.stage.attach(self.trace)
        self.stage.open()


def test_real_time_is_made_up_for_within_bounds() -> None:
    pace = Pace()
    assert [pace.passed(at) for at in (5.0, 5.25, 5.5, 90.0)] == [0.0, 0.25, 0.25, LATE]
    assert pace.hertz == pytest.approx(3 / 85.0)


def test_time_passes_only_at_a_speed() -> None:
    desk = Desk()
    for now in (1.0, 1.5):
        desk.pass_time(now)
    assert desk.stage.now == 0.0
    desk.speed = 3
    desk.pass_time(2.0)
    assert desk.stage.now == pytest.approx(0.05)


def test_a_step_stops_the_world_and_is_told() -> None:
    desk = Desk()
    desk.speed = 4
    assert desk.step(False) and (desk.speed, desk.steps) == (0, 1)
    total = desk.trace.total
    assert desk.step(True) and min(entry.number for entry in desk.last()) == total + 1


def test_orders_are_carried_out_at_once_and_errors_are_of_who_asked() -> None:
    desk = Desk()
    assert desk.order(lambda stage: stage.feed_some(2)).result() is None and desk.stage.fed(0.0) == 3
    with pytest.raises(ZeroDivisionError):
        desk.order(lambda stage: 1 / 0).result()


def test_what_is_injected_is_watched() -> None:
    desk, done = Desk(), list[int]()
    desk.inject(Plan("x", "x", (), lambda: done.append(1)))
    assert done == [1] and desk.watches[0].held
    for asked in (desk.faults, lambda: desk.targets(Fault("", "", (), (), lambda aim: Made("", [], int)))):
        with pytest.raises(NotImplementedError):
            asked()
    with pytest.raises(NotImplementedError):
        desk.plan("x")
