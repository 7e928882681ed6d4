"""One out of a few."""

from __future__ import annotations

from pathlib import Path

from console.screens.pick import Pick
from tests.helpers.pilot import Driver, drive

CHOICES = [("a", "the first"), ("b", "[/red] the second"), ("c", "the third")]


def test_it_begins_with_the_likeliest_and_escape_takes_none(tmp_path: Path) -> None:
    answers: list[str | None] = []

    async def scenario(driver: Driver) -> None:
        driver.app.push_screen(Pick("which?", CHOICES, "b"), answers.append)
        await driver.pilot.pause()
        assert driver.shows("which?") and driver.shows("[/red] the second")
        await driver.press("enter")
        driver.app.push_screen(Pick("which?", CHOICES, "nosuch"), answers.append)
        await driver.pilot.pause()
        await driver.press("down", "enter")
        driver.app.push_screen(Pick("which?", CHOICES), answers.append)
        await driver.pilot.pause()
        await driver.press("escape")

    drive(scenario, tmp_path)
    assert answers == ["b", "b", None]
