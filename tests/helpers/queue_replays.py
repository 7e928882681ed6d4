"""The console on a recording of disk queues, and hands on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from console.app import Console
from console.kinds import session_of
from engine.labs.queuereplaylab import QueueReplayLab
from tests.helpers.fake_lab import FakeSettings
from tests.helpers.fake_queues import QueueDriver
from tests.helpers.queue_recordings import opened, write
from tests.helpers.settle import QuietPilot


class Viewer(QueueDriver):
    """An operator at a recording."""

    @property
    def recording(self) -> QueueReplayLab:
        lab = self.app.lab
        assert isinstance(lab, QueueReplayLab)
        return lab

    def still(self) -> list[str]:
        """The screen without how often it is drawn, and without dashes that move."""
        return [line for line in self.screen() if "Hz" not in line and "━" not in line]


def watch(scenario: Callable[[Viewer], Awaitable[None]], folder: Path, size: tuple[int, int] = (120, 36)) -> Console:
    now = [0.0]
    lab = opened(write(folder / "a.journal"))
    app = Console(None, session_of(lab.system.name, lab), FakeSettings(folder), clock=lambda: now[0])

    async def run() -> None:
        async with app.run_test(size=size):
            pilot = QuietPilot(app)
            viewer = Viewer(now, app, pilot)  # type: ignore[arg-type]
            await pilot.pause()
            await scenario(viewer)

    asyncio.run(run())
    return app
