"""The line that is typed into: ``:`` for a command, ``/`` for a filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from console.commands import WORDS, Word, complete
from console.history import History


class Words(Suggester):
    """Completes the first word of a command."""

    def __init__(self, words: Sequence[Word]) -> None:
        super().__init__(use_cache=False)
        self._words = words

    async def get_suggestion(self, value: str) -> str | None:
        """The word that fits, if it is more than what stands there."""
        return complete(value, self._words)


class Prompt(Horizontal):
    """One line at the bottom of the screen, shown while something is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False),
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
        Binding("tab", "complete", show=False, priority=True),
    ]

    class Entered(Message):
        """A line was typed."""

        def __init__(self, sign: str, line: str) -> None:
            super().__init__()
            self.sign, self.line = sign, line

    class Edited(Message):
        """The filter has another text now."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    class Left(Message):
        """The line was given up."""

        def __init__(self, sign: str) -> None:
            super().__init__()
            self.sign = sign

    def __init__(self, history: History, words: Sequence[Word] = WORDS, *, id: str | None = None) -> None:
        """``words``: what can be typed after the ``:``."""
        super().__init__(id=id)
        self.history = history
        self.words = words
        self.sign = ":"
        self._sign = Static(":", id="sign", markup=False)  # both are there before they are shown: keys may be faster
        self._line = Input(id="line", compact=True, suggester=Words(words), select_on_focus=False)

    def compose(self) -> ComposeResult:
        """The sign and the line."""
        yield self._sign
        yield self._line

    def open(self, sign: str, text: str = "") -> None:
        """Begin a line."""
        self.sign = sign
        self.history.rewind()
        self._sign.update(sign)
        line = self._line
        line.suggester = Words(self.words) if sign == ":" else None
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        self.display = True
        self.screen.set_focus(line)  # at once: what is typed ahead belongs to the line, and must not be orders

    def close(self) -> None:
        """Hide the line."""
        self.display = False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        self.post_message(self.Entered(self.sign, event.value.strip()))

    def on_input_changed(self, event: Input.Changed) -> None:
        """A filter works while it is typed."""
        event.stop()
        if self.sign == "/":
            self.post_message(self.Edited(event.value))

    def action_cancel(self) -> None:
        """Escape."""
        self.post_message(self.Left(self.sign))

    def action_complete(self) -> None:
        """Tab."""
        word = complete(self._line.value, self.words) if self.sign == ":" else None
        if word is not None:
            self._set(word)

    def action_older(self) -> None:
        """Up."""
        if self.sign == ":":
            self._set(self.history.older(self._line.value))

    def action_newer(self) -> None:
        """Down."""
        if self.sign == ":":
            self._set(self.history.newer(self._line.value))

    def _set(self, text: str) -> None:
        self._line.value = text
        self._line.cursor_position = len(text)
