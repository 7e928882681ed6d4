"""Real time between two looks, for labs with virtual or recorded time."""

from __future__ import annotations

from collections import deque

from console.pictures.governor import SLOWEST
from console.pictures.samples import HERTZ

LATE = SLOWEST  # real seconds that one refresh makes up for at most


class Pace:
    """Counts the looks of the screen's timer."""

    def __init__(self) -> None:
        self._looks: deque[float] = deque(maxlen=4 * HERTZ + 1)

    def passed(self, now: float) -> float:
        """Seconds since the last look, ``LATE`` at most."""
        before = self._looks[-1] if self._looks else now
        self._looks.append(now)
        return min(LATE, now - before)

    @property
    def hertz(self) -> float:
        """Looks a second."""
        spent = self._looks[-1] - self._looks[0] if self._looks else 0.0
        return (len(self._looks) - 1) / spent if spent > 0 else float(HERTZ)
