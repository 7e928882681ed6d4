"""The console on a sandbox or a recording: real cores, virtual time, the same screens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from console.app import Console
from console.kinds import kind_of, session_of
from console.sessions.sandbox import SandboxSession
from engine.catalogue import SYSTEMS
from engine.journal.read import read
from engine.labs.lab import Mode
from engine.labs.replaylab import ReplayLab
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from tests.helpers.fake_lab import FakeSettings
from tests.helpers.settle import QuietPilot


class User:
    """A user at the console: presses keys and reads the screen; the clock moves only when a test says so."""

    def __init__(self, lab: Any, app: Console, pilot: Pilot[None], clock: list[float]) -> None:
        self.lab, self.app, self.pilot, self._clock = lab, app, pilot, clock

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()

    async def filter(self, text: str) -> None:
        """Set a filter."""
        await self._line("slash", text)

    async def command(self, text: str) -> None:
        """Enter a command."""
        await self._line("colon", text)

    async def _line(self, key: str, text: str) -> None:
        await self.press(key)
        self.app.screen.query_one("#prompt").query_one(Input).value = text
        await self.press("enter")

    async def pass_time(self, seconds: float) -> None:
        """Real time."""
        self._clock[0] += seconds
        self.app.tick()
        await self.pilot.pause()

    @property
    def at_main(self) -> bool:
        """Whether the first screen of whatever stands in front is on top."""
        return bool(self.app.screen is self.app.main)

    def screen(self) -> list[str]:
        """What stands on the screen, line by line."""
        width, _ = self.app.size
        return ["".join(segment.text for segment in strip)[:width] for strip in self.strips()]

    def strips(self) -> list[Strip]:
        """The same with its colours."""
        return self.app.screen._compositor.render_strips(self.app.size)

    def shows(self, text: str) -> bool:
        return any(text in line for line in self.screen())

    def line(self, text: str) -> str:
        """The first line with this text."""
        return next(line for line in self.screen() if text in line)


Scenario = Callable[[User], Awaitable[None]]


class LikeLive(Sandbox):
    """A sandbox that the console takes for a system that runs."""

    mode: ClassVar[Mode] = "live"


def sandbox_session(system: str) -> SandboxSession:
    """The console's sandbox of a system."""
    lab = SimpleNamespace(system=SYSTEMS[system], options=SYSTEMS[system].options())
    session = session_of("", kind_of(lab.system).sandbox(lab))
    assert isinstance(session, SandboxSession)
    return session


def running_sandbox(system: str = "roundrobin", *, workers: int = 2, tasks: int = 3) -> LikeLive:
    """Workers that have joined, and a run that has ended."""
    sandbox = LikeLive(SYSTEMS[system], workers=workers, slots=2)
    sandbox.open()
    sandbox.speed = 1.0
    sandbox.advance(3.0)
    if tasks:
        sandbox.run(BulkSpec("ping", tasks, 0, 2))
        sandbox.advance(2.0)
    return sandbox


def recording(path: Path, system: str = "roundrobin", tasks: int = 10) -> ReplayLab:
    """A recorded run in the middle of which a worker is killed."""
    with Sandbox(SYSTEMS[system], workers=2, slots=2, journal=path) as sandbox:
        sandbox.advance(3.0)
        sandbox.run(BulkSpec("ping", tasks, 0, 4, 50.0))
        sandbox.advance(0.1)
        sandbox.kill("worker-2")
        sandbox.advance(9.0)
    return ReplayLab(read(path, SYSTEMS), SYSTEMS)


def on(lab: Any, scenario: Scenario, folder: Path, size: tuple[int, int] = (120, 36)) -> Console:
    """Run a scenario on a lab to its end."""
    clock = [lab.now if isinstance(lab, LikeLive) else 1000.0]  # so that it has run for as long as its time says
    settings = FakeSettings(folder)
    app = Console(None, session_of(lab.system.name, lab), settings, clock=lambda: clock[0])
    if isinstance(lab, LikeLive):
        app.wall = lambda: lab.began + lab.now  # the time that its events have

    async def run() -> None:
        async with app.run_test(size=size):
            user = User(lab, app, QuietPilot(app), clock)
            await user.pass_time(0.25)
            await scenario(user)

    asyncio.run(run())
    return app
