"""The refresh governor: draws the screen as often as its share of CPU time allows.

The engine's threads share one interpreter with the screen, so what the screen takes of it a run does not get. What one
refresh costs is measured: the main thread's own CPU time, and what the engine's threads took to draw the pictures for
it. The refreshes are put so far apart that they take no more than their share of a core.

Between two refreshes the main thread also does what keys ask for, and opens screens. So the cost is the median of the
last few: a command line that opened and closed would make the first seconds of the run that it began seem dear.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median_low

from console.pictures.samples import HERTZ

SHARE = 0.08  # of a core, for the screen
SLOWEST = 1.0  # seconds between two refreshes at most

_COSTS = 9  # refreshes whose costs are known


class RefreshGovernor:
    """Decides at each of ``HERTZ`` beats a second whether to draw the screen."""

    def __init__(self, clock: Callable[[], float], spent: Callable[[], float]) -> None:
        """``clock``: monotonic seconds. ``spent``: CPU seconds that screen and pictures have taken so far.

        That may become less: a lab that is closed takes what was drawn in it along.
        """
        self._clock, self._spent = clock, spent
        self._drawn = -SLOWEST  # when it was drawn last
        self._before: float | None = None  # what had been spent by then
        self._costs: deque[float] = deque(maxlen=_COSTS)  # seconds from one refresh to the next

    @property
    def interval(self) -> float:
        """Seconds from one refresh to the next."""
        cost = median_low(self._costs) if self._costs else 0.0
        return min(SLOWEST, max(1 / HERTZ, cost / SHARE))

    def due(self) -> bool:
        """Whether it is time."""
        now = self._clock()
        if now - self._drawn < self.interval - 1 / HERTZ / 2:  # the nearest beat
            return False
        spent = self._spent()
        if self._before is not None:
            self._costs.append(max(0.0, spent - self._before))
        self._drawn, self._before = now, spent
        return True
