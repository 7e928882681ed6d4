"""All events that the console has kept, with a filter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.history import History
from console.host import Host
from console.pictures.eventlog import Line
from console.screens.layer import Layer
from console.text import clean
from console.widgets.events import Namer, Names, Told, counted_from, event_lines, zone_of
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from console.widgets.prompt import Prompt


def matching(lines: Sequence[Parts], pattern: re.Pattern[str] | None, inverse: bool) -> list[Parts]:
    """The lines in which a pattern is found, or those in which it is not."""
    if pattern is None:
        return list(lines)
    return [line for line in lines if bool(pattern.search("".join(text for text, _ in line))) is not inverse]


class AllEvents(Layer):
    """The events, newest at the bottom; ``/`` takes a regular expression, also on times: ``/^12:0[0-5]``."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.EVENTS))]
    app: Host

    def __init__(self, history: History, namer: Namer) -> None:
        super().__init__()
        self._namer = Names(namer)
        self._events: Sequence[Line] = ()
        self._text = ""
        self._pattern: re.Pattern[str] | None = None
        self.page = Pager(follow=True, id="page")
        self.keybar = KeyBar(id="keys")
        self.prompt = Prompt(history, id="prompt")

    def compose(self) -> ComposeResult:
        """The events, the key bar or the filter."""
        yield self.page
        yield self.keybar
        yield self.prompt

    def on_mount(self) -> None:
        """Focus the events."""
        self.prompt.display = False
        self.set_focus(self.page)

    def show(self, picture: Told) -> None:
        """Show a picture."""
        self._events = picture.events
        zero = counted_from(self.app)
        lines = event_lines(self._events, self._namer, zero)
        found = matching(lines, self._pattern, self._text.startswith("!"))
        wanted = f" · /{clean(self._text)}" if self._text else ""
        self.page.border_title = Content(f"all events{zone_of(self._events, zero)}")
        self.page.border_subtitle = Content(f" {len(found):,} of {units.several(len(lines), 'line')}{wanted} ")
        self.page.set_lines(found or [[("no event matches" if lines else "nothing has happened yet", "label")]])

    def action_back(self) -> None:
        """Clear the filter; then close."""
        if self._text:
            self.perform_filter("")
        else:
            self.dismiss()

    def action_filter(self) -> None:
        """Type a filter, beginning with the one that is set."""
        self.keybar.display = False
        self.prompt.open("/", self._text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, keys are text."""
        return not (action == "filter" and self.prompt.display)

    def _close(self) -> None:
        self.prompt.close()
        self.keybar.display = True
        self.set_focus(self.page)

    def on_prompt_left(self) -> None:
        """Escape also clears the filter."""
        self._close()
        self.perform_filter("")

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        """Set what was typed."""
        self._close()
        self.perform_filter(event.line)

    def on_prompt_edited(self, event: Prompt.Edited) -> None:
        """Filter while typing; what is wrong is marked."""
        try:
            self._set(event.line)
        except re.error as error:
            self.prompt.mark(str(error))
        else:
            self.prompt.mark("")
            self.app.tick()

    def perform_filter(self, text: str) -> None:
        """Set a filter, or none."""
        try:
            self._set(text)
        except re.error as error:
            self.app.say(f"filter {clean(text)!r}: {error}", "bad")
        self.app.tick()

    def _set(self, text: str) -> None:
        expression = text.removeprefix("!")
        self._pattern = re.compile(expression, re.IGNORECASE) if expression else None
        self._text = text if expression else ""
