"""One figure over time: ``HERTZ`` samples a second, independent of how often it is read."""

from __future__ import annotations

from collections import deque

HERTZ = 4
SPAN = 60  # seconds that are kept


class Samples:
    """The last ``SPAN`` seconds, newest last. Of figures in one sample the newest counts, of ``peaks`` the highest."""

    def __init__(self, peaks: bool = False) -> None:
        self._peaks = peaks
        self._values: deque[int] = deque(maxlen=SPAN * HERTZ)
        self._at = 0.0  # monotonic seconds of the newest

    def add(self, at: float, value: int) -> None:
        """The figure at monotonic ``at``. It stands for all the time since the last one; where time goes back, what
        came later is not known yet."""
        if not self._values or at < self._at - 0.5 / HERTZ:
            self._values.clear()
            self._values.append(value)
            self._at = at
            return
        passed = round((at - self._at) * HERTZ)
        if not passed:
            self._values[-1] = max(value, self._values[-1]) if self._peaks else value
        self._values.extend([value] * min(passed, SPAN * HERTZ))
        self._at += passed / HERTZ

    @property
    def values(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(self._values)
