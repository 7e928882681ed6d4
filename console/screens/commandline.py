"""The ``:`` line, over any screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import ComposeResult

from console.commands import Names, Word
from console.history import History
from console.screens.layer import Question
from console.widgets.prompt import Prompt


class CommandLine(Question[None]):
    """One line at the bottom of whatever is on the screen. ``entered`` gets what was typed, once the line is closed."""

    def __init__(self, history: History, words: tuple[Word, ...], names: Names, entered: Callable[[str], Any]) -> None:
        super().__init__()
        self.prompt = Prompt(history, words, names, id="prompt")
        self._entered = entered

    def compose(self) -> ComposeResult:
        """The line alone."""
        yield self.prompt

    def on_mount(self) -> None:
        """Open the line before the next key is handled."""
        self.prompt.open(":")

    def on_prompt_left(self) -> None:
        """Escape."""
        self.dismiss()

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        """Close, then do what was typed on the screen below."""
        self.dismiss()
        if event.line:
            self.app.call_next(self._entered, event.line)  # before the next key, and not within this closed screen
