"""The sixth system on every screen of the console: none of them was written for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.machines import Lines
from console.screens.sandbox import SandboxScreen
from console.sessions.replay import ReplaySession
from console.sessions.sandbox import SandboxSession
from engine.faults.faults import faults_for
from engine.parts.bulk import BulkSpec
from tests.helpers.protocols import User, on, recording, running_sandbox
from tests.sixth.mdp import SYSTEM

NAME = SYSTEM.name
SIZES = [(120, 36), (80, 24), (60, 18)]


def test_the_table_shows_who_gets_the_next_request(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        ready = user.lab.feed.pictures["broker"].order
        places = {row.worker.key: row.place for row in user.app.session.picture.rows}
        assert len(ready) == 2 and [places[key] for key in ready] == [1, 2]
        assert user.shows(" order ") and user.shows(" next ")

    on(running_sandbox(NAME, tasks=0), scenario, tmp_path, SIZES[0])


async def said(user: User, tasks: int = 3) -> None:
    user.lab.run(BulkSpec("ping", tasks, 0, 2))
    user.lab.advance(0.5)
    await user.pass_time(0.25)


@pytest.mark.parametrize("size", SIZES)
def test_the_main_screen_and_its_runs(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(user: User) -> None:
        assert user.shows(NAME) and user.shows("● ready")
        await user.press("p")
        user.lab.advance(3.0)
        await user.pass_time(0.25)
        assert user.lab.run_view().passed and user.lab.run_view().spec.n == 100
        assert size[0] < 80 or (user.shows("bulkping 100") and user.shows("PASS"))
        await user.press("plus")
        user.lab.advance(2.0)
        await user.pass_time(0.25)
        assert len(user.lab.feed.pictures["broker"].workers) == 3

    on(running_sandbox(NAME, tasks=0), scenario, tmp_path, size)


def test_a_run_of_data(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("d")
        user.lab.advance(12.0)
        await user.pass_time(0.25)
        assert user.lab.run_view().passed and user.lab.run_view().spec.kind == "data"

    on(running_sandbox(NAME, tasks=0), scenario, tmp_path)


def test_words_of_the_command_line_and_the_help(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.command("workers")
        assert user.shows("2 workers in the table")
        await user.press("escape", "question_mark")
        assert user.shows("╭─ help") or user.shows("help")
        await user.press("escape", "r")
        assert user.shows("runs")
        await user.press("escape", "down", "enter")
        assert user.shows("╭─ worker w")
        await user.press("escape")

    on(running_sandbox(NAME), scenario, tmp_path)


def test_the_chosen_worker_is_stopped(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("down", "ctrl+k", "y")
        user.lab.advance(2.0)
        await user.pass_time(0.25)
        assert len(user.lab.feed.pictures["broker"].workers) == 1

    on(running_sandbox(NAME), scenario, tmp_path)


@pytest.mark.parametrize("size", SIZES)
def test_the_protocol_screen_is_the_general_one(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(user: User) -> None:
        await user.press("v")
        assert user.shows("╭─ Majordomo · seed RFC 7") and user.shows("service echo")
        await user.press("escape")
        assert user.at_main

    on(running_sandbox(NAME), scenario, tmp_path, size)


@pytest.mark.parametrize("size", SIZES)
def test_the_trace_and_the_ladder(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await said(user)
        assert user.shows(f"trace · {NAME}") and user.shows("REQUEST") and user.shows("broker → client")
        await user.press("L")
        assert user.shows("▶│")
        await user.press("escape", "T")
        await said(user)
        await user.press("enter")
        assert user.shows("RFC 7")

    on(running_sandbox(NAME, tasks=0), scenario, tmp_path, size)


def test_a_task_is_followed_through_its_life(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await said(user)
        await user.filter("cmd=REPLY to=client* !mmi")
        await user.press("F")
        for leg in ("sent", "accepted", "given", "taken", "answered", "returned", "relayed", "received"):
            assert user.shows(f"  {leg} "), leg

    on(running_sandbox(NAME, tasks=0), scenario, tmp_path)


@pytest.mark.parametrize("size", SIZES)
def test_the_state_maps_and_who_broke_which_rule(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(user: User) -> None:
        await user.press("M")
        assert isinstance(user.app.screen, Lines) and user.shows("Worker")
        await user.press("escape", "C")
        assert isinstance(user.app.screen, Lines)
        await user.press("escape")
        assert user.at_main

    on(running_sandbox(NAME), scenario, tmp_path, size)


@pytest.mark.parametrize("fault", [fault.name for fault in faults_for(SYSTEM)])
def test_every_fault_is_chosen_asked_for_and_watched(tmp_path: Path, fault: str) -> None:
    async def scenario(user: User) -> None:
        target = next(one.targets for one in faults_for(SYSTEM) if one.name == fault)
        name = "w2" if "worker" in target else "".join(target)
        await user.command(f"fault {fault} {name}".strip())
        assert isinstance(user.app.session, SandboxSession) and user.shows("The protocol promises:")
        await user.press("y")
        sandbox = user.app.session
        assert isinstance(sandbox, SandboxSession) and len(sandbox.watches) == 1
        sandbox.lab.advance(90.0)
        await user.pass_time(0.25)
        assert sandbox.watches[0].held and user.shows(" ✓ ")

    on(running_sandbox(NAME), scenario, tmp_path)


def test_the_list_of_faults_and_a_step(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("Z")
        assert isinstance(user.app.screen, SandboxScreen)
        await user.press("n")
        assert isinstance(user.app.session, SandboxSession) and user.app.session.steps == 1
        await user.press("f")
        assert user.shows("which fault?") and user.shows("freeze WORKER|BROKER [SECONDS]")
        await user.press("escape", "escape")
        assert user.at_main

    on(running_sandbox(NAME), scenario, tmp_path)


def test_a_recording_forwards_and_backwards_and_why(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        assert isinstance(user.app.session, ReplaySession) and user.shows(NAME)
        await user.press("5", "full_stop")
        there = user.lab.position
        await user.press("full_stop")
        assert user.lab.position > there
        await user.press("comma")
        assert user.lab.position == there
        await user.press("end")
        assert user.lab.replay.differences == []
        await user.press("w")
        assert user.shows("worker-")

    on(recording(tmp_path / "a.journal", NAME), scenario, tmp_path)
