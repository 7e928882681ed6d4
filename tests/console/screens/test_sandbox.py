"""The stage at the console: time by the message and by speed, faults with their promises before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.sandbox import SandboxScreen
from console.sessions.sandbox import SPEEDS, SandboxSession
from engine.catalogue import SYSTEMS
from tests.helpers.protocols import User, on, running_sandbox


def sandbox_of(user: User) -> SandboxSession:
    sandbox = user.app.session
    assert isinstance(sandbox, SandboxSession)
    return sandbox


async def settle(user: User, seconds: float = 4.0) -> None:
    """In real time, until everybody has joined; then the world stands."""
    await user.press(*["plus"] * (len(SPEEDS) - 1))
    for _ in range(round(seconds / 0.25)):
        await user.pass_time(0.25)
    await user.press(*["minus"] * (len(SPEEDS) - 1))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 18)])
def test_the_world_stands_until_a_message_is_let_through(tmp_path: Path, system: str, size: tuple[int, int]) -> None:
    async def scenario(user: User) -> None:
        there = user.lab.now
        await user.press("Z")
        assert isinstance(user.app.screen, SandboxScreen) and user.shows(" SANDBOX ")
        sandbox = sandbox_of(user)
        for _ in range(4):
            await user.pass_time(0.5)
        assert (sandbox.lab.now, sandbox.trace.total) == (0.0, 0)
        await user.press("n")
        assert sandbox.trace.total > 0 and sandbox.steps == 1
        rule = next(entry.rule for entry in sandbox.last() if entry.rule)
        if size[1] > 20:
            assert user.shows(f"rule {rule[:20]}")
        while not any(entry.direction == "in" and entry.seat == "client" for entry in sandbox.last()):
            await user.press("space")
        now = sandbox.lab.now
        await user.pass_time(0.5)
        assert sandbox.lab.now == now, "and then time is paused again"
        await user.press("full_stop")
        assert sandbox.steps > 2
        await user.press("escape")
        assert user.at_main and not isinstance(user.app.session, SandboxSession)
        assert user.lab.now == there, "the system itself was not touched"

    on(running_sandbox(system), scenario, tmp_path, size)


def test_table_ladder_and_books_change_together_with_each_message(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("Z")
        await settle(user)
        assert user.shows("● ready") and not user.shows("● busy")
        await user.press("p")
        for _ in range(12):
            await user.press("n")
            picture = user.app.session.picture
            assert picture is not None and picture.broker is not None
            assert picture.rows and [row.worker for row in picture.rows] == list(picture.broker.workers)
            ledger = picture.broker.ledger
            assert user.shows(f"sent {ledger.sent:,} = ok {ledger.succeeded}") and ledger.balanced
        assert user.shows("● busy") and user.shows("client") and user.shows("▶│")

    on(running_sandbox("pingpong"), scenario, tmp_path)


def test_time_passes_as_fast_as_is_asked_for(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("Z", "minus")
        sandbox = sandbox_of(user)
        for place, speed in enumerate(SPEEDS[1:], 1):
            await user.press("plus")
            before = sandbox.lab.now
            await user.pass_time(0.25)
            assert sandbox.speed == place and sandbox.lab.now - before == pytest.approx(0.25 * speed)
        await user.press("plus")
        assert sandbox.speed == len(SPEEDS) - 1
        await user.press("n")
        assert sandbox.speed == 0, "a step stops the world"

    on(running_sandbox(), scenario, tmp_path)


def test_a_fault_states_its_promises_before_it_is_injected_and_ticks_them_after(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("Z")
        await settle(user)
        sandbox = sandbox_of(user)
        assert user.shows("f injects a fault")
        await user.press("f")
        assert user.shows("which fault?") and user.shows("freeze WORKER|BROKER [SECONDS]")
        await user.press("enter")
        assert user.shows("kill: whom?")
        await user.press("enter")
        assert user.shows("The protocol promises:") and user.shows("○ no task that was accepted fails")
        await user.press("enter")
        assert sandbox.watches == [] and len(sandbox.lab.workers()) == 3, "Cancel is the default"
        await user.press("f", "enter", "enter", "y")
        assert len(sandbox.watches) == 1 and len(sandbox.lab.workers()) == 2
        assert user.shows("kill w1") and user.shows(" ○ ")
        await settle(user, 12.0)
        assert sandbox.watches[0].held
        assert user.shows(" ✓ ") and not user.shows(" ○       ") and not user.shows(" × ")

    on(running_sandbox(), scenario, tmp_path)


def test_the_command_opens_the_stage_and_asks_there(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.command("fault kill w3")
        assert user.shows("w3 is dead, without a word.") and user.shows("○ w3 is lost within")
        await user.press("y")
        sandbox = sandbox_of(user)
        assert sandbox.watches[0].plan.text == "kill w3"
        assert {row.state for row in sandbox.lab.feed.pictures["broker"].workers} == {"ready"}, "everybody had joined"
        assert len(sandbox.lab.workers()) == 2
        await user.command("fault nosuch w3")
        assert user.shows("no fault 'nosuch'")
        await user.command("fault garbage")
        assert user.shows("a stranger, rogue-1, says")
        await user.press("escape")
        assert len(sandbox_of(user).watches) == 1

    on(running_sandbox(), scenario, tmp_path)


def test_orders_and_protocol_screens_are_those_of_the_sandbox_while_it_is_open(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("Z")
        await settle(user)
        sandbox = sandbox_of(user)
        total = sandbox.trace.total
        await user.press("T")
        assert user.shows(f"noted {total:,} times") and user.lab.taps == (), "what was said before is there already"
        await user.press("escape", "tab", "tab", "enter")
        assert user.shows("╭─ message")
        await user.press("escape", "shift+tab", "shift+tab", "down", "enter")
        assert user.shows("╭─ worker w")
        await user.press("escape", "escape")
        assert user.app.session is sandbox, "first the choices are dropped, of a worker and of a message"
        await user.press("escape", "escape")
        assert user.at_main and user.app.session is not sandbox

    on(running_sandbox(), scenario, tmp_path)
