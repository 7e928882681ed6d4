"""The events panel: time, glyph, text. Routine events are dim."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

from textual.content import Content
from textual.strip import Strip

from console import units
from console.pictures.eventlog import EVENTS, Gap, Line
from console.pictures.rows import natural, short_name
from console.text import clean, label
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

TOGETHER = 1.0  # seconds within which what is alike is told as one
ROUTINE = 2.0  # the same of our workers' routine

Namer = Callable[[bytes], str]


class EventPicture(Protocol):
    """What a picture must have: events, and the rows of the peers that they name."""

    @property
    def events(self) -> tuple[Line, ...]: ...
    @property
    def rows(self) -> Sequence[object]: ...


class Group(NamedTuple):
    """Events that are told as one line."""

    last: Line
    times: int
    subjects: list[bytes]  # whom they are about


def counted_from(app: Any) -> float | None:
    """When second 0 was, in seconds since the epoch, of what is on the screen; None where times are of the day."""
    return app.session.zero(app.wall(), app.clock()) if app.relative else None


def zone_of(lines: Sequence[Line], zero: float | None) -> str:
    """What times of these events mean, for the frame: the zone, or when second 0 was."""
    if zero is not None:
        return f" · {units.second_0(zero)}"
    last = lines[-1] if lines else Gap(0)
    return "" if isinstance(last, Gap) else f" · {units.zone(last.at)}"


def event_line(
    line: Line, namer: Namer, times: int = 1, subjects: Sequence[bytes] = (), zero: float | None = None
) -> Parts:
    """One event as a line; ``times``: how often it was repeated. ``subjects``: whom all of them are about.

    ``zero``: when second 0 was; None: the time of the day is shown.
    """
    if isinstance(line, Gap):
        return [(f"{'':9}… {units.several(line.lost, 'event')} missed", "warn")]
    level = "info" if routine(line) else line.level
    glyph, ink, words = GLYPHS[level]
    alike = routine(line) and times > 1  # of as many workers
    who = namer(line.subject) if line.subject and not alike else ""
    if who and len(subjects) > 1:
        names = sorted({namer(subject) for subject in subjects}, key=natural)
        who = names[0] if len(names) == 1 else f"{names[0]}…{names[-1]}"
    text = _OWN.sub(lambda _: who, clean(line.text), count=1) if who else clean(line.text)
    time = units.time_of_day(line.at) if zero is None else f"{line.at - zero:8.1f}"
    parts: Parts = [(time, "faint" if level == "info" else "label")]
    parts += [(f" {glyph} ", ink), (text, words)]
    if who and who not in text:
        parts.append((f" · {who}", "label"))
    if times > 1:
        parts.append((f" × {units.count(times)}", "label"))
    return parts


def grouped(lines: Sequence[Line]) -> list[Group]:
    """Events that are alike but for whom they are about and that came within a second, as one; so are equal ones
    in a row, whenever they came. A group stands where it began."""
    said: list[Group] = []
    places: dict[tuple[object, ...], int] = {}  # of the newest group of each kind
    for line in lines:
        if isinstance(line, Gap):
            places.clear()
        kind = _kind(line)
        place = places.get(kind, -1)
        if place < 0 or isinstance(line, Gap) or not _together(said[place].last, line, place == len(said) - 1):
            places[kind] = len(said)
            said.append(Group(line, 1, [] if isinstance(line, Gap) else [line.subject]))
        else:
            group = said[place]
            group.subjects.append(line.subject)
            said[place] = Group(line, group.times + 1, group.subjects)
    return said


def _kind(line: Line) -> tuple[object, ...]:
    if isinstance(line, Gap):
        return ()
    text = _OWN.sub("", line.text, count=1) if line.subject else line.text
    return line.level, line.source == "pool", bool(line.subject), text


def _together(before: Line, line: Fact, in_a_row: bool) -> bool:
    if isinstance(before, Gap):
        return False
    if routine(before) and routine(line):
        return line.at - before.at < ROUTINE
    return line.at - before.at < TOGETHER or (in_a_row and (before.text, before.subject) == (line.text, line.subject))


def event_lines(lines: Sequence[Line], namer: Namer, zero: float | None = None) -> list[Parts]:
    """All events, alike ones as one line with the time of the newest."""
    return [event_line(last, namer, times, subjects, zero) for last, times, subjects in grouped(lines)]


def routine(line: Line) -> TypeGuard[Fact]:
    """Whether this is a routine event of a worker in this process, which its broker reports too: joined, left."""
    return not isinstance(line, Gap) and line.source == "pool" and line.level in ("good", "info")


class Names:
    """Names that stay: whoever was called w3 once is not called by a routing id later."""

    def __init__(self, namer: Namer) -> None:
        self._namer = namer
        self._told: dict[bytes, str] = {}

    def __call__(self, key: bytes) -> str:
        """The name of a peer by its routing id."""
        name = self._namer(key)
        if name == short_name(label(key)) and key in self._told:
            return self._told[key]
        self._told[key] = name
        if len(self._told) > EVENTS:
            del self._told[next(iter(self._told))]
        return name


class Events(Pager, Panel):
    """All events, newest at the bottom."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(follow=True, id=id)
        self._namer = Names(namer)
        self._events: Sequence[Line] = ()
        self._zero: float | None = None
        self._named = 0  # workers whose names were known: an event comes sooner than the picture of whom it is about

    def show(self, picture: EventPicture) -> None:
        """Show a picture."""
        zero = counted_from(self.app)
        if picture.events is self._events and len(picture.rows) == self._named and zero == self._zero:
            return
        self._events, self._named, self._zero = picture.events, len(picture.rows), zero
        self.border_title = Content(f"events{zone_of(self._events, zero)}")
        self.set_lines(event_lines(self._events, self._namer, zero))


class NewestEvent(Panel):
    """The newest event on one line, for screens without room for all."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._namer = Names(namer)
        self._events: Sequence[Line] = ()
        self._zero: float | None = None

    def show(self, picture: EventPicture) -> None:
        """Show a picture."""
        zero = counted_from(self.app)
        if picture.events is not self._events or zero != self._zero:
            self._events, self._zero = picture.events, zero
            self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        if not self._events:
            return []
        matters = [line for line in self._events if not routine(line)] or self._events
        newest = next(group for group in reversed(grouped(matters)) if group.last is matters[-1])
        line = event_line(newest.last, self._namer, newest.times, newest.subjects, self._zero)
        return [self.line(cut([(" ", "text"), *line], width), width)]
