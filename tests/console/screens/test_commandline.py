"""The ``:`` line over every screen."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from console.commands import QUEUE_WORDS
from console.screens.commandline import CommandLine
from tests.helpers.fake_lab import FakeLab
from tests.helpers.fake_queues import QueueDriver, drive_queues
from tests.helpers.pilot import Driver, drive


def test_it_acts_on_every_screen_and_leads_back_to_it(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for opens in ("v", "C", "T", "L", "r", "question_mark", "enter"):
            await driver.press(opens)
            there = driver.app.screen
            assert there is not driver.main
            driver.lab.orders.clear()
            await driver.type(":pingt")
            assert isinstance(driver.app.screen, CommandLine) and driver.shows(":pingt")
            await driver.press("enter")
            assert driver.app.screen is there
            assert driver.lab.orders == [("ping", True)], opens
            await driver.type(":stop nobody")
            await driver.press("enter")
            assert driver.shows("no worker 'nobody' · there are "), opens
            await driver.press("escape")
        await driver.press("v")
        await driver.type(":stop k")
        await driver.press("tab", "enter")
        assert driver.shows("Stop worker kestrel-01?")
        await driver.type(":ping")  # a question is answered first: n, and y, are its keys
        assert not isinstance(driver.app.screen, CommandLine)

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_runs_are_begun_and_stopped_on_every_screen_of_a_system_with_a_broker(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for opens in ("v", "C", "T", "L"):
            await driver.press(opens)
            driver.lab.orders.clear()
            await driver.press("p", "d", "x")
            assert [order[0] for order in driver.lab.orders] == ["run", "run", "stop_run"], opens
            await driver.press("escape")

    drive(scenario, tmp_path)


def test_a_filter_acts_on_the_screen_that_has_one(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("T")
        await driver.type(":filter cmd=PING")
        await driver.press("enter")
        assert driver.shows("/cmd=PING") and driver.main.table.filter is None

    drive(scenario, tmp_path)


def test_disk_queues_have_their_own_words_and_colons_within_a_line_are_text(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        seen: list[str] = []
        for opens in ("M", "Z"):
            await driver.press(opens)
            there = driver.app.screen
            await driver.press("colon", *"nosuch", "colon", "Z", "enter")
            assert driver.app.screen is there and driver.shows("unknown command 'nosuch:Z'")
            await driver.press("colon", *"bulkping", "enter")
            assert driver.shows("unknown command 'bulkping'"), "what brokers do means nothing here"
            await driver.press("colon", "enter", "colon", "up")
            assert driver.app.screen.query_one(Input).value == "bulkping"
            await driver.press("escape")
            assert driver.app.screen is there and driver.lab.orders == []
            await driver.press("p", "escape")
            assert driver.lab.orders == [], "p begins no run of a broker here"
        assert list(driver.app.history.lines) == ["nosuch:Z", "bulkping"] * 2
        await driver.press("colon", *"kill 9", "enter")
        await driver.sees("no driver '9' · there are 1, 2, 3")
        await driver.press("colon", *"kill 2", "enter")
        assert driver.shows("Kill driver 2 of parse?")
        await driver.press("n", "colon", "h", "tab", "enter")
        for _ in range(8):
            seen += driver.screen()
            await driver.press("pagedown")
            await driver.pilot.wait_for_scheduled_animations()
        text = "\n".join(seen)
        for word in QUEUE_WORDS:
            assert word.help[:40] in text, word
        assert "step to the next operation" in text and "a sandbox of a pipeline" in text
        await driver.press("escape", "colon", *"theme nosuch", "enter")
        assert driver.shows("no theme 'nosuch'")
        await driver.press("colon", *"quit", "enter")
        assert not driver.app.is_running

    drive_queues(scenario, tmp_path)
