"""Virtual time: what happens when, in order of time and then of being entered."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any


class Agenda:
    """A clock that jumps from entry to entry. ``now``: virtual seconds since the world began."""

    def __init__(self) -> None:
        self.now = 0.0
        self._entries: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._order = count()

    def at(self, when: float, act: Callable[..., object], *args: Any) -> None:
        """Call ``act(*args)`` at ``when``, or now if that has passed."""
        heappush(self._entries, (max(when, self.now), next(self._order), act, args))

    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        """Call ``act(*args)`` in so many seconds."""
        self.at(self.now + seconds, act, *args)

    def step(self, until: float) -> bool:
        """Do the next entry if it is due by ``until``; False, with the clock at ``until``, if there is none."""
        if not self._entries or self._entries[0][0] > until:
            self.now = max(self.now, until)
            return False
        self.now, _, act, args = heappop(self._entries)
        act(*args)
        return True
