"""A recording at the console: played, sought, stepped both ways, and always the same screen at the same place."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.sessions.replay import SPEEDS, ReplaySession
from engine.catalogue import SYSTEMS
from engine.labs.replay import Difference
from tests.helpers.protocols import User, on, recording


def session_of(user: User) -> ReplaySession:
    session = user.app.session
    assert isinstance(session, ReplaySession)
    return session


def still(user: User) -> list[str]:
    """The screen without how often it is drawn, and without dashes that move."""
    return [line for line in user.screen() if "Hz" not in line and "━" not in line]


@pytest.mark.parametrize("system", SYSTEMS)
def test_stepping_backwards_shows_the_same_screens_as_forwards(tmp_path: Path, system: str) -> None:
    async def scenario(user: User) -> None:
        await user.press("3")
        forwards: dict[int, list[str]] = {}
        for _ in range(10):
            await user.press("full_stop")
            forwards[user.lab.position] = still(user)
        assert len(forwards) == 10 and len({"\n".join(screen) for screen in forwards.values()}) > 3
        for _ in range(9):
            await user.press("comma")
            assert still(user) == forwards[user.lab.position], user.lab.position
        await user.press("end", "3", "full_stop")
        assert still(user) == forwards[user.lab.position]

    on(recording(tmp_path / "a.journal", system), scenario, tmp_path)


def test_seeking_by_seconds_tenths_and_to_the_ends(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        lab = user.lab

        def at() -> float:
            return round(float(lab.now - lab.started), 6)

        await user.press("right", "right", "right")
        assert at() == 3.0 and user.shows("3.0000 of 12.10 s")
        await user.press("left")
        assert at() == 2.0
        await user.press("shift+right", "shift+left")
        assert at() == 2.0
        await user.press("5")
        assert at() == pytest.approx((lab.end - lab.started) / 2)
        await user.press("end")
        assert lab.position == lab.last and user.shows(f"record {lab.last:,} of {lab.last:,}")
        await user.press("full_stop")
        assert user.shows("this is the end")
        await user.press("home")
        assert lab.position == 0
        await user.press("comma")
        assert user.shows("this is the beginning")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_it_plays_at_a_speed_holds_and_ends(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        lab, session = user.lab, session_of(user)
        await user.pass_time(0.5)
        assert lab.position == 0
        await user.press("space")
        before = lab.now
        await user.pass_time(0.25)
        assert lab.now - before == pytest.approx(0.25) and user.shows(" ▶ ×1 ")
        await user.press("plus")
        before = lab.now
        await user.pass_time(0.25)
        assert lab.now - before == pytest.approx(0.5) and SPEEDS[session.transport.speed] == 2.0
        await user.press("space")
        before = lab.now
        await user.pass_time(0.25)
        assert lab.now == before and user.shows(" ‖ ×2 ")
        await user.press(*["plus"] * 9, "space")
        await user.pass_time(0.5)
        assert lab.position == lab.last and user.shows(" ‖ ")
        await user.press("minus", "space")
        assert user.shows(" ▶ ") and lab.position < lab.last, "at the end it begins anew"

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_it_is_said_whether_the_cores_do_what_was_recorded(tmp_path: Path) -> None:
    lab = recording(tmp_path / "a.journal")

    async def scenario(user: User) -> None:
        assert user.shows("✓ replayed as recorded")
        lab.replay.differences.append(Difference(3, lab.started + 1.5, "broker", "bro\x1bker"))
        await user.pass_time(0.25)
        assert user.shows("× 1 differences, first 1.500 s by bro·ker")
        lab.replay.cut = "block 3 is cut"
        await user.pass_time(0.25)
        assert user.shows("cut: block 3 is cut; it ends at its last whole block")
        lab.broken = "KeyError: 3"
        await user.pass_time(0.25)
        assert user.shows("ends where a core could not go on")

    on(lab, scenario, tmp_path)


def test_why_the_last_task_was_given_to_its_worker(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("w")
        assert user.shows("no task was given lately")
        await user.press("4", "w")
        assert user.shows("╭─ why?") and user.shows("was given task")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_orders_are_refused_and_typing_moves_nothing(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.command("bulkping 5")
        assert user.shows("a recording takes no orders")
        await user.press("3")
        position = user.lab.position
        await user.press("slash", "1", "full_stop", "space", "left", "home", "enter")
        assert user.lab.position == position and user.shows("/1. "), "they are letters of the filter"
        await user.press("escape", "x", "ctrl+k", "p")
        assert user.lab.position == position

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_there_is_nothing_beside_a_recording(tmp_path: Path) -> None:
    lab = recording(tmp_path / "a.journal")

    async def scenario(user: User) -> None:
        await user.press("T", "2")
        assert user.shows("╭─ trace") or user.shows("nothing beside a recording")
        await user.press("escape")
        assert user.at_main

    on(lab, scenario, tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (60, 18), (120, 36)])
def test_the_bar_fits_everywhere(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(user: User) -> None:
        await user.press("7")
        bar = user.line("●─") if size[0] >= 80 else user.line(" ‖ ")
        assert bar.startswith(" ‖ ×1 ━") and bar.rstrip().endswith(" s")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path, size)


def test_its_help_is_about_recordings(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("question_mark")
        assert user.shows("recording") and user.shows("space") and user.shows("go back one second")
        assert not user.shows("bulkping: 100 pings") and not user.shows("to pingpong")
        assert user.line("go on one message").split()[1] == "."

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)
