from __future__ import annotations

from pathlib import Path

from console.screens.confirm import Confirm
from engine.parts.view import WorkerView
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def test_cancel_is_the_default(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "ctrl+k")
        assert isinstance(driver.app.screen, Confirm)
        assert driver.shows("Stop worker heron-01?") or driver.shows("Stop worker badger-01?")
        assert driver.shows("Cancel (n)") and driver.shows("Stop worker (y)")
        await driver.press("enter")
        assert driver.at_main
        for key in ("escape", "n", "q"):
            await driver.press("ctrl+k")
            await driver.press(key)
            assert driver.at_main
        await driver.press("ctrl+k", "ctrl+c")
        assert not driver.app.is_running, "whoever quits need not answer first"
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_it_acts_on_the_row_that_it_named_and_on_no_other(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.press("down", "down", "ctrl+k")
        named = table.cursor
        await driver.press("right")
        table.sort_by(table.columns[3])
        table.action_edge(1)
        assert table.cursor != named
        driver.lab.workers.reverse()
        await driver.tick()
        await driver.press("enter")
        assert driver.lab.orders == [("stop_worker", named)]
        assert driver.notice.endswith("is asked to stop")

    drive(scenario, tmp_path)


def test_it_is_all_there_on_the_smallest_terminal(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "ctrl+k")
        assert driver.shows("Stop worker badger-01?") and driver.shows("Cancel")

    drive(scenario, tmp_path, size=(40, 10))


def test_a_filter_changes_nothing_about_it(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("down", "ctrl+k")
        named = driver.main.table.cursor
        driver.main.perform_filter("nothing at all")
        await driver.press("y")
        assert driver.lab.orders == [("stop_worker", named)]

    drive(scenario, tmp_path)


def test_what_is_held_is_said_and_markup_is_not_read(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.replace(0, name="[b]x[/red]", in_flight=3)
        await driver.tick()
        await driver.press("ctrl+k")
        assert driver.shows("Stop worker [b]x[/red]?")
        assert driver.shows("It finishes what it holds (3), then leaves.")

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))


def test_what_can_not_be_asked_to_stop_is_not_said_to_be(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table, lab = driver.main.table, driver.lab
        for state, told in (
            ("lost", "worker osprey-01 is lost: there is nobody to ask"),
            ("drain", "worker vole-01 is leaving already"),
        ):
            table.cursor = next(worker.key for worker in lab.workers if worker.state == state)
            await driver.press("ctrl+k")
            assert driver.at_main and driver.notice.endswith(told)
        assert lab.orders == []
        lost = next(worker.key for worker in lab.workers if worker.state == "lost")
        lab.seats = {lost: "osprey-01"}
        lab.feed.show("pool", {"osprey-01": WorkerView(lab.at, "linking", 1, 0, 0, lab.at)})
        await driver.tick()
        table.cursor = lost
        await driver.press("ctrl+k", "y")
        assert driver.notice.endswith("worker osprey-01 is asked to stop, though its broker has lost it")
        assert lab.orders == [("stop_worker", lost)]

    drive(scenario, tmp_path)
