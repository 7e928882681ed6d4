"""The events panel: time, glyph, text. Routine events are dim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol, TypeGuard

from textual.content import Content
from textual.strip import Strip

from console import units
from console.pictures.eventlog import Gap, Line
from console.text import clean
from console.widgets.ink import Panel, Parts, cut
from console.widgets.pager import Pager
from engine.core import Level
from engine.feed import Fact

GLYPHS: dict[Level, tuple[str, str, str]] = {
    "good": ("+", "good bold", "text"),
    "info": ("·", "label", "label"),
    "warn": ("!", "warn bold", "text"),
    "bad": ("×", "bad bold", "text"),
}
"""Glyph, its ink, the ink of the words."""

_OWN = re.compile(r"^(?:worker-|w)\d+\b(?=[ :])")
"""A broker's or pool's name for a worker at the start of an event; the screen may use another name."""

TOGETHER = 2.0  # seconds within which our workers' routine is told as one

Namer = Callable[[bytes], str]


class Told(Protocol):
    """What a picture must have: events, and the rows of the peers that they name."""

    @property
    def events(self) -> tuple[Line, ...]: ...
    @property
    def rows(self) -> Sequence[object]: ...


def event_line(line: Line, namer: Namer, times: int = 1) -> Parts:
    """One event as a line; ``times``: how often it was repeated."""
    if isinstance(line, Gap):
        return [(f"{'':9}… {units.count(line.lost)} events missed", "warn")]
    level = "info" if routine(line) else line.level
    glyph, ink, words = GLYPHS[level]
    alike = routine(line) and times > 1  # of as many workers
    who = namer(line.subject) if line.subject and not alike else ""
    text = _OWN.sub(lambda _: who, clean(line.text), count=1) if who else clean(line.text)
    parts: Parts = [(units.time_of_day(line.at), "faint" if level == "info" else "label")]
    parts += [(f" {glyph} ", ink), (text, words)]
    if who and who not in text:
        parts.append((f" · {who}", "label"))
    if times > 1:
        parts.append((f" × {units.count(times)}", "label"))
    return parts


def event_lines(lines: Sequence[Line], namer: Namer) -> list[Parts]:
    """All events. Equal events in a row become one line, with the time of the newest.

    Routine events of our own workers and of the broker alternate, so each kind is grouped separately.
    """
    said: list[tuple[Line, int]] = []
    places: dict[str, int] = {}  # of our workers' routine in ``said``, by what they say
    for line in lines:
        place = places.get(line.text, -1) if routine(line) else len(said) - 1
        if place >= 0 and _same(said[place][0], line):
            said[place] = line, said[place][1] + 1
        else:
            if routine(line):
                places[line.text] = len(said)
            said.append((line, 1))
    return [event_line(line, namer, times) for line, times in said]


def routine(line: Line) -> TypeGuard[Fact]:
    """Whether this is a routine event of a worker in this process, which its broker reports too: joined, left."""
    return not isinstance(line, Gap) and line.source == "pool" and line.level in ("good", "info")


def _same(before: Line, line: Line) -> bool:
    if isinstance(before, Gap) or isinstance(line, Gap):
        return False
    if routine(before) and routine(line):
        return line.at - before.at < TOGETHER
    return (before.level, before.text, before.subject) == (line.level, line.text, line.subject)


class Events(Pager, Panel):
    """All events, newest at the bottom."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(follow=True, id=id)
        self._namer = namer
        self._events: Sequence[Line] = ()
        self._named = 0  # workers whose names were known: an event comes sooner than the picture of whom it is about

    def show(self, picture: Told) -> None:
        """Show a picture."""
        if picture.events is self._events and len(picture.rows) == self._named:
            return
        self._events, self._named = picture.events, len(picture.rows)
        last = self._events[-1] if self._events else Gap(0)
        if not isinstance(last, Gap):
            self.border_title = Content(f"events · {units.zone(last.at)}")
        self.set_lines(event_lines(self._events, self._namer))


class NewestEvent(Panel):
    """The newest event on one line, for screens without room for all."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._namer = namer
        self._events: Sequence[Line] = ()

    def show(self, picture: Told) -> None:
        """Show a picture."""
        if picture.events is not self._events:
            self._events = picture.events
            self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        if not self._events:
            return []
        matters = [line for line in self._events if not routine(line)] or self._events
        return [self.line(cut([(" ", "text"), *event_lines(matters, self._namer)[-1]], width), width)]
