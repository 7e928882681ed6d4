"""The estimate of a clock offset, under simulated delays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.clocks import SAME, Exchange, Offset, estimate

DELAY = st.floats(0.0, 5.0)
OFFSET = st.floats(-1e6, 1e6)
ROUNDING = 1e-8  # seconds: of sums of numbers up to 10⁶


def exchanges(offset: float, delays: list[tuple[float, float, float]]) -> list[Exchange]:
    """Questions one after the other, each with its way there, its way back, and a pause behind it."""
    now, made = 100.0, []
    for there, back, pause in delays:
        made.append(Exchange(now, now + there + offset, now + there + back))
        now += there + back + pause
    return made


@given(OFFSET, st.lists(st.tuples(DELAY, DELAY, DELAY), min_size=1, max_size=20))
def test_the_true_offset_lies_within_the_error_whatever_the_delays(
    offset: float, delays: list[tuple[float, float, float]]
) -> None:
    found = estimate(exchanges(offset, delays))
    assert abs(found.seconds - offset) <= found.error + ROUNDING
    assert found.error == pytest.approx(min(there + back for there, back, _ in delays) / 2, abs=ROUNDING)
    assert not found.same


@given(OFFSET, st.floats(-100.0, 100.0), DELAY, DELAY, st.floats(0.0, 1.0))
def test_of_a_clock_that_drifts_before_and_after_cover_all_between(
    offset: float, drift: float, there: float, back: float, part: float
) -> None:
    before = estimate(exchanges(offset, [(there, back, 0.0)]))
    after = estimate(exchanges(offset + drift, [(back, there, 0.0)]))
    both = before.covering(after)
    assert abs(both.seconds - (offset + part * drift)) <= both.error + ROUNDING


def test_equal_ways_give_the_offset_itself() -> None:
    found = estimate(exchanges(0.0123, [(0.2, 0.1, 0.0), (0.0004, 0.0004, 0.0), (0.3, 0.3, 0.0)]))
    assert [found.seconds, found.error] == pytest.approx([0.0123, 0.0004])


def test_one_clock_stays_one() -> None:
    assert SAME.covering(SAME) is SAME
    assert not SAME.covering(Offset(1.0, 0.1)).same
