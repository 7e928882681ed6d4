"""A soak's samples are told in a few rows, each the median of its part."""

from __future__ import annotations

from tests.bench.soak import PARTS, parts


def test_rows_are_medians_of_equal_parts() -> None:
    samples = [{"broker": size, "console": 10 * size} for size in range(1, 3 * PARTS + 1)]
    assert parts(samples) == [{"broker": 3 * at + 2, "console": 30 * at + 20} for at in range(PARTS)]


def test_of_few_samples_each_is_a_row() -> None:
    assert parts([{"broker": 1}, {"broker": 5}]) == [{"broker": 1}, {"broker": 5}]
