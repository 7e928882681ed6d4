"""Figures over time: as many samples of each span, independent of how often they are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

HERTZ = 4
SPAN = 60  # seconds of the shortest span
SAMPLES = SPAN * HERTZ  # of each span


class Span(NamedTuple):
    """A stretch of time that a chart shows."""

    name: str
    seconds: int


SPANS = (Span("1 min", SPAN), Span("10 min", 600), Span("1 h", 3600), Span("1 day", 86_400), Span("7 days", 604_800))
HOUR = 2  # the place of the hour in it


class Samples:
    """The last ``seconds``, newest last. Of figures in one sample the newest counts, of ``peaks`` the highest."""

    def __init__(self, peaks: bool = False, seconds: int = SPAN) -> None:
        self._peaks = peaks
        self._each = seconds / SAMPLES  # seconds
        self._values: deque[int] = deque(maxlen=SAMPLES)
        self._at = 0.0  # monotonic seconds of the newest

    def add(self, at: float, value: int) -> None:
        """The figure at monotonic ``at``. It holds for all the time since the last one. Where time goes back, what
        came later is not known yet."""
        if not self._values or at < self._at - 0.5 * self._each:
            self._values.clear()
            self._values.append(value)
            self._at = at
            return
        passed = round((at - self._at) / self._each)
        if not passed:
            self._values[-1] = max(value, self._values[-1]) if self._peaks else value
        self._values.extend([value] * min(passed, SAMPLES))
        self._at += passed * self._each

    @property
    def values(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(self._values)


class Series:
    """One figure over all spans; a sample is the highest of its time."""

    def __init__(self) -> None:
        self._spans = tuple(Samples(True, span.seconds) for span in SPANS)

    def add(self, at: float, value: int) -> None:
        """The figure at monotonic ``at``."""
        for samples in self._spans:
            samples.add(at, value)

    def begin(self, points: Sequence[tuple[float, int]], now: float) -> None:
        """Figures of a time before, oldest first: each holds from the one before it. Nothing where there are some."""
        for span, samples in zip(SPANS, self._spans, strict=True):
            for at, value in points if not samples.values else ():
                if at > now - span.seconds:
                    samples.add(at, value)

    def values(self, span: int) -> tuple[int, ...]:
        """Of one span, by its place in ``SPANS``."""
        return self._spans[span].values
