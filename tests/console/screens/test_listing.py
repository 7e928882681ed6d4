from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from console import keys
from console.commands import WORDS
from console.screens.listing import help_lines, worker_list
from tests.helpers.fake_lab import FakeLab, FakeSettings
from tests.helpers.pilot import Driver, drive


def test_the_help_lists_every_key_word_and_state() -> None:
    text = "\n".join("".join(part for part, _ in line) for line in help_lines({"run.ping": "f5"}))
    assert all(key.help in text for key in (*keys.APP, *keys.MAIN, *keys.TABLE))
    assert all(f"{word.name} {word.usage}".strip() in text and word.help in text for word in WORDS)
    assert all(state in text for state in ("ready", "busy", "late", "silent", "lost", "drain"))
    assert "f5" in text
    assert "ctrl+" not in "".join(line[0][0] for line in help_lines({}) if line), "keys are written as in the key bar"


def test_it_shows_the_keys_as_they_are(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("question_mark")
        lines = [line for line in driver.screen() if "bulkping: 100 pings" in line]
        assert len(lines) == 1 and "f5" in lines[0]
        assert any("q" in line and "after a question if something would end" in line for line in driver.screen())
        await driver.press("escape")
        assert driver.app.screen is driver.main

    drive(scenario, tmp_path, settings=FakeSettings(tmp_path, keymap={"run.ping": "f5"}))


def test_the_seeds_worker_list(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.type("/tern")
        await driver.press("enter")
        await driver.command("workers")
        assert driver.shows("10 workers in the table")
        rows = [line for line in driver.screen() if " of " in line and "ready" in line]
        assert len(rows) == 10
        assert "8 of 8" in rows[0] and "tern-01" in rows[0]
        await driver.press("escape")
        assert len(driver.main.table.shown) == 10
        assert driver.lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(10, busy=False))


def test_the_worker_list_is_in_the_order_in_which_tasks_are_given() -> None:
    def row(key: bytes, place: int) -> Any:
        return SimpleNamespace(worker=SimpleNamespace(key=key, state="ready", free=1, slots=2), place=place)

    picture: Any = SimpleNamespace(rows=[row(b"a", 2), row(b"b", 0), row(b"c", 1)])
    lines = ["".join(text for text, _ in line) for line in worker_list(picture)][3:]
    assert [line.split()[-2:] for line in lines] == [["next", "c"], ["2", "a"], ["ready", "b"]]
