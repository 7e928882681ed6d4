"""How late a loop was for its timers: the worst of the last seconds, so that a reader who looks rarely misses none."""

from __future__ import annotations

LATELY = 1.0  # seconds that the worst is remembered for at least, and twice as many at most


class Lateness:
    """One thread notes, any thread reads."""

    def __init__(self) -> None:
        self._worst = (0.0, 0.0)  # of the while before, and of the one that began at ``_since``
        self._since = 0.0

    @property
    def worst(self) -> float:
        """Seconds."""
        return max(self._worst)

    def note(self, late: float, now: float) -> None:
        """The loop was so many seconds late at monotonic time ``now``; 0.0: it was not."""
        before, worst = self._worst
        if now - self._since >= LATELY:
            before, worst, self._since = worst, 0.0, now
        self._worst = (before, max(worst, late))
