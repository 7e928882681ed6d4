"""The events that a screen has seen so far."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from engine.feed import Fact, Feed

EVENTS = 1000  # lines that can be scrolled back to


class Gap(NamedTuple):
    """Events that were overwritten before the screen read them."""

    lost: int


Line = Fact | Gap


class EventLog:
    """Follows a feed, bounded. Events that were overwritten before they were read appear as a gap."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._events: deque[Line] = deque(maxlen=EVENTS)
        self._lines: tuple[Line, ...] = ()
        self._seen = 0

    def read(self) -> tuple[Line, ...]:
        """All events so far, oldest first; the same object if nothing is new."""
        fresh, lost = self._feed.since(self._seen)
        if fresh:
            if lost and self._seen:
                self._events.append(Gap(lost))
            self._events.extend(fresh)
            self._seen = fresh[-1].number
            self._lines = tuple(self._events)
        return self._lines
