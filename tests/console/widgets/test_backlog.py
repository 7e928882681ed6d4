from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from console.pictures.samples import HERTZ, SPAN
from console.widgets.backlog import peaks
from tests.helpers.pilot import Driver, drive


@given(st.lists(st.integers(0, 10**9), max_size=SPAN * HERTZ), st.integers(8, 500))
def test_the_peak_is_kept_however_few_the_columns(samples: list[int], columns: int) -> None:
    shown = peaks(samples, columns)
    assert len(shown) == columns
    assert max(shown) == max(samples, default=0)


def test_the_newest_is_at_the_right() -> None:
    assert peaks([1, 2, 3], 240)[-3:] == [1, 2, 3]


def test_the_chart_has_a_scale_and_says_now_and_peak(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab._busy = False
        driver.lab._backlog = 1438
        await driver.tick()
        driver.lab._backlog = 12
        await driver.tick()
        assert driver.shows("now 12 · peak 1.44k")
        assert driver.shows("2.00k ┈") and driver.shows("1.00k ┈") and driver.shows("0 -60s")

    drive(scenario, tmp_path)
