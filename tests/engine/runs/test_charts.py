"""Histograms and rates as block characters."""

from __future__ import annotations

import pytest

from engine.runs.charts import bars, extent, histogram, rates, tall
from engine.runs.record import Second


def point(second: float, succeeded: int) -> Second:
    return Second(second=second, succeeded=succeeded, failed=0, p99=None)


def test_two_histograms_share_an_axis() -> None:
    fast, slow = [(10.0, 4), (100.0, 8)], [(1000.0, 1)]
    ends = extent(fast, slow)
    assert ends == (10.0, 1000.0)
    assert histogram(fast, ends, 9) == "▄   █    "
    assert histogram(slow, ends, 9) == "        █"


def test_one_duration_stands_in_the_middle() -> None:
    assert histogram([(5.0, 3)], (5.0, 5.0), 5) == "  █  "
    assert extent([], []) is None


def test_what_is_not_nothing_is_seen() -> None:
    assert bars([0, 1, 1000]) == " ▁█"
    assert bars([]) == "" and bars([0, 0]) == "  "


@pytest.mark.parametrize(
    ("points", "elapsed", "cells", "drawn"),
    [
        ([], 1.0, 8, ""),
        ([point(0, 5), point(1, 0), point(2, 10)], 3.0, 8, "▄×█"),
        ([point(0, 8), point(1, 8), point(2, 8), point(3, 8)], 4.0, 2, "██"),
        ([point(0, 10), point(1, 1)], 1.5, 8, "█▄"),  # a quarter of the first second is in the second cell
    ],
)
def test_a_rate_over_time(points: list[Second], elapsed: float, cells: int, drawn: str) -> None:
    assert rates(points, elapsed, cells) == drawn


def test_a_tall_histogram_is_the_same_in_more_steps() -> None:
    buckets = ((1.0, 64), (10.0, 32), (100.0, 1))
    rows = tall(buckets, (1.0, 100.0), 3, 2)
    assert rows == ["█  ", "██▁"]
    assert tall(buckets, (1.0, 100.0), 3, 1) == [histogram(buckets, (1.0, 100.0), 3)]
