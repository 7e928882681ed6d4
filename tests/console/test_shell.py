"""What every console is, with a screen of its own that shows numbers."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import pytest
from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen

from console import keys
from console.history import History
from console.screens.page import Page
from console.shell import AHEAD, Shell
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from tests.helpers.fake_lab import FakeSettings
from tests.helpers.settle import QuietPilot


class Numbers(Screen[None]):
    """Keeps the pictures that it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def compose(self) -> ComposeResult:
        yield KeyBar(id="keys")

    def show(self, picture: int) -> None:
        self.seen.append(picture)


class Counting(Shell):
    def __init__(self, settings: FakeSettings) -> None:
        self.numbers, self.count = Numbers(), itertools.count()
        super().__init__(settings, History(settings.state_folder / "history"), self.numbers, clock=lambda: 0.0)

    def offered(self) -> Iterable[keys.Key]:
        return (keys.MAIN[0],)

    def look(self) -> int:
        return next(self.count)

    words = ()

    def names_of(self, what: str) -> tuple[str, ...]:
        return ()

    def entered(self, line: str) -> None:
        self.say(line)

    def action_ask_to_quit(self) -> None:
        self.exit()

    def help_lines(self, shown: dict[str, str]) -> list[Parts]:
        return [[(f"quit is {shown['quit']}", "text")]]


def drive(scenario: Callable[[Counting, Pilot[None]], Awaitable[None]], settings: FakeSettings) -> Counting:
    app = Counting(settings)

    async def run() -> None:
        async with app.run_test(size=(60, 10)):
            await scenario(app, QuietPilot(app))

    asyncio.run(run())
    return app


def test_only_a_screen_on_top_that_shows_pictures_gets_them(tmp_path: Path) -> None:
    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        await pilot.pause()
        app.tick()
        app.tick()
        seen = list(app.numbers.seen)
        assert seen == sorted(seen) and len(seen) >= 2
        await pilot.press("question_mark")
        assert isinstance(app.screen, Page)
        app.tick()
        await pilot.press("escape")
        before = list(app.numbers.seen)
        app.tick()
        assert app.numbers.seen[: len(before)] == before and len(app.numbers.seen) > len(before)

    drive(scenario, FakeSettings(tmp_path))


def test_help_knows_the_keys_as_they_are_and_the_palette_what_is_offered(tmp_path: Path) -> None:
    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        offered = [command.help for command in app.get_system_commands(app.screen)]
        assert offered == [keys.MAIN[0].help, *(key.help for key in keys.APP)]
        await pilot.press("f1")
        text = "".join(segment.text for strip in app.screen._compositor.render_strips(app.size) for segment in strip)
        assert "quit is f9" in text

    drive(scenario, FakeSettings(tmp_path, keymap={"quit": "f9"}))


def test_keys_that_wait_when_a_signal_comes_are_left_out(tmp_path: Path) -> None:
    """Thousands of keys can wait, where a screen is slow: a signal would wait until all of them are done."""
    done: list[str] = []

    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        began, taken = asyncio.Event(), asyncio.Event()

        async def slow(event: events.Key) -> None:
            done.append(event.key)
            began.set()
            await taken.wait()

        app.numbers.key_a = slow  # type: ignore[attr-defined]
        for _ in range(1000):
            app.post_message(events.Key("a", "a"))
        await began.wait()
        app.hang_up()
        taken.set()

    drive(scenario, FakeSettings(tmp_path))
    assert 1 <= len(done) <= AHEAD + 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(tmp_path: Path, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the suite runs in the background, where this signal is ignored")

    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        signal.raise_signal(number)
        await pilot.pause()
        await pilot.pause()
        assert not app.is_running

    app = drive(scenario, FakeSettings(tmp_path))
    assert (app.signal_received, app.return_code) == (number, 128 + number)


def test_a_terminal_that_is_gone_ends_it_as_sighup_does(tmp_path: Path) -> None:
    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        app.hang_up()
        app.hang_up()
        await pilot.pause()

    assert drive(scenario, FakeSettings(tmp_path)).signal_received == signal.SIGHUP


def test_a_beat_draws_only_when_the_screen_can_be_afforded(tmp_path: Path) -> None:
    class Asked:
        answer = False

        def due(self) -> bool:
            return self.answer

    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        await pilot.pause()
        app._governor = calm = Asked()  # type: ignore[assignment]
        seen = len(app.numbers.seen)
        app._beat()
        assert len(app.numbers.seen) == seen
        calm.answer = True
        app._beat()
        assert len(app.numbers.seen) > seen

    drive(scenario, FakeSettings(tmp_path))


def test_a_key_waits_until_the_screen_that_it_is_for_is_built(tmp_path: Path) -> None:
    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        other = Numbers()
        app.push_screen(other)
        assert not other.is_mounted
        await app.on_event(events.Key("z", "z"))
        assert other.is_mounted

    drive(scenario, FakeSettings(tmp_path))


def test_keys_after_the_end_are_for_nobody(tmp_path: Path) -> None:
    async def scenario(app: Counting, pilot: Pilot[None]) -> None:
        app.exit()
        await app.on_event(events.Key("question_mark", "?"))
        assert app.screen is app.numbers

    drive(scenario, FakeSettings(tmp_path))
