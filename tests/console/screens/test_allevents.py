"""All events, and what hides some of them."""

from __future__ import annotations

from pathlib import Path

from console.pictures.eventlog import Gap
from console.screens.allevents import AllEvents, said
from console.widgets.events import Group
from engine.feed import Fact
from tests.helpers.fake_lab import EPOCH
from tests.helpers.fake_queues import QueueDriver, drive_queues
from tests.helpers.pilot import Driver, drive
from tests.helpers.protocols import User, on, running_sandbox


def test_all_of_them_with_a_filter_that_is_marked_where_it_is_wrong(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("E")
        assert isinstance(driver.app.screen, AllEvents)
        assert driver.shows("worker otter-01 joined") and driver.shows("8 of 8 lines")
        await driver.press("E")
        await driver.type("/worker")
        assert driver.shows("5 of 8 lines, 3 hidden · /worker") and not driver.shows("bulkping started")
        await driver.type("(")
        assert driver.shows("missing ), unterminated subpattern")
        await driver.press("enter")
        assert driver.shows("filter 'worker('")
        await driver.press("escape")
        assert driver.shows("8 of 8 lines")
        await driver.type("/!worker")
        await driver.press("enter")
        assert driver.shows("3 of 8 lines, 5 hidden · /!worker")
        driver.lab.fact("it happened just now", "warn")
        await driver.tick()
        assert driver.shows("it happened just now") and driver.shows("4 of 9 lines")
        await driver.type(":filter zzz")
        await driver.press("enter")
        assert driver.shows("no event matches")
        await driver.press("q", "q")
        assert driver.at_main

    drive(scenario, tmp_path)


def test_a_key_shows_the_worse_ones_with_counts_and_another_those_of_a_time(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.wall = lambda: EPOCH + 80
        await driver.press("E")
        assert driver.shows("· all 8  warn or bad 3  bad 1") and driver.shows("8 of 8 lines ")
        await driver.press("l")
        assert driver.shows("3 of 8 lines, 5 hidden") and driver.shows("osprey-01 lost")
        assert driver.shows("missed 2 heartbeats") and not driver.shows("otter-01 joined")
        await driver.press("z")
        assert driver.shows("all 5  warn or bad 3  bad 1"), "the counts are of the last minute"
        assert driver.shows("3 of 8 lines, 5 hidden · last minute")
        await driver.press("l")
        assert driver.shows("1 of 8 lines, 7 hidden · last minute") and not driver.shows("missed 2 heartbeats")
        await driver.press("l", "z")
        assert driver.shows("8 of 8 lines · last 10 minutes") and driver.shows("otter-01 joined")
        await driver.press("z")
        assert driver.shows("8 of 8 lines · last hour")
        await driver.press("l", "escape")
        assert driver.shows("8 of 8 lines "), "escape takes all of it away"
        await driver.press("escape")
        assert driver.at_main

    drive(scenario, tmp_path)


def test_times_are_typed_in_the_filter(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.wall = lambda: EPOCH + 80
        await driver.press("E")
        await driver.command("filter since 59s until 30s")
        assert driver.shows("5 of 8 lines, 3 hidden · since ")
        await driver.command("filter since 59s until 30s worker")
        assert driver.shows("3 of 8 lines, 5 hidden · since ") and driver.shows("ibex-01 missed")
        assert driver.shows(" · /worker ") and not driver.shows("/since"), "times stand there as times of the day"
        await driver.press("escape")
        await driver.type("/since")
        assert driver.shows("since when: 10:05, 10:05:30") and driver.shows("8 of 8 lines")
        await driver.press("enter")
        assert driver.shows("filter 'since': since when")

    drive(scenario, tmp_path)


def test_what_was_missed_is_as_old_as_what_was_before_it() -> None:
    lost = Fact(1, 70.0, "broker", "bad", "w1 lost", b"")
    groups = [Group(lost, 1, [b""]), Group(Gap(3), 1, []), Group(lost._replace(source="pool", level="good"), 1, [b""])]
    told = said(groups, [[("a", "x"), ("b", "y")], [("c", "x")], []])
    assert told == [("bad", 70.0, "ab"), ("warn", 70.0, "c"), ("info", 70.0, "")]


def test_disk_queues_and_an_empty_beginning(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("E")
        assert driver.shows("all events") and driver.shows("a pipeline of values 1, parse 3, output 2")
        await driver.press("l", "l")
        assert driver.shows("no event matches") or driver.shows("bad ")

    drive_queues(scenario, tmp_path)


def test_a_run_of_this_process_is_an_event(tmp_path: Path) -> None:
    lab = running_sandbox(workers=2, tasks=0)

    async def scenario(user: User) -> None:
        await user.press("p")
        for _ in range(20):
            lab.advance(0.25)
            await user.pass_time(0.25)
        await user.press("E")
        assert user.shows("+ bulkping 100: PASS, ")

    on(lab, scenario, tmp_path)
