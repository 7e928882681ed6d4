from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from console.screens.clients import Clients, Waiting, amount
from console.screens.details import Details
from engine.parts.view import ClientRow, Underway
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive

FLOOD, CALM = b"flood", b"calm"


def crowded() -> FakeLab:
    """Two clients: one floods, of the other a worker has a task since long."""
    lab = FakeLab(3)
    at = lab.at
    lab.clients = (ClientRow(FLOOD, 9000, at, 2, 0, at - 0.2), ClientRow(CALM, 40, at - 90, 0, 1, at - 12.0))
    lab.oldest = (
        Underway(CALM, b"\x07\x00", "data", at - 12.0, 3, lab.workers[1].key),
        Underway(FLOOD, b"\x01\x00", "ping", at - 0.2, 0, b""),
        Underway(FLOOD, b"\x02\x00", "job", at - 0.1, 0, b"", 2_000),
    )
    lab.publish()
    return lab


def test_the_client_that_floods_is_on_top(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        await driver.press("U")
        for _ in range(4):
            flood, calm = lab.clients
            lab.clients = (flood._replace(sent=flood.sent + 250, heard=lab.at), calm)
            await driver.tick()
        lines = driver.screen()
        assert "▾rate/s share" in lines[1] and "share" in lines[1] and "oldest" in lines[1]
        assert lines[2].split()[1:4] == ["flood", "●", "sends"] and "100 %" in lines[2] and "█" in lines[2]
        assert "B backlog" in lines[-1] and "U clients" not in lines[-1], "a screen does not offer itself"
        assert "calm" in lines[3] and "○" not in lines[3] and "13s" in lines[3] and "91s" in lines[3]
        assert driver.shows("2 clients") and driver.shows("2 wait, 1 in flight")
        await driver.press("enter")
        assert isinstance(driver.app.screen, Waiting) and driver.shows("tasks of flood under way")
        assert not driver.shows("0700")
        await driver.press("escape", "q")
        assert driver.at_main

    drive(scenario, tmp_path, lab=crowded())


def test_the_oldest_task_is_on_top_and_leads_to_its_worker(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("B")
        lines = driver.screen()
        assert "▾age" in lines[1] and lines[2].split()[1] == "12s" and "kestrel-01" in lines[2] and "0700" in lines[2]
        assert any("job × 2.00k" in line and "waits" in line for line in lines)
        await driver.press("enter")
        assert isinstance(driver.app.screen, Details) and driver.shows("worker kestrel-01")
        await driver.press("escape", "down", "enter")
        await driver.tick()
        assert isinstance(driver.app.screen, Waiting)
        assert driver.shows("no worker has it: it waits")

    drive(scenario, tmp_path, lab=crowded())


def test_a_task_that_waits_is_dropped_after_a_question(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        await driver.command("backlog")
        await driver.press("ctrl+k")
        assert lab.orders == [] and driver.shows("has it: a task can be dropped while it waits")
        await driver.press("down", "ctrl+k")
        assert driver.shows("Drop task 0100?") and lab.orders == []
        await driver.press("enter")
        assert lab.orders == [], "cancel is what enter does at first"
        await driver.press("ctrl+k", "right", "enter")
        assert lab.orders == [("discard", FLOOD, b"\x01\x00")]

    drive(scenario, tmp_path, lab=crowded())


def test_a_task_that_waits_is_moved_after_a_question(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        await driver.press("B", "shift+up")
        assert lab.orders == [] and driver.shows("has it: a task can be moved while it waits")
        await driver.press("down", "shift+up")
        assert driver.shows("Let task 0100 be the next?") and lab.orders == []
        await driver.press("right", "enter")
        assert lab.orders == [("move", FLOOD, b"\x01\x00", True)]
        await driver.press("shift+down")
        assert driver.shows("It waits behind all others from now on.")
        await driver.press("right", "enter")
        assert lab.orders[1:] == [("move", FLOOD, b"\x01\x00", False)]
        lab.oldest = tuple(row._replace(next=row.id == b"\x01\x00") for row in lab.oldest)
        await driver.tick()
        assert [line for line in driver.screen() if "◌ is next" in line and "0100" in line]

    drive(scenario, tmp_path, lab=crowded())


def test_where_tasks_go_by_job_that_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("B", "down", "shift+up")
        assert driver.shows("no single task of roundrobin is moved: v lists jobs, h holds one")
        assert driver.lab.orders == []

    lab = crowded()
    lab.system = replace(lab.system, owners=False)
    drive(scenario, tmp_path, lab=lab)


def test_what_waits_of_a_client_is_dropped_after_a_question(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        await driver.command("clients")
        assert isinstance(driver.app.screen, Clients)
        await driver.press("s", "s")
        while (row := driver.app.screen.table.chosen()) is None or row.label != "flood":
            await driver.press("down")
        await driver.press("ctrl+k")
        assert driver.shows("Drop what waits of client flood?") and driver.shows("2 tasks that wait")
        await driver.press("right", "enter")
        assert lab.orders == [("withdraw", FLOOD)]
        await driver.press("g")
        await driver.command("backlog calm")
        assert driver.shows("tasks of calm under way")

    drive(scenario, tmp_path, lab=crowded())


def test_an_empty_broker_says_so(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("U", "ctrl+k", "enter")
        assert driver.shows("nobody has sent a task") or driver.shows("there is no client")
        await driver.press("escape", "B", "enter")
        assert driver.shows("no task is under way") and driver.shows("there is no task")

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False), size=(80, 24))


def test_a_bar_of_more_than_nothing_shows() -> None:
    assert amount(0.0, 4, "flow")[0][0] == "" and amount(1e-9, 4, "flow")[0][0] == "▏"
    assert amount(2.0, 4, "flow")[0][0] == "████"
