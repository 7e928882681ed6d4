"""Full collections: when little is going on, or seldom; circles of objects do not stay."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from engine.drive import collector
from engine.drive.collector import IDLE, LOOK, OVERDUE, SHARE, WORK, Collector, collecting
from tests.helpers.processes import until


def looks(one: Collector, busy: float, start: float, end: float, spent: float) -> list[float]:
    """The times at which a collection was due, for a process that uses such a share of a core."""
    due, now = [], start
    while now < end:
        now += LOOK
        spent += busy * LOOK
        if one.look(now, spent):
            due.append(now)
            one.done(now, spent, 0.01)
    return due


def test_who_does_nothing_is_not_collected() -> None:
    assert looks(Collector(0.0, 0.0), 0.0, 0.0, 10 * OVERDUE, 0.0) == []


def test_who_has_worked_is_collected_once_it_is_idle() -> None:
    one = Collector(0.0, 0.0)
    assert looks(one, 0.9, 0.0, 10.0, 0.0) == []
    assert looks(one, IDLE / 100, 10.0, 60.0, 9.0) == [11.0]


def test_a_little_work_is_not_worth_it() -> None:
    one = Collector(0.0, 0.0)
    assert looks(one, 0.1 + WORK / 20, 0.0, 5.0, 0.0) == []
    assert looks(one, 0.0, 5.0, 20.0, 5 * (0.1 + WORK / 20)) == []


def test_who_is_always_busy_is_collected_seldom() -> None:
    one = Collector(0.0, 0.0)
    due = looks(one, 1.0, 0.0, 4 * OVERDUE, 0.0)
    assert due == [OVERDUE + 1, 2 * OVERDUE + 2, 3 * OVERDUE + 3]
    one.done(1000.0, 1000.0, took := 2 * OVERDUE / SHARE)
    assert not one.look(1000.0 + 1.5 * OVERDUE, 1000.0 + 1.5 * OVERDUE)
    assert one.look(1001.0 + SHARE * took, 2000.0)


@pytest.fixture
def all_collected() -> Iterator[None]:
    """What conftest.py froze is collected too in such a test, as in a process that froze nothing yet."""
    gc.unfreeze()
    yield
    gc.freeze()


class Circle:
    """Refers to itself: only a collection frees it."""

    def __init__(self) -> None:
        self.own = self


def old() -> weakref.ref[Circle]:
    """A circle in the oldest generation, which nobody refers to any more."""
    circle = Circle()
    gc.collect(1)
    gc.collect(1)
    return weakref.ref(circle)


@pytest.mark.usefixtures("all_collected")
def test_a_circle_goes_when_the_process_is_idle_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "LOOK", 0.01)
    monkeypatch.setattr(collector, "IDLE", -1.0)  # never
    thresholds = gc.get_threshold()
    with collecting():
        gone = old()
        for _ in range(3):
            assert [[] for _ in range(200_000)]  # many collections of the young generations
        assert gone() is not None
        monkeypatch.setattr(collector, "WORK", -1.0)
        monkeypatch.setattr(collector, "IDLE", 100.0)
        until(lambda: gone() is None, "a full collection")
        assert gc.get_threshold()[:2] == thresholds[:2] and gc.get_threshold() != thresholds
    assert gc.get_threshold() == thresholds and gc.get_freeze_count() == 0
    assert "roundhouse-collector" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.usefixtures("all_collected")
def test_what_was_there_before_is_collected_again_afterwards() -> None:
    gone = old()
    with collecting():
        gc.collect()
        assert gone() is not None  # frozen
    gc.collect()
    assert gone() is None


def test_who_froze_objects_before_keeps_them_frozen() -> None:
    gone = old()
    gc.freeze()
    with collecting():
        pass
    gc.collect()
    assert gone() is not None
    gc.unfreeze()
    gc.collect()
    assert gone() is None
    gc.freeze()
