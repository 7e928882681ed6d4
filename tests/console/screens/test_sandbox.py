"""The stage at the console: time by the message and by speed, faults with their promises before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.sandbox import SandboxScreen
from console.sessions.sandbox import SPEEDS, SandboxSession
from engine.catalogue import SYSTEMS
from tests.helpers.protocols import Hands, on, stage_of


def sandbox_of(hands: Hands) -> SandboxSession:
    sandbox = hands.app.session
    assert isinstance(sandbox, SandboxSession)
    return sandbox


async def settle(hands: Hands, seconds: float = 4.0) -> None:
    """In real time, until everybody has joined; then the world stands."""
    await hands.press(*["plus"] * (len(SPEEDS) - 1))
    for _ in range(round(seconds / 0.25)):
        await hands.pass_time(0.25)
    await hands.press(*["minus"] * (len(SPEEDS) - 1))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 18)])
def test_the_world_stands_until_a_message_is_let_through(tmp_path: Path, system: str, size: tuple[int, int]) -> None:
    async def scenario(hands: Hands) -> None:
        there = hands.lab.now
        await hands.press("Z")
        assert isinstance(hands.app.screen, SandboxScreen) and hands.shows(" SANDBOX ")
        sandbox = sandbox_of(hands)
        for _ in range(4):
            await hands.pass_time(0.5)
        assert (sandbox.lab.now, sandbox.trace.total) == (0.0, 0)
        await hands.press("n")
        assert sandbox.trace.total > 0 and sandbox.steps == 1
        rule = next(entry.rule for entry in sandbox.last() if entry.rule)
        if size[1] > 20:
            assert hands.shows(f"rule {rule[:20]}")
        while not any(entry.direction == "in" and entry.seat == "client" for entry in sandbox.last()):
            await hands.press("space")
        now = sandbox.lab.now
        await hands.pass_time(0.5)
        assert sandbox.lab.now == now, "and then time is paused again"
        await hands.press("full_stop")
        assert sandbox.steps > 2
        await hands.press("escape")
        assert hands.at_main and not isinstance(hands.app.session, SandboxSession)
        assert hands.lab.now == there, "the system itself was not touched"

    on(stage_of(system), scenario, tmp_path, size)


def test_table_ladder_and_books_change_together_with_each_message(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("Z")
        await settle(hands)
        assert hands.shows("● ready") and not hands.shows("● busy")
        await hands.press("p")
        for _ in range(12):
            await hands.press("n")
            picture = hands.app.session.picture
            assert picture is not None and picture.broker is not None
            assert picture.rows and [row.worker for row in picture.rows] == list(picture.broker.workers)
            ledger = picture.broker.ledger
            assert hands.shows(f"sent {ledger.sent:,} = ok {ledger.succeeded}") and ledger.balanced
        assert hands.shows("● busy") and hands.shows("client") and hands.shows("▶│")

    on(stage_of("pingpong"), scenario, tmp_path)


def test_time_passes_as_fast_as_is_asked_for(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("Z", "minus")
        sandbox = sandbox_of(hands)
        for place, speed in enumerate(SPEEDS[1:], 1):
            await hands.press("plus")
            before = sandbox.lab.now
            await hands.pass_time(0.25)
            assert sandbox.speed == place and sandbox.lab.now - before == pytest.approx(0.25 * speed)
        await hands.press("plus")
        assert sandbox.speed == len(SPEEDS) - 1
        await hands.press("n")
        assert sandbox.speed == 0, "a step stops the world"

    on(stage_of(), scenario, tmp_path)


def test_a_fault_states_its_promises_before_it_is_injected_and_ticks_them_after(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("Z")
        await settle(hands)
        sandbox = sandbox_of(hands)
        assert hands.shows("f injects a fault")
        await hands.press("f")
        assert hands.shows("which fault?") and hands.shows("freeze WORKER|BROKER [SECONDS]")
        await hands.press("enter")
        assert hands.shows("kill: whom?")
        await hands.press("enter")
        assert hands.shows("The protocol promises:") and hands.shows("○ no task that was accepted fails")
        await hands.press("enter")
        assert sandbox.watches == [] and len(sandbox.lab.workers()) == 3, "Cancel is the default"
        await hands.press("f", "enter", "enter", "y")
        assert len(sandbox.watches) == 1 and len(sandbox.lab.workers()) == 2
        assert hands.shows("kill w1") and hands.shows(" ○ ")
        await settle(hands, 12.0)
        assert sandbox.watches[0].held
        assert hands.shows(" ✓ ") and not hands.shows(" ○       ") and not hands.shows(" × ")

    on(stage_of(), scenario, tmp_path)


def test_the_command_opens_the_stage_and_asks_there(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.command("fault kill w3")
        assert hands.shows("w3 is dead, without a word.") and hands.shows("○ w3 is lost within")
        await hands.press("y")
        sandbox = sandbox_of(hands)
        assert sandbox.watches[0].plan.text == "kill w3"
        assert {row.state for row in sandbox.lab.feed.pictures["broker"].workers} == {"ready"}, "everybody had joined"
        assert len(sandbox.lab.workers()) == 2
        await hands.command("fault nosuch w3")
        assert hands.shows("no fault 'nosuch'")
        await hands.command("fault garbage")
        assert hands.shows("a stranger, rogue-1, says")
        await hands.press("escape")
        assert len(sandbox_of(hands).watches) == 1

    on(stage_of(), scenario, tmp_path)


def test_orders_and_protocol_screens_are_the_stages_while_it_is_there(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("Z")
        await settle(hands)
        sandbox = sandbox_of(hands)
        total = sandbox.trace.total
        await hands.press("T")
        assert hands.shows(f"of {total:,}") and hands.lab.taps == (), "what was said before is there already"
        await hands.press("escape", "tab", "tab", "enter")
        assert hands.shows("╭─ message")
        await hands.press("escape", "shift+tab", "shift+tab", "down", "enter")
        assert hands.shows("╭─ worker w")
        await hands.press("escape", "escape")
        assert hands.app.session is sandbox, "first the choices are dropped, of a worker and of a message"
        await hands.press("escape", "escape")
        assert hands.at_main and hands.app.session is not sandbox

    on(stage_of(), scenario, tmp_path)
