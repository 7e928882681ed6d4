from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.fake_lab import FakeSettings
from tests.helpers.pilot import Driver, drive


@pytest.mark.parametrize("size", [(150, 42), (120, 36), (80, 24), (40, 10), (20, 6)])
def test_help_and_quit_are_seen_on_every_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: Driver) -> None:
        line = driver.screen()[-1]
        assert line.startswith(" ? help  q quit ")
        assert len(line) == size[0]

    drive(scenario, tmp_path, size=size)


def test_what_does_not_fit_is_not_cut_in_two(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.screen()[-1].rstrip().endswith("⏎ details")

    drive(scenario, tmp_path, size=(80, 24))


def test_the_way_back_comes_first(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("r")
        assert driver.screen()[-1].startswith(" esc back  ? help ")

    drive(scenario, tmp_path)


def test_a_remapped_key_is_shown_as_it_is(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert "f5 bulkping" in driver.screen()[-1]
        await driver.press("f5")
        assert [order[0] for order in driver.lab.orders] == ["run"]
        await driver.press("p")
        assert len(driver.lab.orders) == 1

    drive(scenario, tmp_path, settings=FakeSettings(tmp_path, keymap={"run.ping": "f5"}))


def test_a_click_on_a_key_is_that_key(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        at = driver.screen()[-1].index("bulkdata")
        await driver.pilot.click("#keys", offset=(at, 0))
        await driver.pilot.pause()
        assert [order[0] for order in driver.lab.orders] == ["run"]
        assert driver.lab.orders[0][1].kind == "data"

    drive(scenario, tmp_path)


def test_a_notice_stays_until_a_key_is_pressed(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.say("look \x1b here [/b]", "bad")
        await driver.pilot.pause()
        assert driver.screen()[-1].startswith(" × look · here [/b]")
        await driver.press("down")
        assert driver.notice == ""
        assert driver.screen()[-1].startswith(" ? help")

    drive(scenario, tmp_path)


def test_an_old_notice_does_not_take_a_new_one_with_it(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        bar = driver.main.keybar
        bar.say("one", "good")
        first = bar._generation
        bar.say("two", "good")
        bar._expire(first)
        assert bar.notice == "✓ two"
        bar._expire(bar._generation)
        assert bar.notice == ""

    drive(scenario, tmp_path)


def test_a_notice_that_is_too_long_says_that_it_goes_on(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.say("refused: " + "readonly is set " * 5, "bad")
        assert driver.screen()[-1].startswith(" × refused: readonly is set") and driver.screen()[-1].endswith("…")

    drive(scenario, tmp_path, size=(40, 12))
