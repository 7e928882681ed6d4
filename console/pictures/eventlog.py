"""The events that a screen has seen so far."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from engine.feed import Fact, Feed

EVENTS = 1000  # lines that can be scrolled back to
LEAST = {"bad": 250, "warn": 250, "info": 500}  # so many of them are of each kind, however many there are of the others


class Gap(NamedTuple):
    """Events that were overwritten before the screen read them."""

    lost: int


Line = Fact | Gap


class EventLog:
    """Follows a feed, bounded. Events that were overwritten before they were read appear as a gap.

    Where there are too many, each level keeps its newest: ten thousand workers that join do not push out the one that
    was lost.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._lines: tuple[Line, ...] = ()
        self._seen = 0

    def read(self) -> tuple[Line, ...]:
        """All events so far, oldest first; the same object if nothing is new."""
        fresh, lost = self._feed.since(self._seen)
        if fresh:
            gap = [Gap(lost)] if lost and self._seen else []
            self._seen = fresh[-1].number
            self._lines = newest((*self._lines, *gap, *fresh))
        return self._lines


def newest(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The last ``EVENTS`` of them, among them the last of each level as ``LEAST`` says."""
    room = len(lines) - EVENTS
    if room <= 0:
        return lines
    seen: Counter[str] = Counter()
    spare: list[int] = []  # places of those that may go, the newest first
    for place in reversed(range(len(lines))):
        line = lines[place]
        level = "warn" if isinstance(line, Gap) else line.level if line.level in LEAST else "info"
        seen[level] += 1
        if seen[level] > LEAST[level]:
            spare.append(place)
    gone = set(spare[-room:])
    return tuple(line for place, line in enumerate(lines) if place not in gone)
