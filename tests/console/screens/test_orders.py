"""Orders that are asked about first, and what the console of disk queues has beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from console import keys
from console.pictures.rows import Shown, natural
from console.screens.confirm import Confirm, several_question, workers_named
from console.screens.orders import kill_question
from engine.errors import Refused
from engine.parts.orders import Drain, Expire, Requeue, Throttle, Undrain
from engine.parts.view import ClientRow
from engine.system import System
from tests.helpers.fake_lab import FakeLab
from tests.helpers.fake_queues import EVIL, FakeQueues, QueueDriver, a_view, drive_queues
from tests.helpers.pilot import Driver, drive


def test_in_the_end_the_books_are_told(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("q")
        assert not driver.app.is_running

    app = drive_queues(scenario, tmp_path)
    assert app.summary == "fed 62 = published 43 + failed twice 1 + waiting 15 + working 3  ✓"
    assert app.signal_received is None


def test_a_refusal_is_told_in_its_own_words(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        driver.lab.refusal = "the pipeline has ended"
        for key in ("plus", "minus", "h", "p"):
            await driver.press(key)
            assert driver.notice == "× the pipeline has ended"
        assert driver.lab.orders == []

    drive_queues(scenario, tmp_path)


def test_killing_asks_names_the_driver_and_means_no_other(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "tab", "down", "ctrl+k")
        assert isinstance(driver.app.screen, Confirm)
        assert driver.app.screen.question == "Kill driver 2 of parse?"
        assert driver.shows("doc-30 counts as failed")
        await driver.press("enter")
        assert driver.lab.orders == [], "Cancel is what enter means"
        await driver.press("ctrl+k", "y")
        assert driver.lab.orders == [("kill_driver", "2")]
        assert driver.notice == "✓ driver 2 is killed"

    drive_queues(scenario, tmp_path)


def test_read_only_asks_nothing_and_kills_nothing(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("tab", "ctrl+k")
        assert driver.app.screen is driver.app.main
        assert driver.notice.startswith("× refused: this console is read-only")
        assert driver.shows("read-only")
        assert driver.lab.orders == []

    drive_queues(scenario, tmp_path, FakeQueues(readonly=True))


def test_a_question_about_a_driver_without_a_document_or_with_an_evil_one() -> None:
    idle, busy = a_view().drivers[3], a_view().drivers[0]._replace(document=EVIL)
    assert kill_question(idle)._lines[0] == "It holds no document."
    assert "\x1b" not in kill_question(busy)._lines[0]


def test_every_key_is_in_the_palette_and_in_the_help(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        helps = {command.help for command in driver.app.get_system_commands(driver.app.main)}
        assert helps == {key.help for key in (*keys.QUEUES, *keys.APP) if key.id != "focus.next"}
        await driver.press("question_mark")
        assert driver.shows("two more attempts")
        await driver.press("escape")
        assert driver.app.screen is driver.app.main

    drive_queues(scenario, tmp_path)


def test_no_key_means_two_things() -> None:
    used = [name for key in (*keys.APP, *keys.QUEUES, *keys.TABLE) for name in key.keys.split(",")]
    assert sorted(used) == sorted(set(used))
    assert {key.id for key in keys.QUEUES} <= keys.IDS


def test_a_documents_map_shows_how_many_stand_where(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("M", "M")
        assert driver.shows("state maps · diskqueue") and driver.shows("A document")
        assert driver.shows("▐ working 3 ▌") and driver.shows("a driver takes it")
        await driver.press("escape")
        assert not driver.shows("state maps")

    drive_queues(scenario, tmp_path)


def test_what_waits_of_a_client_is_withdrawn_after_a_question(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.terms = (
            ("client c-7", "3 tasks waiting, of 3, 30 bytes"),
            ("client 00ff", "1 task waiting, of 1, 9 bytes"),
        )
        await driver.tick()
        await driver.command("withdraw nobody")
        assert driver.notice == "× no client 'nobody' of which something waits; there are c-7, 00ff"
        await driver.command("withdraw c-7")
        await driver.press("enter")
        assert driver.lab.orders == [], "Cancel is what enter means"
        await driver.command("withdraw c-7")
        await driver.press("y")
        await driver.command("withdraw 00ff")
        await driver.press("y")
        assert driver.lab.orders == [("withdraw", b"c-7"), ("withdraw", b"\x00\xff")]

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False, system="pingpong"))


def test_workers_are_slowed_after_a_question_and_set_right_without_one(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("slow soon")
        assert "slow needs a number of seconds, got 'soon'" in driver.notice
        await driver.command("slow 2.5")
        assert isinstance(driver.app.screen, Confirm) and driver.lab.orders == []
        await driver.press("n")
        assert driver.lab.orders == []
        await driver.command("slow 2.5")
        await driver.press("y")
        assert driver.lab.orders == [("slow", 2.5)]
        await driver.command("slow 0")
        assert driver.lab.orders == [("slow", 2.5), ("slow", 0.0)]

    drive(scenario, tmp_path)


def test_a_fault_of_what_runs_is_done_after_a_question_that_says_what_it_does(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("kill nobody")
        assert driver.notice == "× kill nobody: not here"
        for line in ("kill tern-01", "freeze tern-01 5", "cut tern-01", "restart tern-01", "slow tern-01 2"):
            driver.lab.orders.clear()
            await driver.command(line)
            assert driver.shows(f"What {line} does.") and driver.lab.orders == []
            await driver.press("escape")
            assert driver.lab.orders == []
            await driver.command(line)
            await driver.press("y")
            assert driver.lab.orders == [("hurt", line)]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_stop_ends_the_run_and_with_a_worker_that_worker_in_order(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("stop")
        await driver.command("stop tern-01")
        assert driver.shows("Stop worker tern-01?")
        await driver.press("y")
        assert driver.lab.orders == [("stop_run",), ("stop_worker", driver.lab.workers[0].key)]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_an_operator_steers_the_broker_after_a_question_and_sees_the_limit(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        key = driver.lab.workers[0].key
        driver.lab.clients = (ClientRow(b"flood", 5, driver.lab.at, 2, 0, driver.lab.at),)
        await driver.tick()
        for line, order in (
            ("pause", ("steer", Throttle(0.0))),
            ("throttle 100", ("steer", Throttle(100.0))),
            ("resume", ("steer", Throttle(None))),
            ("undrain tern-01", ("steer", Undrain(key))),
            ("expire tern-01", ("steer", Expire(key))),
            ("requeue tern-01", ("steer", Requeue(key))),
            ("requeue flood 00ff", ("steer", Requeue(b"", b"flood", b"\x00\xff"))),
            ("undo", ("undo",)),
        ):
            driver.lab.orders.clear()
            await driver.command(line)
            assert isinstance(driver.app.screen, Confirm)
            await driver.press("enter")
            assert driver.lab.orders == [], "Cancel is what enter means"
            await driver.command(line)
            await driver.press("y")
            assert driver.lab.orders == [order]
        await driver.command("throttle fast")
        assert "throttle needs a number of tasks a second, or off, got 'fast'" in driver.notice
        driver.lab.orders.clear()
        await driver.command("slots tern-01 x")
        assert "slots needs a number of slots, got 'x'" in driver.notice
        await driver.command("slots tern-01 3")
        await driver.command("log-level debug")
        assert driver.lab.orders == [("set_slots", key, 3), ("log_level", "debug")]
        await driver.command("requeue flood x")
        assert "requeue needs CLIENT and TASK in hexadecimal digits; got 'flood x'" in driver.notice
        await driver.command("undrain nobody")
        assert "no worker 'nobody'" in driver.notice
        assert "dispatch paused" not in driver.screen()[0]
        driver.lab.limits = ((b"", 0.0),)
        await driver.tick()
        assert "dispatch paused" in driver.screen()[0]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_read_only_steers_nothing_and_a_system_says_what_it_takes(tmp_path: Path) -> None:
    async def looks(driver: Driver) -> None:
        for line in ("pause", "resume", "throttle 5", "undrain tern-01", "expire tern-01", "requeue tern-01", "undo"):
            await driver.command(line)
            assert driver.notice.startswith("× refused: this console is read-only")
        assert driver.lab.orders == []

    async def other(driver: Driver) -> None:
        await driver.command("requeue tern-01")
        assert "conversation knows no requeue: a task is a process of its worker" in driver.notice
        assert driver.lab.orders == []

    drive(looks, tmp_path, lab=FakeLab(1, busy=False, readonly=True))
    drive(other, tmp_path, lab=FakeLab(1, busy=False, system="conversation"))


def test_a_key_drains_the_worker_that_the_question_names(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        key = driver.lab.workers[1].key
        driver.lab.replace(1, in_flight=2)
        await driver.tick()
        driver.main.table.cursor = key
        await driver.press("ctrl+d")
        assert driver.shows("Drain worker kestrel-01?") and driver.shows("finishes what it holds (2)")
        assert driver.shows("undrain kestrel-01 undoes it, until it has left.")
        await driver.press("enter")
        assert driver.at_main and driver.lab.orders == [], "Cancel is what enter means"
        await driver.press("enter", "ctrl+d", "y")
        assert driver.lab.orders == [("inspect", key), ("steer", Drain(key))], "from the details too"
        assert driver.shows("✓ worker kestrel-01 is drained")
        await driver.press("escape")
        driver.lab.replace(1, state="drain")
        driver.lab.replace(0, state="lost")
        await driver.tick()
        for worker, told in ((1, "kestrel-01 is drained already"), (0, "tern-01 is lost: it gets nothing")):
            driver.main.table.cursor = driver.lab.workers[worker].key
            await driver.press("ctrl+d")
            assert driver.at_main and driver.notice == f"! worker {told}"

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_draining_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def looks(driver: Driver) -> None:
        await driver.press("ctrl+d")
        assert driver.at_main and driver.notice.startswith("× refused: this console is read-only")
        assert driver.lab.orders == []

    async def nobody(driver: Driver) -> None:
        await driver.press("ctrl+d")
        assert driver.notice == "! there is no worker to drain"

    async def final(driver: Driver) -> None:
        await driver.press("ctrl+d")
        assert driver.shows("Nothing takes that back.")

    async def unknown(driver: Driver) -> None:
        monkeypatch.setattr("console.screens.orders.refuse", no_drain)
        await driver.press("ctrl+d")
        assert driver.at_main and driver.notice == "× pingpong knows no drain"

    def no_drain(system: System, order: object) -> None:
        raise Refused(f"{system.name} knows no drain")

    drive(looks, tmp_path, lab=FakeLab(1, busy=False, readonly=True))
    drive(nobody, tmp_path, lab=FakeLab(0, busy=False))
    drive(final, tmp_path, lab=FakeLab(1, busy=False, system="conversation"))
    drive(unknown, tmp_path, lab=FakeLab(1, busy=False, system="pingpong"))


def test_one_order_is_for_all_marked_workers(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table, lab = driver.main.table, driver.lab
        keys = [worker.key for worker in lab.workers]
        for place in (0, 1, 3):
            table.cursor = keys[place]
            await driver.press("m")
        await driver.press("ctrl+k")
        assert driver.shows("Stop 3 workers badger-01, kestrel-01, tern-01?")
        await driver.press("enter")
        assert driver.at_main and lab.orders == [], "Cancel is what enter means"
        await driver.press("ctrl+k", "y")
        assert lab.orders == [("stop_worker", keys[place]) for place in (3, 1, 0)]
        assert driver.notice == "✓ 3 workers badger-01, kestrel-01, tern-01 are asked to stop"
        lab.orders.clear()
        lab.replace(0, state="drain")
        await driver.tick()
        await driver.press("ctrl+d")
        assert driver.shows("Drain 2 workers badger-01, kestrel-01?") and driver.shows("worker tern-01 is drained")
        await driver.press("y")
        assert lab.orders == [("steer", Drain(keys[3])), ("steer", Drain(keys[1]))]
        lab.refusal = "a pair is being handed over"
        await driver.press("ctrl+d", "y")
        assert driver.notice == "× 2 of 2 are refused: a pair is being handed over"
        for place in (1, 3):
            lab.replace(place, state="drain")
        await driver.tick()
        await driver.press("ctrl+d")
        assert driver.at_main and driver.notice == "! worker badger-01 is drained already; 2 more can not be asked"

    drive(scenario, tmp_path, lab=FakeLab(4, busy=False))


def test_one_marked_worker_is_meant_and_not_the_one_under_the_cursor(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        keys = [worker.key for worker in driver.lab.workers]
        driver.main.table.cursor = keys[2]
        await driver.press("m")
        driver.main.table.cursor = keys[0]
        await driver.press("ctrl+k")
        assert driver.shows("Stop worker otter-01?")
        await driver.press("y")
        assert driver.lab.orders == [("stop_worker", keys[2])]

    drive(scenario, tmp_path, lab=FakeLab(4, busy=False))


def test_many_names_are_cut() -> None:
    rows = [Shown(worker, f"w{place}", 0.0, natural("w")) for place, worker in enumerate(FakeLab(9).workers)]
    assert workers_named(rows) == "9 workers w0, w1, w2, w3, w4, w5, …"
    assert workers_named(rows[:1]) == "worker w0"
    assert several_question("Stop", rows, "They go.", ["a"] * 8)._lines == ["They go.", *"aaaaaa", "…"]
