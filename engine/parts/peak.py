"""The largest recent backlogs of a broker, for readers who look at it from time to time.

A picture shows the backlog at one moment and misses what came and went between two pictures. Each reader asks for the
peaks since its own last look, so readers do not disturb each other.
"""

from __future__ import annotations

from collections import deque

KEPT = 64
STEP = 0.03  # seconds between two peaks: a lower one that follows sooner is left out


class Peak:
    """Peaks, each lower than all before it: those that stood before a higher one are forgotten."""

    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=KEPT)

    def mark(self, waiting: int, now: float) -> None:
        """Note that so many wait now; call it whenever more wait than before."""
        marks = self._marks
        while marks and marks[-1][1] <= waiting:
            marks.pop()
        if not marks or now >= marks[-1][0] + STEP:
            marks.append((now, waiting))

    def view(self) -> tuple[tuple[float, int], ...]:
        """When each stood, and how many waited; newest last. The highest since any time is the first after it."""
        return tuple(self._marks)


def most(peaks: tuple[tuple[float, int], ...], since: float, now: int) -> int:
    """The most that waited since a time, where so many wait ``now``."""
    return max(now, max((waiting for at, waiting in peaks if at > since), default=0))
