"""The list of alerts: what fires is seen from everywhere, acknowledged, silenced, and rings if that is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.guards import Guards
from console.screens.alerts import Alerts
from engine.alerts.rules import Rule, Rules
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive

RULES = Rules((Rule("few", "workers", "critical", below=3), Rule("many", "workers", "warning", above=100)))


def test_an_alert_fires_is_acknowledged_silenced_and_clears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    carried: list[Any] = []

    async def scenario(driver: Driver) -> None:
        driver.app.guards = Guards(RULES, tmp_path)
        monkeypatch.setattr(driver.app._driver, "write", written.append)
        await driver.press("exclamation_mark")
        assert isinstance(driver.app.screen, Alerts)
        assert len([line for line in driver.screen() if "· never fired" in line]) == 2 and not driver.shows("cleared")
        await driver.press("b")
        lab: Any = driver.lab
        crew, lab.workers = lab.workers, lab.workers[:2]
        await driver.tick(1.0)
        assert any("\x1b]9;roundhouse: few" in text for text in written)
        lines = driver.screen()
        assert "● firing" in lines[2] and "critical" in lines[2] and "few" in lines[2] and "2 (below 3)" in lines[2]
        assert driver.shows("1 alert firing · the terminal rings")
        await driver.press("escape")
        await driver.tick()
        assert driver.at_main and "! 1" in driver.screen()[0]
        monkeypatch.setattr(type(lab), "mode", "remote")
        lab.acknowledge = lambda name: carried.append(name)
        lab.silence = lambda name, seconds: carried.append((name, seconds))
        await driver.press("exclamation_mark", "a")
        assert driver.shows("◐ acknowledged")
        await driver.press("z")
        assert driver.shows("○ silenced")
        await driver.press("z")
        assert carried == ["few", ("few", 3600.0), ("few", 0.0)]
        monkeypatch.setattr(type(lab), "mode", "live")
        lab.workers = crew
        await driver.tick(1.0)
        assert driver.shows("✓ cleared")
        assert len([line for line in driver.screen() if "never fired" in line]) == 1, "the other one"
        await driver.press("b", "escape")
        await driver.tick()
        assert "! 1" not in driver.screen()[0]
        await driver.press("colon")
        await driver.type("alerts")
        await driver.press("enter", "a")
        assert driver.shows("few does not fire: it is cleared")

    drive(scenario, tmp_path, lab=FakeLab(5))
