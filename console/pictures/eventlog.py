"""The events that a screen has seen so far."""

from __future__ import annotations

from typing import NamedTuple

from engine.feed import Fact, Feed

EVENTS = 1000  # lines that can be scrolled back to …
WORSE = EVENTS // 2  # … of which those that warn or are bad may take so many, however much else happens


class Gap(NamedTuple):
    """Events that were overwritten before the screen read them."""

    lost: int


Line = Fact | Gap


class EventLog:
    """Follows a feed, bounded. Events that were overwritten before they were read appear as a gap.

    Where there are too many, the oldest ones go that are neither warnings nor bad: ten thousand workers that join do
    not push out the one that was lost.
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
    """The last ``EVENTS`` of them, but up to ``WORSE`` of those that warn or are bad before all others."""
    if len(lines) <= EVENTS:
        return lines
    worse = [isinstance(line, Gap) or line.level in ("warn", "bad") for line in lines]
    bad = sum(worse)
    room = {True: min(bad, max(WORSE, EVENTS - (len(lines) - bad)))}
    room[False] = EVENTS - room[True]
    kept: list[Line] = []
    for line, is_bad in zip(reversed(lines), reversed(worse), strict=True):
        if room[is_bad]:
            room[is_bad] -= 1
            kept.append(line)
    return tuple(reversed(kept))
