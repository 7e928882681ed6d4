"""The line that is typed into: ``:`` for a command, ``/`` for a filter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.message_pump import MessagePump
from textual.suggester import Suggester
from textual.widgets import Input, Static

from console.commands import WORDS, Names, Word, complete, completions
from console.history import History
from console.text import clean

PATIENCE = 5.0  # seconds that a key waits for those before it at most


async def drained(*pumps: MessagePump) -> None:
    """Return when each of them, one after the other, has handled all that it was sent until then."""
    for pump in pumps:
        done = asyncio.Event()
        if pump.call_later(done.set):
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), PATIENCE)


def in_common(lines: Sequence[str]) -> str:
    """With what all of them begin; at least one is given."""
    first, last = min(lines), max(lines)
    return first[: next((at for at, letter in enumerate(first) if last[at : at + 1] != letter), len(first))]


def _nobody(what: str) -> Sequence[str]:
    return ()


class Words(Suggester):
    """Completes the word of a command that is being typed."""

    def __init__(self, words: Sequence[Word], names: Names) -> None:
        super().__init__(use_cache=False)
        self._words, self._names = words, names

    async def get_suggestion(self, value: str) -> str | None:
        """The word that fits, if it is longer than what is typed."""
        return complete(value, self._words, self._names)


class Prompt(Horizontal):
    """One line at the bottom of the screen, shown while something is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, action, show=False, priority=True)
        for key, action in (
            ("enter", "enter"),
            ("escape", "cancel"),
            ("up", "older"),
            ("down", "newer"),
            ("tab", "complete"),
        )
    ]
    """They come before everything else, and before the next key: that may be for whoever the line gives way to."""

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

    def __init__(
        self, history: History, words: Sequence[Word] = WORDS, names: Names = _nobody, *, id: str | None = None
    ) -> None:
        """``words``: what can be typed after the ``:``. ``names``: what their arguments may be."""
        super().__init__(id=id)
        self.history = history
        self.words, self.names = words, names
        self._offered: list[str] = []  # what tab goes through
        self.sign = ":"
        self._sign = Static(":", id="sign", markup=False)  # both are there before they are shown: keys may be faster
        self._wrong = Static("", id="wrong", markup=False)
        self._line = Input(id="line", compact=True, suggester=Words(words, names), select_on_focus=False)

    def compose(self) -> ComposeResult:
        """The sign and the line."""
        yield self._sign
        yield self._line
        yield self._wrong

    def open(self, sign: str, text: str = "") -> None:
        """Begin a line."""
        self.sign = sign
        self.history.rewind()
        self._offered = []
        self.mark("")
        self._sign.update(sign)
        line = self._line
        line.suggester = Words(self.words, self.names) if sign == ":" else None
        with line.prevent(Input.Changed):
            line.value = text
        line.cursor_position = len(text)
        self.display = True
        self.screen.set_focus(line)  # at once: what is typed ahead belongs to the line, and must not be orders

    def mark(self, wrong: str) -> None:
        """Say what is wrong with what is typed; "": nothing."""
        self.set_class(bool(wrong), "wrong")
        self._wrong.update(clean(wrong))

    def close(self) -> None:
        """Hide the line."""
        self.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        """A filter works while it is typed."""
        event.stop()
        if self.sign == "/":
            self.post_message(self.Edited(event.value))

    async def action_enter(self) -> None:
        """Enter: the line is done with, whatever it says, before the next key is looked at."""
        await drained(self._line)
        self.post_message(self.Entered(self.sign, self._line.value.strip()))
        await drained(self, self.screen)

    async def action_cancel(self) -> None:
        """Escape."""
        await drained(self._line)
        self.post_message(self.Left(self.sign))
        await drained(self, self.screen)

    async def action_complete(self) -> None:
        """Tab: what all completions have in common, where that is more than is typed; else one after the other."""
        await drained(self._line)
        line, offered = self._line.value, self._offered
        if self.sign != ":":
            return
        if line in offered and len(offered) > 1:
            self._set(offered[(offered.index(line) + 1) % len(offered)])
        elif found := completions(line, self.words, self.names):
            self._offered = found
            common = in_common(found)
            self._set(common if len(common) > len(line) else found[0])

    async def action_older(self) -> None:
        """Up."""
        await drained(self._line)
        if self.sign == ":":
            self._set(self.history.older(self._line.value))

    async def action_newer(self) -> None:
        """Down."""
        await drained(self._line)
        if self.sign == ":":
            self._set(self.history.newer(self._line.value))

    def _set(self, text: str) -> None:
        self._line.value = text
        self._line.cursor_position = len(text)
