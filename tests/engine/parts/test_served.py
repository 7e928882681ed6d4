from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import SYSTEMS
from engine.parts.served import AGAIN, EACH, MOST, SLICE, SPAN, Served, Took
from tests.helpers.protocols import running_sandbox


class Counter:
    """Counts the tasks of one worker, as its broker does."""

    def __init__(self) -> None:
        self.served, self.done, self.noted = Served(), 0, 0

    def answer(self, seconds: float, now: float) -> None:
        self.done += 1
        if self.done >= self.served.due:
            self.served.note(seconds, now, self.done)
            self.noted += 1


def test_every_task_of_a_slow_worker_is_noted() -> None:
    one = Counter()
    for second in range(50):
        one.answer(0.1 if second else 0.9, float(second))
    assert one.noted == 50
    took = one.served.view(50.0)
    assert took is not None and abs(took.p50 - 0.1) < 1e-6 and abs(took.p99 - 0.9) < 1e-6


def test_a_busy_worker_is_sampled_evenly_and_takes_bounded_memory() -> None:
    one, pick = Counter(), random.Random(1)
    for i in range(100_000):
        one.answer(0.5 if pick.random() < 0.03 else 0.001, i / 2_000)
    assert one.noted < 100_000 / MOST * 1.5
    slices = one.served._slices
    assert len(slices) <= SPAN / SLICE + 1 and all(len(each.times) <= EACH for each in slices)
    took = one.served.view(50.0)
    assert took is not None and abs(took.p50 - 0.001) < 1e-6 and abs(took.p99 - 0.5) < 1e-6


def test_a_slice_weighs_as_much_as_it_had_tasks() -> None:
    """200 slow tasks, of which some were noted, and 10,000 fast ones, of which no more were."""
    one = Counter()
    for i in range(200):
        one.answer(1.0, i / 100)
    for i in range(10_000):
        one.answer(0.01, 20 + i / 1_000)
    took = one.served.view(31.0)
    assert took is not None and abs(took.p50 - 0.01) < 1e-6
    assert abs(took.p99 - 1.0) < 1e-6, "they are nearly two of a hundred"


def test_it_is_of_the_last_minute() -> None:
    one = Counter()
    one.answer(5.0, 0.0)
    one.answer(0.25, 30.0)
    assert one.served.view(31.0) == Took(0.25, 5.0)
    assert one.served.view(61.0) == Took(0.25, 0.25)
    assert one.served.view(91.0) is None


def test_a_worker_that_becomes_slow_shows_it_within_a_few_tasks() -> None:
    one = Counter()
    for i in range(50_000):
        one.answer(0.001, i / 5_000)
    for i in range(MOST):
        one.answer(3.0, 10.5 + 3 * i)
    took = one.served.view(60.0)
    assert took is not None and any(abs(seconds - 3.0) < 1e-6 for each in one.served._slices for seconds in each.times)


def test_a_picture_of_what_did_not_change_is_the_same_object() -> None:
    one = Counter()
    one.answer(0.25, 0.0)
    first = one.served.view(1.0)
    one.answer(0.25, 1.5)
    assert one.served.view(9.0) is first


def test_percentiles_hold_for_a_while_however_much_is_done_meanwhile() -> None:
    one = Counter()
    one.answer(0.25, 0.0)
    first = one.served.view(0.0)
    for i in range(100):
        one.answer(9.0, i / 100)
    assert one.served.view(AGAIN - 0.01) is first and one.served.until <= AGAIN
    assert one.served.view(AGAIN) == Took(9.0, 9.0)


@given(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=EACH - 1))
def test_while_all_are_noted_percentiles_are_exact(times: list[float]) -> None:
    one = Counter()
    for seconds in times:
        one.answer(seconds, 0.0)
    ranked = sorted(times)
    expected = Took(ranked[-(-len(times) // 2) - 1], ranked[-(-len(times) * 99 // 100) - 1])
    assert one.served.view(0.0) == expected


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_broker_tells_the_service_times_of_its_workers(name: str) -> None:
    sandbox = running_sandbox(name, workers=2, tasks=10)
    rows = sandbox.feed.pictures["broker"].workers
    told = [row.took for row in rows if row.done]
    assert told and all(took is not None and 0 < took.p50 <= took.p99 < 1 for took in told)
    sandbox.advance(SPAN + SLICE)
    assert all(row.took is None for row in sandbox.feed.pictures["broker"].workers)
