"""The line that is typed on the screens of disk queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.commands import QUEUE_WORDS
from tests.helpers.fake_queues import QueueDriver, drive_queues


@pytest.mark.parametrize("stage", [False, True])
def test_signs_are_letters_within_a_line(tmp_path: Path, stage: bool) -> None:
    async def scenario(driver: QueueDriver) -> None:
        if stage:
            await driver.press("Z")
        there = driver.app.screen
        await driver.press("colon", *"nosuch", "colon", "Z", "enter")
        assert driver.app.screen is there and driver.shows("unknown command 'nosuch:Z'")
        await driver.press("colon", *"bulkping", "enter")
        assert driver.shows("unknown command 'bulkping'"), "what brokers do means nothing here"
        await driver.press("colon", "enter", "colon", "up", "escape")
        assert driver.app.screen is there and driver.lab.orders == []
        assert list(driver.app.history.lines)[-2:] == ["nosuch:Z", "bulkping"]

    drive_queues(scenario, tmp_path)


def test_words_are_completed_and_carried_out(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("colon", "h", "tab", "enter")
        assert driver.shows("╭─ help")
        await driver.press("escape", "colon", *"system x", "enter")
        await driver.press("colon", *"theme nosuch", "enter")
        assert driver.shows("no theme 'nosuch'")
        await driver.press("colon", *"quit", "enter")
        assert not driver.app.is_running

    drive_queues(scenario, tmp_path)


def test_every_word_is_in_the_help(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        seen: list[str] = []
        await driver.press("question_mark")
        for _ in range(8):
            seen += driver.screen()
            await driver.press("pagedown")
            await driver.pilot.wait_for_scheduled_animations()
        text = "\n".join(seen)
        for word in QUEUE_WORDS:
            assert word.help[:40] in text, word
        assert "step to the next operation" in text and "a sandbox of a pipeline" in text

    drive_queues(scenario, tmp_path)
