"""What screens ask of the application: which session is on the screen, and orders to its lab."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from console.commands import Command
from engine.catalogue import CATALOGUE, SYSTEMS
from engine.drive.control.found import Found
from engine.labs.attaching import Around
from tests.helpers.fake_lab import FakeLab, FakeLabs
from tests.helpers.pilot import Driver, drive
from tests.helpers.protocols import User, on, running_sandbox


def test_a_sandbox_is_on_the_screen_while_it_is_open_and_its_system_afterwards(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        session, main = user.app.session, user.app.main
        await user.press("Z")
        assert user.app.session.mode == "sandbox"
        assert user.app.main is user.app.screen
        await user.press("escape")
        assert user.app.session is session
        assert user.app.main is main

    on(running_sandbox(), scenario, tmp_path)


def test_an_order_goes_to_the_session_that_is_named_whatever_is_on_the_screen(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1, busy=False))

    async def scenario(driver: Driver) -> None:
        first = driver.app.session
        await driver.press("2")
        driver.app.order(lambda lab: lab.ping(), session=first)
        assert labs.known["roundrobin"].orders == [("ping", True)]
        assert labs.known["conversation"].orders == []

    drive(scenario, tmp_path, labs=labs)


def test_what_changes_something_is_refused_where_the_console_is_read_only(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.order(lambda lab: lab.stop_run(), destroys=True)
        assert driver.notice == "× refused: this console is read-only (--readonly)"
        assert driver.lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(1, readonly=True))


def test_words_that_mean_the_same_everywhere(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.perform(Command("system", "conv"))
        await driver.pilot.pause()
        assert driver.app.session.name == "conversation"
        driver.app.perform(Command("quit", ""))
        await driver.press("y")
        assert not driver.app.is_running

    drive(scenario, tmp_path)


def test_q_goes_back_and_leaves_at_once_where_it_costs_nothing(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for opens in ("r", "question_mark", "v", "C", "T", "L", "t", "ctrl+k"):
            await driver.press(opens)
            assert not driver.at_main, opens
            await driver.press("q")
            assert driver.at_main, opens
        assert driver.app.is_running
        await driver.press("q")
        assert not driver.app.is_running

    lab = FakeLab(2, busy=False)
    lab.seats = {worker.key: f"worker-{n}" for n, worker in enumerate(lab.workers, 1)}
    drive(scenario, tmp_path, lab=lab)


def test_quitting_asks_and_says_what_ends_read_only_too(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("q")
        assert driver.shows("Quit roundhouse?") and driver.shows("Quit (y)")
        assert driver.shows("4 workers of other processes: tern-01, kestrel-01,")
        assert driver.shows("the run bulkping: ") and driver.shows(" of 100,000 done")
        assert driver.shows("tasks in the broker: ") and driver.shows(" with workers, ")
        await driver.press("q")
        assert driver.at_main
        await driver.press("ctrl+c")
        assert driver.shows("Quit roundhouse?")
        await driver.press("enter")
        assert driver.at_main
        await driver.press("question_mark", "ctrl+c", "ctrl+c")
        assert not driver.app.is_running

    drive(scenario, tmp_path, lab=FakeLab(4, readonly=True))


def test_hands_of_a_pager_are_those_of_a_table_and_a_key_that_does_nothing_says_so(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.press("g", "j", "j", "k")
        assert table.cursor == table.shown[1].worker.key
        await driver.press("y")
        row = table.shown[1]
        assert driver.app.clipboard == f"{row.label} {row.worker.key.hex(' ', -4)}"
        assert driver.notice == f"✓ copied {driver.app.clipboard}"
        await driver.press("ctrl+f")
        assert table.cursor != table.shown[1].worker.key
        await driver.press("ctrl+b", "G")
        assert table.cursor == table.shown[-1].worker.key
        await driver.press("J")
        assert driver.notice == "· J does nothing here · ? lists the keys"
        await driver.press("j")
        assert driver.notice == ""
        await driver.press("question_mark", "j", "ctrl+f")
        page = driver.app.screen.query_one("#page")
        assert page.scroll_offset.y > 1
        await driver.press("y")
        assert driver.shows(" lines") and driver.app.clipboard.startswith("anywhere")
        await driver.press("k", "g")
        assert page.scroll_offset.y == 0

    drive(scenario, tmp_path)


def test_it_is_suspended_unless_somebody_depends_on_it(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        suspended: list[bool] = []
        driver.app.action_suspend_process = lambda: suspended.append(True)  # type: ignore[method-assign]
        await driver.press("ctrl+z")
        assert driver.notice == "× not suspended: it would stop for 2 workers of other processes: tern-01, kestrel-01"
        driver.lab.seats = {worker.key: worker.name for worker in driver.lab.workers}
        await driver.tick()
        await driver.press("ctrl+z")
        assert suspended == [True]

    drive(scenario, tmp_path, lab=FakeLab(2, busy=False))


def test_whoever_is_here_for_the_first_time_reads_the_first_keys_until_one_is_pressed(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.first_run = True
        driver.app.greet()
        await driver.tick()
        assert driver.shows("new here? p runs 100 pings · d 2,000 streams · Z takes it apart · ? all keys")
        await driver.press("down")
        assert not driver.shows("new here?") and driver.app.history.begun and not driver.app.first_run

    drive(scenario, tmp_path, size=(80, 24))


def around(tmp_path: Path) -> Around:
    return Around(tmp_path / "c", CATALOGUE, tmp_path)


def test_another_process_is_named_and_has_its_own_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Future[list[Found]] = Future()
    found.set_result([Found(tmp_path / "c" / "far", "roundrobin", "broker", ("tcp://127.0.0.1:6714",), 7)])
    monkeypatch.setattr(Around, "search", lambda self, name="": found)
    monkeypatch.setattr(Around, "lab", lambda self, found: FakeLab(3, busy=False))

    async def scenario(driver: Driver) -> None:
        await driver.press("A")
        assert driver.notice == "! nothing can be attached to from here"
        driver.app.around = around(tmp_path)
        await driver.command("attach nobody")
        assert "'nobody' is nothing that runs here" in driver.notice
        await driver.command("attach 7")
        await driver.tick()
        assert driver.app.session.name == "far" and "far" in driver.labs.names

    drive(scenario, tmp_path)


def test_keys_of_systems_are_those_of_attached_processes_where_there_are_no_others(tmp_path: Path) -> None:
    labs = FakeLabs(FakeLab(1, busy=False), names=("roundrobin", "far"))

    async def scenario(driver: Driver) -> None:
        await driver.press("2")
        await driver.tick()
        assert driver.app.session.name == "far"
        await driver.press("5")
        assert "no more than 2 attached" in driver.main.keybar.notice

    drive(scenario, tmp_path, labs=labs)


def test_who_has_the_usual_port_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Future[list[Found]] = Future()
    found.set_result([Found(tmp_path / "far", "roundrobin", "broker", (SYSTEMS["roundrobin"].endpoint,), 7)])
    monkeypatch.setattr(Around, "search", lambda self, name="": found)
    lab = FakeLab(1, busy=False)
    lab.endpoints = ("tcp://127.0.0.1:7714",)

    async def scenario(driver: Driver) -> None:
        driver.app.around = around(tmp_path)
        driver.app.offer()
        assert driver.notice == "! tcp://127.0.0.1:6714 has a roundrobin broker, process 7 · A attaches to it"

    drive(scenario, tmp_path, lab=lab)
