"""The filter line: it begins with what is set, filters or marks while it is typed, and escape clears it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.app import App, ComposeResult
from textual.widgets import Input

from console.history import History
from console.screens.filterline import FilterLine
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from console.widgets.prompt import Prompt
from tests.helpers.settle import QuietPilot


class Digits(FilterLine):
    """Takes filters of digits alone."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self.keybar, self.prompt, self.page = KeyBar(id="keys"), Prompt(history, id="prompt"), Pager(id="page")
        self.text, self.tried = "12", list[str]()

    def compose(self) -> ComposeResult:
        yield self.page
        yield self.keybar
        yield self.prompt

    def on_mount(self) -> None:
        self.prompt.display = False

    @property
    def listed(self) -> Pager:
        return self.page

    @property
    def filtered(self) -> str:
        return self.text

    def perform_filter(self, text: str) -> None:
        self.text = text

    def try_filter(self, text: str) -> str:
        self.tried.append(text)
        return "" if text.isdecimal() else "no digits"


def test_a_filter_is_typed_tried_entered_and_cleared(tmp_path: Path) -> None:
    async def scenario() -> None:
        app = App[None]()
        async with app.run_test(size=(80, 24)) as plain:
            pilot = QuietPilot(plain.app)
            screen = Digits(History(tmp_path / "history"))
            await app.push_screen(screen)
            await pilot.pause()
            line = screen.prompt.query_one(Input)

            screen.action_filter()
            await pilot.pause()
            assert (line.value, screen.keybar.display, screen.prompt.display) == ("12", False, True)
            await pilot.press("x")
            assert screen.tried[-1] == "12x" and screen.text == "12", "it is only tried while it is typed"
            await pilot.press("backspace", "3", "enter")
            assert (screen.text, screen.focused, screen.keybar.display) == ("123", screen.page, True)

            screen.action_filter()
            await pilot.press("escape")
            assert (screen.text, screen.focused, screen.prompt.display) == ("", screen.page, False)

    asyncio.run(scenario())
