from __future__ import annotations

from pathlib import Path

import pytest

from engine.parts.view import WorkerView
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_everything_about_one_worker(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.replace(0, terms=(("nproc", "3"),), name="tern-01", in_flight=3)
        driver.lab.publish()
        await driver.type("/tern")
        await driver.press("enter", "enter")
        driver.lab.at += 0.01
        driver.lab.publish()
        driver.app.tick()
        await driver.pilot.pause()
        for text in (
            "╭─ worker tern-01 ", "╭─ in flight ", "╭─ violations ", "routing id", "7465726e 2d3031", "7 bytes",
            "nproc", "ping   0.8s  2    5a1b000000000000", "581b000000000000", "increment without a task × 4",
            "heartbeats", "812", "503206",
        ):  # fmt: skip
            assert driver.shows(text), text
        await driver.press("escape")
        assert driver.app.screen is driver.main
        assert driver.lab.orders == [("inspect", b"tern-01"), ("inspect", None)]

    drive(scenario, tmp_path, lab=FakeLab(16), size=size)


def test_a_worker_that_leaves_while_it_is_looked_at(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "enter")
        del driver.lab.workers[:]
        await driver.tick()
        assert driver.shows("gone · the broker no longer knows it")

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_it_is_live_while_the_main_screen_is_paused(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("space", "down", "enter")
        driver.lab.replace(0, done=4321)
        await driver.tick()
        assert driver.shows("4,321")
        assert driver.shows("nothing in flight")

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))


def test_it_can_be_stopped_from_here(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "enter", "ctrl+k", "y")
        assert driver.lab.orders == [("inspect", b"tern-01"), ("stop_worker", b"tern-01")]

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))


def test_the_workers_own_view_of_itself_and_its_broker(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        lab.seats = {lab.workers[0].key: "worker-1"}
        own = WorkerView(lab.at, "joining\x1b", 1, 0, 0, lab.at - 2, (("broker", "unknown"), ("reopens in", "0.9 s")))
        lab.feed.show("pool", {"worker-1": own})
        await driver.press("down", "enter")
        await driver.tick(0.0)
        for line in ("as it sees itself", "joining· · not joined", "2.0s ago", "unknown", "reopens in      0.9 s"):
            assert driver.shows(line), line

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))


def test_a_worker_has_one_name_and_no_half_of_its_details_is_blank(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "enter")
        await driver.tick()
        words = [line for line in driver.screen() if "name  " in line]
        assert len(words) == 1 and "badger-01" in words[0] and not driver.shows("calls itself")
        assert driver.app.screen.query_one("#incidents").outer_size.height < 12
        driver.lab.replace(3, name="w7")
        await driver.tick()
        assert not driver.shows("w7"), "that may be the name of another one on all other screens"

    drive(scenario, tmp_path, size=(80, 24))
