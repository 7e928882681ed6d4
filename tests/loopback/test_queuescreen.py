"""The console of disk queues on its real demonstration: it flows, one document fails once, one twice, orders work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from textual.pilot import Pilot

from console.app import Console
from console.kinds import session_of
from engine.labs.queues import LiveQueueLab
from engine.protocols.diskqueue.options import Options
from tests.helpers.fake_lab import FakeSettings
from tests.helpers.processes import WAIT


def screen(app: Console) -> str:
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def shown(app: Console, pilot: Pilot[None], condition: Callable[[str], bool]) -> None:
    """Look until the screen shows it; fails by its deadline, never passes by it."""
    until = time.monotonic() + WAIT
    while not condition(screen(app)):
        assert time.monotonic() < until, screen(app)
        app.tick()
        await pilot.pause(0.05)


def test_the_demonstration_on_the_screen(tmp_path: Path) -> None:
    async def scenario(lab: LiveQueueLab) -> None:
        app = Console(None, session_of("diskqueue", lab), FakeSettings(tmp_path))
        async with app.run_test(size=(120, 36)) as pilot:
            await shown(app, pilot, lambda text: "● RUNNING" in text and "demonstration" in text)
            await pilot.press("p", "right")
            await shown(
                app, pilot, lambda text: "failed, to be tried again" in text and "failed twice, given up" in text
            )
            await shown(app, pilot, lambda text: "× failed twice" in text and "✓ published" in text)
            await pilot.press("down", "enter")
            await shown(app, pilot, lambda text: "failed twice, was given up" in text and "attempt 2 failed" in text)
            await pilot.press("R")
            await shown(app, pilot, lambda text: "is tried again" in text)
            await pilot.press("escape", "tab", "ctrl+k")
            await shown(app, pilot, lambda text: "Kill driver" in text and "of parse?" in text)
            await pilot.press("y")
            await shown(app, pilot, lambda text: "1 died" in text)
            await pilot.press("h")
            await shown(app, pilot, lambda text: "◇ paused" in text and "● PAUSED" in text)

    with LiveQueueLab(Options(poll=0.1)) as lab:
        asyncio.run(scenario(lab))
        pids = [driver.pid for driver in lab.view().drivers]
    assert pids and not any(psutil.pid_exists(pid) for pid in pids)
    assert not Path(lab.root).exists()
