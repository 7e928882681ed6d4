from __future__ import annotations

from pathlib import Path

import pytest

from engine.labs.health import Health
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive

ALL = ["◆ roundhouse", "● DEGRADED", "tcp://127.0.0.1:6714", "req/s", "61 fail", "up 14:24"]


@pytest.mark.parametrize(
    ("size", "there", "not_there"),
    [
        ((120, 36), [*ALL, "roundrobin"], []),
        ((80, 24), [*ALL[1:2], "2 of 16 workers late or lost", *ALL[3:5]], ["roundrobin", "roundhouse", "tcp"]),
        ((40, 10), ["◆", "● DEGRADED", "req/s", "61 fail"], ["roundhouse", "tcp"]),
    ],
)  # fmt: skip
def test_what_matters_least_goes_first(
    tmp_path: Path, size: tuple[int, int], there: list[str], not_there: list[str]
) -> None:
    async def scenario(driver: Driver) -> None:
        line = driver.screen()[0]
        assert [text for text in there if text not in line] == []
        assert [text for text in not_there if text in line] == []

    drive(scenario, tmp_path, size=size)


def test_states(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert "● READY" in driver.screen()[0]
        await driver.press("space")
        assert "● PAUSED" in driver.screen()[0]
        await driver.press("space")
        driver.lab.workers.clear()
        await driver.tick()
        assert "● NO WORKERS" in driver.screen()[0]
        driver.lab.state = Health(("broker: boom",), 0.0)
        await driver.tick()
        assert "● FAULT" in driver.screen()[0]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_read_only_is_said(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert "read-only" in driver.screen()[0]

    drive(scenario, tmp_path, lab=FakeLab(3, readonly=True))


def test_a_lane_that_is_not_the_seeds_is_named(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert "packed" not in driver.screen()[0]
        driver.lab.chosen = "packed"
        await driver.tick()
        assert "packed" in driver.screen()[0]

    drive(scenario, tmp_path, lab=FakeLab(3))


def test_endpoints_are_those_of_now(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.endpoints = ("tcp://127.0.0.1:7714",)
        await driver.tick()
        assert "tcp://127.0.0.1:7714" in driver.screen()[0]

    drive(scenario, tmp_path)


def test_why_it_is_degraded_is_said_beside_the_badge(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for width in (120, 80):
            await driver.pilot.resize_terminal(width, 24)
            await driver.tick()
            assert "● DEGRADED  2 of 16 workers late or lost" in driver.screen()[0]

    drive(scenario, tmp_path)


def test_the_systems_that_run_are_there_with_their_keys_and_states(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert "1●" not in driver.screen()[0], "one alone needs no list"
        await driver.press("2", "3")
        await driver.tick()
        assert "1● roundrobin 2● conversation 3● pingpong" in driver.screen()[0]
        for size, text in (((80, 24), "1● 2● 3●"), ((40, 10), "● READY")):
            await driver.pilot.resize_terminal(*size)
            await driver.tick()
            assert text in driver.screen()[0]

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))
