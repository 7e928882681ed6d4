from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.4, "0.4"), (9, "9"), (12, "12"), (999, "999"), (999.7, "1.00k"), (1284, "1.28k"), (9_996, "10.0k"),
        (12_840, "12.8k"), (128_400, "128k"), (999_600, "1.00M"), (1_284_000, "1.28M"),
    ],
)  # fmt: skip
def test_short(value: float, text: str) -> None:
    assert units.short(value) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [(0, "0µs"), (653, "653µs"), (999.6, "1.0ms"), (1800, "1.8ms"), (11_000, "11ms"), (2.4e6, "2.4s"), (75e6, "75s")],
)
def test_duration(us: float, text: str) -> None:
    assert units.duration(us) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0s"), (0.84, "0.8s"), (9.97, "10s"), (12, "12s"), (99.6, "2m"), (240, "4m"), (3 * 3600, "3h"),
        (9 * 86400, "9d"),
    ],
)  # fmt: skip
def test_age(seconds: float, text: str) -> None:
    assert units.age(seconds) == text


def test_clock() -> None:
    assert [units.clock(s) for s in (0, 45, 864, 3723)] == ["0:00", "0:45", "14:24", "1:02:03"]


def test_took() -> None:
    assert [units.took(s) for s in (0.641, 9.99, 12, 75)] == ["0.64s", "9.99s", "0:12", "1:15"]


def test_size() -> None:
    assert [units.size(n) for n in (0, 1000, 1024, 65536, 1_572_864)] == ["0 B", "1000 B", "1 KiB", "64 KiB", "1.5 MiB"]


def test_count() -> None:
    assert units.count(1_234_567) == "1,234,567"


def test_the_zone_is_named() -> None:
    assert units.zone(1_750_000_000.0)
    assert len(units.time_of_day(1_750_000_000.0)) == 8


@given(st.floats(0, 1e15))
def test_figures_stay_narrow(value: float) -> None:
    assert len(units.short(value)) <= 5
    assert len(units.duration(min(value, 999e6))) <= 5
    assert len(units.age(min(value, 86400 * 999))) <= 4


@given(st.floats(0, 1e12))
def test_an_axis_ends_above_but_not_far_above(value: float) -> None:
    top = units.round_up(value)
    assert value <= top * 1.000001
    assert top <= max(10, value * 2)


def test_no_reply_no_latency() -> None:
    assert (units.latency(0.0), units.latency(653.0)) == ("·", "653µs")
