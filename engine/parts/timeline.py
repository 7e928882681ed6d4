"""What a run did second by second: tasks that succeeded and failed, and the latency of the slowest hundredth.

Nothing is counted per task: once a second the run's counters and histogram are compared with those of the second
before. A run of any length takes ``POINTS`` points: when they are full, two neighbours become one and from then on a
point is twice as long.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.parts.histogram import Histogram

POINTS = 120


class Point(NamedTuple):
    """From ``second`` after the start until the next point begins."""

    second: float
    succeeded: int
    failed: int
    p99: float | None  # µs; None where nothing was measured; of points that became one, the larger


class Timeline:
    """The points of one run. Its owner calls ``advance`` as soon as ``due`` has passed."""

    __slots__ = ("_began", "_failed", "_marked", "_points", "_start", "_succeeded", "_width", "due")

    def __init__(self, now: float) -> None:
        self._start = now
        self._width = 1.0  # seconds a point
        self._points: list[Point] = []
        self._began = 0.0  # of the open point, seconds after the start
        self._succeeded = self._failed = 0  # at its begin
        self._marked: dict[int, int] = {}  # the histogram at its begin
        self.due = now + self._width

    def advance(self, now: float, succeeded: int, failed: int, latency: Histogram) -> None:
        """Close every point that ended before ``now``. The counters are those of the run so far."""
        while now > self.due:
            self._points.append(self._open(succeeded, failed, latency))
            self._began += self._width
            self._succeeded, self._failed, self._marked = succeeded, failed, latency.mark()
            if len(self._points) == POINTS:
                self._widen()
            self.due = self._start + self._began + self._width

    def view(self, now: float, succeeded: int, failed: int, latency: Histogram) -> tuple[Point, ...]:
        """All points; the last one is still open, or the run ended in it."""
        if now <= self._start + self._began:
            return tuple(self._points)
        return (*self._points, self._open(succeeded, failed, latency))

    def _open(self, succeeded: int, failed: int, latency: Histogram) -> Point:
        return Point(
            self._began, succeeded - self._succeeded, failed - self._failed, latency.percentile_since(self._marked, 99)
        )

    def _widen(self) -> None:
        pairs = zip(self._points[::2], self._points[1::2], strict=True)
        self._points = [
            Point(a.second, a.succeeded + b.succeeded, a.failed + b.failed, max(a.p99 or 0.0, b.p99 or 0.0) or None)
            for a, b in pairs
        ]
        self._width *= 2
