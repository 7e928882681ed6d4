"""The events that a screen has seen so far."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from engine.feed import Fact, Feed

EVENTS = 1000  # lines that can be scrolled back to


class Gap(NamedTuple):
    """Events that the screen was too late for."""

    lost: int


Line = Fact | Gap


class EventLog:
    """Follows a feed, bounded; what came too fast to be seen stands in it as a gap."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._events: deque[Line] = deque(maxlen=EVENTS)
        self._lines: tuple[Line, ...] = ()
        self._seen = 0

    def read(self) -> tuple[Line, ...]:
        """All that is known by now, oldest first; the same object where nothing is new."""
        fresh, lost = self._feed.since(self._seen)
        if fresh:
            if lost and self._seen:
                self._events.append(Gap(lost))
            self._events.extend(fresh)
            self._seen = fresh[-1].number
            self._lines = tuple(self._events)
        return self._lines
