"""Somebody who has never seen the console finds what matters, each in at most four keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from console.screens.clients import Clients, Waiting
from console.screens.details import Details
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Slow
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


MOST = 4  # keys to each place from the one before
PLACES = (
    "run", "worst worker", "its tasks", "drained", "its tasks elsewhere", "client that floods", "oldest task",
    "compared",
)  # fmt: skip


class Newcomer:
    """Presses keys, and notes which place was reached with how many of them."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.took: dict[str, int] = {}

    async def reach(self, place: str, *keys: str, seconds: float = 0.5) -> None:
        """Go to the next place, then let time pass."""
        assert place == PLACES[len(self.took)], "in this order"
        await self.user.press(*keys)
        await work(self.user, seconds)
        self.took[place] = len(keys)


def test_a_newcomer_reaches_the_eight_places_each_in_at_most_four_keys(tmp_path: Path) -> None:
    lab = running_sandbox(workers=3, tasks=0)

    async def scenario(user: User) -> None:
        new = Newcomer(user)
        for name, seconds in (("worker-1", 0.1), ("worker-2", 0.6), ("worker-3", 0.1)):
            lab.order(name, Slow(seconds))
        lab._seat("client-2", "client", [lab.endpoints[-1], lab._nonce()])
        await new.reach("run", "p", seconds=20)
        assert user.shows("PASS")

        lab.order("client-2", BulkSpec("ping", 10_000, rate=40.0, in_flight=40, timeout=30.0))
        await work(user, 5)
        await new.reach("worst worker", "W")
        assert user.app.main.table.chosen().label == "w2"
        await new.reach("its tasks", "enter")
        assert isinstance(top(user), Details) and user.shows("worker w2") and user.shows("ping ")
        await new.reach("drained", "ctrl+k", "y", seconds=2)
        assert user.shows("gone") or user.shows("◇ drain")
        await new.reach("its tasks elsewhere", "B")
        assert isinstance(top(user), Waiting)
        assert not user.shows("● w2") and (user.shows("● w1") or user.shows("● w3"))
        await new.reach("client that floods", "U", seconds=1)
        assert isinstance(top(user), Clients)
        first = user.screen()[2]
        assert "● sends" in first and "100 %" in first
        await new.reach("oldest task", "escape", "B", "g", seconds=0)
        screen: Any = top(user)
        assert isinstance(screen, Waiting)
        chosen = screen.table.chosen()
        assert chosen is not None and chosen.accepted == min(row.accepted for row in screen.table.shown)

        assert set(new.took) == set(PLACES[:-1]), "the last one is that of the next test"
        assert all(keys <= MOST for keys in new.took.values()), new.took

    on(lab, scenario, tmp_path)


def test_a_newcomer_compares_the_run_with_the_last_one(tmp_path: Path) -> None:
    keys = ("r", "c", "down", "c")
    assert len(keys) <= MOST

    async def scenario(driver: Driver) -> None:
        await driver.press(*keys)
        assert driver.shows("A") and driver.shows("B") and driver.shows("p99")
        assert not driver.at_main

    drive(scenario, tmp_path, lab=FakeLab(3))
