"""Somebody who has never seen the console finds what matters, each in at most four keys."""

from __future__ import annotations

from pathlib import Path

from console.screens.clients import Clients, Waiting
from console.screens.details import Details
from engine.core import Slow
from engine.parts.bulk import BulkSpec
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive
from tests.helpers.protocols import User, on, running_sandbox


def top(user: User) -> object:
    """The screen that is on top."""
    return user.app.screen


async def work(user: User, seconds: float) -> None:
    """Let tasks pass, and the screen look on."""
    for _ in range(int(seconds * 2)):
        user.lab.advance(0.5)
        await user.pass_time(0.25)


def test_a_newcomer_finds_run_worker_tasks_client_and_oldest_task(tmp_path: Path) -> None:
    lab = running_sandbox(workers=3, tasks=0)

    async def scenario(user: User) -> None:
        for name, seconds in (("worker-1", 0.1), ("worker-2", 0.6), ("worker-3", 0.1)):
            lab.order(name, Slow(seconds))
        lab._seat("client-2", "client", [lab.endpoints[-1], lab._nonce()])
        await user.press("p")  # run
        await work(user, 20)
        assert user.shows("PASS")

        lab.order("client-2", BulkSpec("ping", 10_000, rate=40.0, in_flight=40, timeout=30.0))
        await work(user, 5)
        await user.press("W")  # the worst worker
        assert user.app.main.table.chosen().label == "w2"
        await user.press("enter")  # its tasks
        await work(user, 0.5)
        assert isinstance(top(user), Details) and user.shows("worker w2") and user.shows("ping ")
        await user.press("ctrl+k", "y")  # drain it
        await work(user, 2)
        assert user.shows("gone") or user.shows("◇ drain")

        await user.press("B")  # its tasks elsewhere, the oldest on top
        await work(user, 0.5)
        assert isinstance(top(user), Waiting)
        assert not user.shows("● w2") and (user.shows("● w1") or user.shows("● w3"))
        await user.press("U")  # the client that floods
        await work(user, 1)
        assert isinstance(top(user), Clients)
        first = user.screen()[2]
        assert "● sends" in first and "100 %" in first
        await user.press("enter")  # and its tasks
        assert isinstance(top(user), Waiting)

    on(lab, scenario, tmp_path)


def test_a_newcomer_compares_the_run_with_the_last_one(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("r", "c", "down", "c")
        assert driver.shows("A") and driver.shows("B") and driver.shows("p99")
        assert not driver.at_main

    drive(scenario, tmp_path, lab=FakeLab(3))
