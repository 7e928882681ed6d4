from __future__ import annotations

from pathlib import Path

from engine.parts.view import WorkerView
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def test_everybody_speaks_for_himself(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        lab.terms = (("ready queue", "7\x1b[2J"),)
        lab.seats = {lab.workers[0].key: "worker-1"}
        view = WorkerView(lab.at, "LINKED", 8, 0, 0, lab.at - 1, (("pings", "12"),), True)
        lab.feed.show("pool", {"worker-1": view})
        await driver.press("v")
        await driver.tick()
        assert driver.shows("╭─ Round robin · seed 000")
        for text in ("broker", "ready queue     7·[2J", "violations      3", "client", "linked          yes"):
            assert driver.shows(text), text
        assert driver.shows("worker tern-01, as it sees itself") and driver.shows("pings           12")
        await driver.press("escape")
        assert driver.at_main
        await driver.command("protocol")
        assert driver.shows("╭─ Round robin")
        assert lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(2, busy=False))
