from __future__ import annotations

from pathlib import Path

from console.screens.page import Page
from tests.helpers.pilot import Driver, drive


def test_lines_under_a_title_that_is_not_markup(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.open_screen(Page("a [/b] title", [[(f"line {i}", "text")] for i in range(100)]))
        await driver.pilot.pause()
        assert driver.shows("╭─ a [/b] title ") and driver.shows("line 1")
        await driver.scroll("end")
        assert driver.shows("line 99")
        await driver.press("escape")
        assert driver.app.screen is driver.main

    drive(scenario, tmp_path)


def test_lines_that_follow_the_picture(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.open_screen(Page("t", [], lambda picture: [[(f"{len(picture.rows)} rows", "text")]]))
        await driver.pilot.pause()
        assert driver.shows("16 rows")
        del driver.lab.workers[0]
        await driver.tick()
        assert driver.shows("15 rows")

    drive(scenario, tmp_path)
