from __future__ import annotations

from pathlib import Path

from engine.labs.health import Health
from tests.helpers.fake_lab import HEALTHY
from tests.helpers.pilot import Driver, drive


def test_a_dead_thread_can_not_be_overlooked(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert not driver.shows("ENGINE THREAD DIED")
        driver.lab.state = Health(("broker: ZMQError: \x1b[31mboom [/red]",), 0.0)
        await driver.tick()
        assert "× ENGINE THREAD DIED · broker: ZMQError: ·[31mboom [/red]" in driver.screen()[1]
        driver.lab.state = HEALTHY
        await driver.tick()
        assert not driver.shows("ENGINE THREAD DIED")

    drive(scenario, tmp_path)
