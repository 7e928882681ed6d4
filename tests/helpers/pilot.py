"""Drive the console without a terminal: one scenario, one event loop, a lab that is a fake."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from console.app import Console
from console.kinds import session_of
from console.screens.main import Main
from tests.helpers.fake_lab import FakeLab, FakeLabs, FakeSettings
from tests.helpers.settle import QuietPilot

Scenario = Callable[["Driver"], Awaitable[None]]


class Driver:
    """What a scenario holds: the lab, the console, and hands."""

    def __init__(self, labs: FakeLabs, app: Console, pilot: Pilot[None]) -> None:
        self.labs, self.app, self.pilot = labs, app, pilot

    @property
    def lab(self) -> FakeLab:
        """The lab on the screen."""
        lab: FakeLab = self.labs.known[self.app.session.name]
        return lab

    @property
    def main(self) -> Main:
        """The main screen."""
        screen = self.app.screen_stack[0]
        assert isinstance(screen, Main)
        return screen

    @property
    def at_main(self) -> bool:
        """Whether the main screen is on top."""
        return self.app.screen is self.main

    async def press(self, *keys: str) -> None:
        """Press keys; a longer text is typed."""
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()

    async def scroll(self, key: str) -> None:
        """Press a key that scrolls, and wait until it is done."""
        await self.pilot.press(key)
        await self.pilot.wait_for_scheduled_animations()

    async def type(self, text: str) -> None:
        """Type a text."""
        names = {" ": "space", ":": "colon", "/": "slash", "!": "exclamation_mark", "^": "circumflex_accent"}
        await self.press(*(names.get(letter, letter) for letter in text))

    async def command(self, line: str) -> None:
        """Enter a command."""
        await self.press("colon")
        self.app.screen.query_one(Input).value = line
        await self.press("enter")

    async def tick(self, seconds: float = 0.25) -> None:
        """Let the lab go on and the screen refresh."""
        self.lab.advance(seconds)
        self.app.tick()
        await self.pilot.pause()

    def screen(self) -> list[str]:
        """What stands on the screen, line by line."""
        width, height = self.app.size
        strips = self.app.screen._compositor.render_strips(self.app.size)
        assert len(strips) == height
        return ["".join(segment.text for segment in strip)[:width] for strip in strips]

    def shows(self, text: str) -> bool:
        """Whether a text stands on the screen."""
        return any(text in line for line in self.screen())

    @property
    def notice(self) -> str:
        """What the main screen's last line says."""
        return self.main.keybar.notice


def drive(
    scenario: Scenario,
    folder: Path,
    *,
    lab: FakeLab | None = None,
    labs: FakeLabs | None = None,
    size: tuple[int, int] = (120, 36),
    settings: FakeSettings | None = None,
) -> Console:
    """Run a scenario to its end; the console, after it was left."""
    there = labs or FakeLabs(lab or FakeLab())
    first = next(iter(there.running))
    fake = there.running[first]
    session = session_of(first, fake, partial(there.order, first))
    app = Console(there, session, settings or FakeSettings(folder), clock=lambda: fake.at)

    async def run() -> None:
        async with app.run_test(size=size):
            driver = Driver(there, app, QuietPilot(app))
            await driver.tick()
            await scenario(driver)

    asyncio.run(run())
    return app
