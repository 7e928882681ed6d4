from __future__ import annotations

from pathlib import Path

from tests.helpers.fake_lab import FakeSettings
from tests.helpers.pilot import Driver, drive


def test_moving_shows_enter_keeps_escape_goes_back(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        app = driver.app
        assert app.theme == "midnight"
        await driver.press("t")
        await driver.press("down")
        assert app.theme == "paper"
        await driver.press("escape")
        assert app.theme == "midnight" and app.screen is driver.main
        await driver.press("t")
        await driver.press("t")
        await driver.press("enter")
        assert app.theme == "paper" and app.screen is driver.main
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_a_file_that_is_wrong_is_named_in_the_picker(tmp_path: Path) -> None:
    folder = FakeSettings(tmp_path).config_folder / "themes"

    async def scenario(driver: Driver) -> None:
        folder.mkdir(parents=True)
        (folder / "mine.toml").write_text('[theme]\nprimary = "#12"\n')
        await driver.press("t")
        assert driver.shows("mine.toml:2: theme.primary")
        await driver.press("escape")

    drive(scenario, tmp_path)
