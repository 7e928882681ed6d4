"""All events that the console has kept, by level, time and a regular expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.history import History
from console.host import Host
from console.pictures.eventlog import Gap, Line
from console.pictures.sought import LEVELS, SPANS, Said, Sought, typed
from console.screens.filterline import FilterLine
from console.screens.layer import Layer
from console.text import clean
from console.widgets.events import (
    EventPicture,
    Group,
    Namer,
    Names,
    counted_from,
    event_line,
    grouped,
    routine,
    zone_of,
)
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from console.widgets.prompt import Prompt
from engine.core import Level


def said(groups: Sequence[Group], lines: Sequence[Parts]) -> list[Said]:
    """Of each line its level as it is drawn, its time and its text. A gap has the time of what was before it."""
    found: list[Said] = []
    at = float("-inf")
    for (last, *_), line in zip(groups, lines, strict=True):
        level: Level = "warn" if isinstance(last, Gap) else "info" if routine(last) else last.level
        at = at if isinstance(last, Gap) else last.at
        found.append(Said(level, at, "".join(text for text, _ in line)))
    return found


class AllEvents(FilterLine, Layer):
    """The events, newest at the bottom; ``/`` takes times and a regular expression: ``/since 12:05 lost``."""

    OPENED_BY = "events"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.EVENTS))]
    app: Host

    def __init__(self, history: History, namer: Namer) -> None:
        super().__init__()
        self._namer = Names(namer)
        self._events: Sequence[Line] = ()
        self._sought = Sought()
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

    def show(self, picture: EventPicture) -> None:
        """Show a picture."""
        self._events = picture.events
        zero, now, sought = counted_from(self.app), self._now(), self._sought
        groups = grouped(self._events)
        lines = [event_line(last, self._namer, times, subjects, zero) for last, times, subjects in groups]
        told = said(groups, lines)
        found = [line for line, one in zip(lines, told, strict=True) if sought.fits(one, now)]
        self.page.border_title = self._heading(sought.counts(told, now), zero)
        self.page.border_subtitle = Content(self._shown(len(found), len(lines)))
        self.page.set_lines(found or [[("no event matches" if lines else "nothing has happened yet", "label")]])

    def _heading(self, counts: Sequence[int], zero: float | None) -> Content:
        """How many lines there are of each level, the chosen one marked."""
        chosen = self._sought.level
        levels = [
            (f" {name} {units.count(n)} ", "reverse" if place == chosen else "")
            for place, ((name, _), n) in enumerate(zip(LEVELS, counts, strict=True))
        ]
        return Content.assemble(f"all events{zone_of(self._events, zero)} ·", *levels)

    def _shown(self, shown: int, of: int) -> str:
        """How many lines are shown, and what hides the others."""
        sought = self._sought
        hidden = f", {units.count(of - shown)} hidden" if of > shown else ""
        bounds = (("since", sought.since), ("until", sought.until))
        parts = [
            f"{units.count(shown)} of {units.several(of, 'line')}{hidden}",
            *(f"{word} {units.time_of_day(at)}" for word, at in bounds if isfinite(at)),
            *([SPANS[sought.span][0]] if sought.span else []),
            *([f"/{'!' * sought.inverse}{clean(sought.pattern.pattern)}"] if sought.pattern else []),
        ]
        return f" {' · '.join(parts)} "

    def _now(self) -> float:
        return self.app.session.now(self.app.wall())

    def action_level(self) -> None:
        """Show only worse levels; after the worst, all again."""
        self._seek(self._sought._replace(level=(self._sought.level + 1) % len(LEVELS)))

    def action_span(self) -> None:
        """Show the next span of time."""
        self._seek(self._sought._replace(span=(self._sought.span + 1) % len(SPANS)))

    def _seek(self, sought: Sought) -> None:
        self._sought = sought
        self.app.tick()

    def action_back(self) -> None:
        """Clear the filter; then close."""
        if self._sought.any:
            self._seek(Sought())
        else:
            self.dismiss()

    @property
    def listed(self) -> Pager:
        """The events."""
        return self.page

    @property
    def filtered(self) -> str:
        """The times and the expression that are set."""
        return self._sought.typed

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, keys are text."""
        return not (action in ("filter", "level", "span") and self.prompt.display)

    def try_filter(self, text: str) -> str:
        """Filter while typing."""
        try:
            self._seek(self._typed(text))
        except re.error as error:
            return str(error)
        except ValueError as error:  # a time that is not whole yet: what was before it was searched as text
            self._seek(self._typed(""))
            return str(error)
        return ""

    def perform_filter(self, text: str) -> None:
        """Set a filter, or none."""
        try:
            self._seek(self._typed(text))
        except (re.error, ValueError) as error:
            self.app.say(f"filter {clean(text)!r}: {error}", "bad")

    def _typed(self, text: str) -> Sought:
        zero = self.app.session.zero(self.app.wall(), self.app.clock())
        return typed(self._sought, text, self._now(), zero)
