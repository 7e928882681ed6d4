"""The sixth system on every screen of the console: none of them was written for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.machines import Lines
from console.screens.sandbox import SandboxScreen
from console.sessions.replay import BrokerReplay
from console.sessions.sandbox import SandboxSession
from engine.faults.faults import faults_for
from engine.parts.bulk import BulkSpec
from tests.helpers.protocols import Hands, on, recording, stage_of
from tests.sixth.mdp import SYSTEM

NAME = SYSTEM.name
SIZES = [(120, 36), (80, 24), (60, 18)]


async def said(hands: Hands, tasks: int = 3) -> None:
    hands.lab.run(BulkSpec("ping", tasks, 0, 2))
    hands.lab.advance(0.5)
    await hands.pass_time(0.25)


@pytest.mark.parametrize("size", SIZES)
def test_the_main_screen_and_its_runs(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(hands: Hands) -> None:
        assert hands.shows(NAME) and hands.shows("● ready")
        await hands.press("p")
        hands.lab.advance(3.0)
        await hands.pass_time(0.25)
        assert hands.lab.run_view().passed and hands.lab.run_view().spec.n == 100
        assert size[0] < 80 or (hands.shows("bulkping 100") and hands.shows("PASS"))
        await hands.press("d")
        hands.lab.advance(3.0)
        await hands.pass_time(0.25)
        assert hands.lab.run_view().passed and hands.lab.run_view().spec.kind == "data"
        await hands.press("plus")
        hands.lab.advance(2.0)
        await hands.pass_time(0.25)
        assert len(hands.lab.feed.pictures["broker"].workers) == 3

    on(stage_of(NAME, tasks=0), scenario, tmp_path, size)


def test_words_of_the_command_line_and_the_help(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.command("workers")
        assert hands.shows("2 workers in the table")
        await hands.press("escape", "question_mark")
        assert hands.shows("╭─ help") or hands.shows("help")
        await hands.press("escape", "r")
        assert hands.shows("runs")
        await hands.press("escape", "down", "enter")
        assert hands.shows("╭─ worker w")
        await hands.press("escape")

    on(stage_of(NAME), scenario, tmp_path)


def test_the_chosen_worker_is_stopped(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("down", "k", "y")
        hands.lab.advance(2.0)
        await hands.pass_time(0.25)
        assert len(hands.lab.feed.pictures["broker"].workers) == 1

    on(stage_of(NAME), scenario, tmp_path)


@pytest.mark.parametrize("size", SIZES)
def test_the_protocol_screen_is_the_general_one(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("v")
        assert hands.shows("╭─ Majordomo · seed RFC 7") and hands.shows("service echo")
        await hands.press("escape")
        assert hands.at_main

    on(stage_of(NAME), scenario, tmp_path, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_trace_and_the_ladder(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T")
        await said(hands)
        assert hands.shows(f"trace · {NAME}") and hands.shows("REQUEST") and hands.shows("broker → client")
        await hands.press("L")
        assert hands.shows("▶│")
        await hands.press("escape", "T")
        await said(hands)
        await hands.press("enter")
        assert hands.shows("RFC 7")

    on(stage_of(NAME, tasks=0), scenario, tmp_path, size)


def test_a_task_is_followed_through_its_life(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T")
        await said(hands)
        await hands.filter("cmd=REPLY to=client* !mmi")
        await hands.press("F")
        for leg in ("sent", "accepted", "given", "taken", "answered", "returned", "relayed", "received"):
            assert hands.shows(f"  {leg} "), leg

    on(stage_of(NAME, tasks=0), scenario, tmp_path)


@pytest.mark.parametrize("size", SIZES)
def test_the_state_maps_and_who_broke_which_rule(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("M")
        assert isinstance(hands.app.screen, Lines) and hands.shows("Worker")
        await hands.press("escape", "C")
        assert isinstance(hands.app.screen, Lines)
        await hands.press("escape")
        assert hands.at_main

    on(stage_of(NAME), scenario, tmp_path, size)


@pytest.mark.parametrize("fault", [fault.name for fault in faults_for(SYSTEM)])
def test_every_fault_is_chosen_asked_for_and_watched(tmp_path: Path, fault: str) -> None:
    async def scenario(hands: Hands) -> None:
        target = next(one.targets for one in faults_for(SYSTEM) if one.name == fault)
        name = "w2" if "worker" in target else "".join(target)
        await hands.command(f"fault {fault} {name}".strip())
        assert isinstance(hands.app.session, SandboxSession) and hands.shows("The protocol promises:")
        await hands.press("y")
        sandbox = hands.app.session
        assert isinstance(sandbox, SandboxSession) and len(sandbox.watches) == 1
        sandbox.lab.advance(90.0)
        await hands.pass_time(0.25)
        assert sandbox.watches[0].held and hands.shows(" ✓ ")

    on(stage_of(NAME), scenario, tmp_path)


def test_the_list_of_faults_and_a_step(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("Z")
        assert isinstance(hands.app.screen, SandboxScreen)
        await hands.press("n")
        assert isinstance(hands.app.session, SandboxSession) and hands.app.session.steps == 1
        await hands.press("f")
        assert hands.shows("which fault?") and hands.shows("freeze WORKER|BROKER [SECONDS]")
        await hands.press("escape", "escape")
        assert hands.at_main

    on(stage_of(NAME), scenario, tmp_path)


def test_a_recording_forwards_and_backwards_and_why(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        assert isinstance(hands.app.session, BrokerReplay) and hands.shows(NAME)
        await hands.press("5", "full_stop")
        there = hands.lab.position
        await hands.press("full_stop")
        assert hands.lab.position > there
        await hands.press("comma")
        assert hands.lab.position == there
        await hands.press("end")
        assert hands.lab.replay.differences == []
        await hands.press("w")
        assert hands.shows("worker-")

    on(recording(tmp_path / "a.journal", NAME), scenario, tmp_path)
