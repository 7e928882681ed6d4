"""A recording at the console: played, sought, stepped both ways, and always the same screen at the same place."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.sessions.replay import SPEEDS, BrokerReplay
from engine.catalogue import SYSTEMS
from engine.labs.replay import Difference
from tests.helpers.protocols import Hands, on, recording


def session_of(hands: Hands) -> BrokerReplay:
    session = hands.app.session
    assert isinstance(session, BrokerReplay)
    return session


def still(hands: Hands) -> list[str]:
    """The screen without how often it is drawn, and without dashes that move."""
    return [line for line in hands.screen() if "Hz" not in line and "━" not in line]


@pytest.mark.parametrize("system", SYSTEMS)
def test_stepping_backwards_shows_the_same_screens_as_forwards(tmp_path: Path, system: str) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("3")
        forwards: dict[int, list[str]] = {}
        for _ in range(10):
            await hands.press("full_stop")
            forwards[hands.lab.position] = still(hands)
        assert len(forwards) == 10 and len({"\n".join(screen) for screen in forwards.values()}) > 3
        for _ in range(9):
            await hands.press("comma")
            assert still(hands) == forwards[hands.lab.position], hands.lab.position
        await hands.press("end", "3", "full_stop")
        assert still(hands) == forwards[hands.lab.position]

    on(recording(tmp_path / "a.journal", system), scenario, tmp_path)


def test_seeking_by_seconds_tenths_and_to_the_ends(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        lab = hands.lab

        def at() -> float:
            return round(float(lab.now - lab.started), 6)

        await hands.press("right", "right", "right")
        assert at() == 3.0 and hands.shows("3.0000 of 12.10 s")
        await hands.press("left")
        assert at() == 2.0
        await hands.press("shift+right", "shift+left")
        assert at() == 2.0
        await hands.press("5")
        assert at() == pytest.approx((lab.end - lab.started) / 2)
        await hands.press("end")
        assert lab.position == lab.last and hands.shows(f"record {lab.last:,} of {lab.last:,}")
        await hands.press("full_stop")
        assert hands.shows("this is the end")
        await hands.press("home")
        assert lab.position == 0
        await hands.press("comma")
        assert hands.shows("this is the beginning")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_it_plays_at_a_speed_holds_and_ends(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        lab, session = hands.lab, session_of(hands)
        await hands.pass_time(0.5)
        assert lab.position == 0
        await hands.press("space")
        before = lab.now
        await hands.pass_time(0.25)
        assert lab.now - before == pytest.approx(0.25) and hands.shows(" ▶ ×1 ")
        await hands.press("plus")
        before = lab.now
        await hands.pass_time(0.25)
        assert lab.now - before == pytest.approx(0.5) and SPEEDS[session.transport.speed] == 2.0
        await hands.press("space")
        before = lab.now
        await hands.pass_time(0.25)
        assert lab.now == before and hands.shows(" ‖ ×2 ")
        await hands.press(*["plus"] * 9, "space")
        await hands.pass_time(0.5)
        assert lab.position == lab.last and hands.shows(" ‖ ")
        await hands.press("minus", "space")
        assert hands.shows(" ▶ ") and lab.position < lab.last, "at the end it begins anew"

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_it_is_said_whether_the_cores_do_what_was_recorded(tmp_path: Path) -> None:
    lab = recording(tmp_path / "a.journal")

    async def scenario(hands: Hands) -> None:
        assert hands.shows("✓ replayed as recorded")
        lab.replay.differences.append(Difference(3, lab.started + 1.5, "broker", "bro\x1bker"))
        await hands.pass_time(0.25)
        assert hands.shows("× 1 differences, first 1.500 s by bro·ker")
        lab.replay.cut = "block 3 is cut"
        await hands.pass_time(0.25)
        assert hands.shows("cut: block 3 is cut; it ends at its last whole block")
        lab.broken = "KeyError: 3"
        await hands.pass_time(0.25)
        assert hands.shows("ends where a core could not go on")

    on(lab, scenario, tmp_path)


def test_why_the_last_task_was_given_to_its_worker(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("w")
        assert hands.shows("no task was given lately")
        await hands.press("4", "w")
        assert hands.shows("╭─ why?") and hands.shows("was given task")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_orders_are_refused_and_typing_moves_nothing(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.command("bulkping 5")
        assert hands.shows("a recording takes no orders")
        await hands.press("3")
        position = hands.lab.position
        await hands.press("slash", "1", "full_stop", "space", "left", "home", "enter")
        assert hands.lab.position == position and hands.shows("/1. "), "they are letters of the filter"
        await hands.press("escape", "x", "k", "p")
        assert hands.lab.position == position

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_there_is_nothing_beside_a_recording(tmp_path: Path) -> None:
    lab = recording(tmp_path / "a.journal")

    async def scenario(hands: Hands) -> None:
        await hands.press("T", "2")
        assert hands.shows("╭─ trace") or hands.shows("nothing beside a recording")
        await hands.press("escape")
        assert hands.at_main

    on(lab, scenario, tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (60, 18), (120, 36)])
def test_the_bar_fits_everywhere(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("7")
        bar = hands.line("●─") if size[0] >= 80 else hands.line(" ‖ ")
        assert bar.startswith(" ‖ ×1 ━") and bar.rstrip().endswith(" s")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path, size)


def test_its_help_is_about_recordings(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("question_mark")
        assert hands.shows("recording") and hands.shows("space") and hands.shows("back by a second")
        assert not hands.shows("bulkping: 100 pings") and not hands.shows("to pingpong")
        assert hands.line("on by one message").split()[1] == "."

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)
