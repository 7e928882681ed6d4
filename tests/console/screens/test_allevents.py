"""All events, and their filter."""

from __future__ import annotations

from pathlib import Path

from console.screens.allevents import AllEvents
from tests.helpers.fake_queues import QueueDriver, drive_queues
from tests.helpers.pilot import Driver, drive


def test_all_of_them_with_a_filter_that_is_marked_where_it_is_wrong(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("E")
        assert isinstance(driver.app.screen, AllEvents)
        assert driver.shows("worker otter-01 joined") and driver.shows("8 of 8 lines")
        await driver.press("E")
        await driver.type("/worker")
        assert driver.shows("5 of 8 lines · /worker") and not driver.shows("bulkping started")
        await driver.type("(")
        assert driver.shows("missing ), unterminated subpattern")
        await driver.press("enter")
        assert driver.shows("filter 'worker('")
        await driver.press("escape")
        assert driver.shows("8 of 8 lines")
        await driver.type("/!worker")
        await driver.press("enter")
        assert driver.shows("3 of 8 lines · /!worker")
        driver.lab.fact("it happened just now", "warn")
        await driver.tick()
        assert driver.shows("it happened just now") and driver.shows("4 of 9 lines")
        await driver.type(":filter zzz")
        await driver.press("enter")
        assert driver.shows("no event matches")
        await driver.press("q", "q")
        assert driver.at_main

    drive(scenario, tmp_path)


def test_disk_queues_and_an_empty_beginning(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("E")
        assert driver.shows("all events") and driver.shows("a pipeline of values 1, parse 3, output 2")

    drive_queues(scenario, tmp_path)
