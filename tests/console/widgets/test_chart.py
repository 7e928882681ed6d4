from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.pictures.samples import HERTZ, SPAN
from console.widgets.chart import Backlog, peaks
from engine.parts.view import Kept
from tests.helpers.fake_lab import FakeLab
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


def test_a_cursor_names_value_and_time_of_a_column(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.wall = lambda: 86_400.0
        driver.lab._busy = False
        driver.lab._backlog = 700
        await driver.tick(2.0)
        driver.lab._backlog = 0
        await driver.tick(4.0)
        await driver.press("tab")
        assert driver.app.focused is driver.app.screen.query_one("#backlog")
        await driver.press("left")
        assert driver.shows("▲ 0 · 1.") and driver.shows(" ago, ")
        columns = 0
        while not driver.shows("▲ 700 · "):
            await driver.press("left")
            columns += 1
            assert columns < 10
        await driver.press("shift+left", "shift+right")
        assert driver.shows("▲ 700 · ")
        await driver.press("end")
        assert not driver.shows("▲ 700") and driver.shows("peak 700")

    drive(scenario, tmp_path, lab=FakeLab(2))


def test_one_key_turns_the_span(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for name, begin in (
            ("1 min", "-60s"),
            ("10 min", "-10m"),
            ("1 h", "-1h"),
            ("1 day", "-24h"),
            ("7 days", "-7d"),
            ("1 min", "-60s"),
        ):
            assert driver.shows(f"backlog · {name}") and driver.shows(f"0 {begin}")
            await driver.press("z")

    drive(scenario, tmp_path)


def test_a_backlog_on_disk_is_called_that_and_one_that_takes_nothing_says_why(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.tick()
        assert not driver.shows("backlog on disk")
        driver.lab.store = Kept(7, 0, "the disk is full: 3 MiB are free")
        await driver.tick()
        assert driver.shows("backlog on disk")
        assert "REFUSING" in driver.screen()[0] and "tasks are refused: the disk is full" in driver.screen()[0]

    drive(scenario, tmp_path)


def test_a_chart_of_the_same_samples_is_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, draw = list[int](), Backlog.draw

    def counting(chart: Backlog, width: int, height: int) -> object:
        drawn.append(height)
        return draw(chart, width, height)

    monkeypatch.setattr(Backlog, "draw", counting)

    async def scenario(driver: Driver) -> None:
        chart = driver.main.query_one(Backlog)
        assert driver.shows("backlog")
        drawn.clear()
        for samples, limit, times in (((1, 2), 5, 1), ((1, 2), 5, 1), ((1, 3), 5, 2), ((1, 3), 2, 3), ((1, 3), 2, 3)):
            chart.fill(samples, 0, "now", limit)
            assert len(drawn) == times

    drive(scenario, tmp_path)
