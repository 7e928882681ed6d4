"""The histogram against the sorted samples themselves."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.histogram import SUB_BITS, Histogram, Summary

SUB = 1 << SUB_BITS  # buckets a power of two

durations = st.one_of(st.floats(0.0, 1e-6), st.floats(0.0, 1.0), st.floats(0.0, 1e6))
samples = st.lists(durations, min_size=1, max_size=200)
percents = st.one_of(st.sampled_from([0.0, 50.0, 90.0, 99.0, 99.9, 100.0]), st.floats(0.0, 100.0))

NS = 1e-3  # µs: what is cut off when a duration becomes whole nanoseconds


def histogram(seconds: list[float]) -> Histogram:
    made = Histogram()
    for value in seconds:
        made.record(value)
    return made


def test_a_summary_has_the_same_percentiles() -> None:
    made = histogram([0.001 * i for i in range(1, 1500)])
    of = made.summary()
    shown = [made.percentile(percent) for percent in (50, 90, 95, 99, 99.9)]
    assert [of.p50, of.p90, of.p95, of.p99, of.p999] == shown == sorted(shown)


@given(samples, percents)
def test_a_percentile_is_the_sorted_sample_to_within_a_bucket(seconds: list[float], percent: float) -> None:
    rank = max(1, math.ceil(len(seconds) * percent / 100 - 1e-9))
    exact = sorted(seconds)[rank - 1] * 1e6
    shown = histogram(seconds).percentile(percent)
    assert exact - exact / SUB - 2 * NS <= shown <= exact + exact / SUB + 2 * NS
    assert min(seconds) * 1e6 <= shown <= max(seconds) * 1e6


@given(samples)
def test_a_summary_ascends_and_its_ends_and_mean_are_exact(seconds: list[float]) -> None:
    summary = histogram(seconds).summary()
    assert summary.min == min(seconds) * 1e6
    assert summary.max == max(seconds) * 1e6
    assert summary.mean == pytest.approx(sum(seconds) / len(seconds) * 1e6)
    ascending = (summary.min, summary.p50, summary.p90, summary.p95, summary.p99, summary.p999, summary.max)
    assert list(ascending) == sorted(ascending)


@given(samples)
def test_buckets_ascend_without_overlap_and_hold_every_sample(seconds: list[float]) -> None:
    buckets = list(histogram(seconds).buckets())
    assert sum(n for _, _, n in buckets) == len(seconds)
    for (_, high, _), (low, _, _) in pairwise(buckets):
        assert high <= low
    for low, high, n in buckets:
        assert high - low <= max(NS, low / SUB) * (1 + 1e-9)
        inside = [s for s in seconds if low <= int(s * 1e9) / 1e3 < high]
        assert len(inside) == n


@given(st.lists(durations, max_size=50), st.lists(durations, max_size=50))
def test_merged_histograms_are_the_histogram_of_all(one: list[float], two: list[float]) -> None:
    merged, other = histogram(one), histogram(two)
    before = other.summary()
    merged.merge(other)
    both = histogram(one + two)
    assert list(merged.buckets()) == list(both.buckets())
    assert merged.count == both.count
    assert merged.summary() == pytest.approx(both.summary())
    assert other.summary() == before


def test_a_copy_is_independent() -> None:
    first = histogram([1.0])
    twin = first.copy()
    twin.record(2.0)
    assert (first.count, twin.count) == (1, 2)
    assert first.summary().max == 1e6


def test_of_nothing_everything_is_zero() -> None:
    empty = Histogram()
    assert empty.summary() == Summary(*(0.0,) * 8)
    assert empty.percentile(99) == 0.0 and list(empty.buckets()) == []


def test_a_negative_duration_counts_as_zero() -> None:
    made = histogram([-1.0, 3.0])
    assert made.summary().min == 0.0 and made.count == 2


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1), (1, 1), (50, 50), (50.1, 51), (99, 99), (99.1, 100), (100, 100)]
)
def test_the_rank_of_a_percentile_is_rounded_up(percent: float, expected: int) -> None:
    made = histogram([i / 1e8 for i in range(1, 101)])  # 10 ns apart, where a bucket is 1 to 4 ns
    assert made.percentile(percent) == pytest.approx(expected / 100, abs=4 * NS)
