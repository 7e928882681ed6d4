from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.widgets.latency import Axis, columns_of
from engine.parts.histogram import Histogram
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


@given(st.lists(st.floats(0, 100), min_size=1, max_size=100), st.integers(12, 120))
def test_every_duration_has_a_column(seconds: list[float], columns: int) -> None:
    histogram = Histogram()
    for value in seconds:
        histogram.record(value)
    buckets = tuple(histogram.buckets())
    assert sum(columns_of(buckets, Axis(buckets, columns))) == pytest.approx(len(seconds))


def test_the_axis_is_logarithmic() -> None:
    axis = Axis(((100.0, 101.0, 1), (9_900.0, 10_000.0, 1)), 100)
    middle = axis.place(1000)
    assert axis.place(100) < middle < axis.place(10_000)
    assert abs((axis.place(10_000) - middle) - (middle - axis.place(100))) <= 1
    assert axis.decades() == [100.0, 1000.0, 10_000.0]


def test_a_single_value_has_an_axis_too() -> None:
    axis = Axis(((653.0, 655.0, 10),), 30)
    assert 5 < axis.place(653) < 25


def test_figures_and_rulers(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.tick()
        for word in ("p50", "p95", "p99", "samples", "┊", "┴", "1ms"):
            assert driver.shows(word), word

    drive(scenario, tmp_path)


def test_before_the_first_run(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.shows("no run yet")

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))
