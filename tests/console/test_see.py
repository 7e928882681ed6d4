"""Which screen opens for what is on the screen, and what takes its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.machines import Lines
from console.screens.messages import LadderScreen, TraceScreen
from tests.helpers.protocols import User, on, recording, running_sandbox

KEYS: dict[str, type[object]] = {"T": TraceScreen, "L": LadderScreen, "M": Lines, "C": Lines}


def test_one_takes_the_place_of_another_and_one_escape_leads_back(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        for key in ("T", "L", "T", "M", "C", "M", "L", "T"):
            await user.press(key)
            top: object = user.app.screen
            assert isinstance(top, KEYS[key])
            assert len(user.app.screen_stack) == 2, key
        await user.press("escape")
        assert user.at_main and len(user.lab.taps) == 1
        await user.command("trace off")
        assert user.lab.taps == ()

    on(running_sandbox(), scenario, tmp_path)


@pytest.mark.parametrize("key", KEYS)
def test_a_recording_has_them_too(tmp_path: Path, key: str) -> None:
    async def scenario(user: User) -> None:
        user.lab.seek_time(user.lab.started + 4.0)
        user.app.tick()
        await user.press(key)
        top: object = user.app.screen
        assert isinstance(top, KEYS[key]) and not user.shows("nothing was said")
        await user.press("escape")
        assert user.at_main

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_help_explains_every_one_of_their_keys(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("question_mark")
        seen: list[str] = []
        for _ in range(12):
            seen += user.screen()
            await user.press("pagedown")
            await user.pilot.wait_for_scheduled_animations()
        text = "\n".join(seen)
        for words in (
            "the protocol made visible", "trace and ladder", "list every message", "step to the next message",
            "promises are shown before", "go back ten seconds", "go to 30 % of the recording", "fault FAULT [TARGET]",
        ):  # fmt: skip
            assert words in text, words

    on(running_sandbox(), scenario, tmp_path)
