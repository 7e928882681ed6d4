"""How long one worker's tasks took in the last minute, in bounded memory and with next to no work a task.

Not every task is noted: of a busy worker at least one in ``MOST``. The broker counts a worker's tasks, and calls
``note`` when the count reaches ``due``.

The minute is made of slices. One holds ``EACH`` times at most; when it is full, every other one is dropped and half as
many are noted from then on. So a slice is an even sample of its tasks, and weighs as much as it had tasks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import chain
from typing import NamedTuple

SPAN = 60.0  # seconds that are told of
SLICE = 10.0  # seconds
EACH = 64  # times in a slice
MOST = 16  # one task in so many is noted at least: a worker that becomes slow shows it soon
AGAIN = 5.0  # seconds for which percentiles hold once they were worked out: of a busy worker that takes up to 50 µs


class Took(NamedTuple):
    """Service times in seconds, from delivery to answer as the broker saw both."""

    p50: float
    p99: float


class _Slice:
    __slots__ = ("begun", "first", "place", "stride", "times")

    def __init__(self, now: float, first: int, stride: int) -> None:
        self.begun, self.first, self.stride = now, first, stride  # first: tasks that were done before
        self.times = array("f")
        self.place = 0  # that is written next, once nothing can be dropped any more


class Served:
    """The service times of one worker. Times: monotonic seconds.

    ``due``: the number of the next task that is noted. ``until``: ``view`` returns the same before that time, which is
    ``shown``.
    """

    __slots__ = ("_done", "_slices", "due", "shown", "until")

    def __init__(self) -> None:
        self.due = 1
        self._slices: list[_Slice] = []
        self._done = 0  # when something was noted last
        self.shown: Took | None = None
        self.until = float("inf")

    def note(self, seconds: float, now: float, done: int) -> None:
        """The task that made the count ``done`` took so long."""
        slices = self._slices
        last = slices[-1] if slices else None
        if last is None or now >= last.begun + SLICE:
            last = _Slice(now, done - 1, max(1, last.stride // 2) if last is not None else 1)
            slices.append(last)
            while slices[0].begun + SPAN <= now:
                del slices[0]
        times = last.times
        if len(times) < EACH:
            times.append(seconds)
        elif last.stride < MOST:
            last.times = times[::2]
            last.times.append(seconds)
            last.stride *= 2
        else:
            times[last.place] = seconds
            last.place = (last.place + 1) % EACH
        self._done = done
        self.until = min(self.until, now + AGAIN if self.shown is not None else now)
        self.due = done + last.stride

    def view(self, now: float) -> Took | None:
        """Of the last minute; None where nothing was done in it. The same object as long as nothing changed."""
        if now < self.until:
            return self.shown
        slices = self._slices
        while slices and slices[0].begun + SPAN <= now:
            del slices[0]
        self.until = slices[0].begun + SPAN if slices else float("inf")
        shown = _percentiles(slices, self._done)
        if shown != self.shown:
            self.shown = shown
        return self.shown


def _percentiles(slices: list[_Slice], done: int) -> Took | None:
    times: list[float] = []
    for one in slices:
        times.extend(one.times)
    if not times:
        return None
    if len(times) == done - slices[0].first:  # all of them were noted
        times.sort()
        return Took(times[-(-len(times) // 2) - 1], times[-(-len(times) * 99 // 100) - 1])
    ends = [*(one.first for one in slices), done][1:]
    parts = [(sorted(one.times), (end - one.first) / len(one.times)) for one, end in zip(slices, ends, strict=True)]
    ranked = sorted(chain.from_iterable(part for part, _ in parts))

    def tasks(seconds: float) -> float:
        """How many took no longer."""
        return sum(weight * bisect_right(part, seconds) for part, weight in parts)

    total = done - slices[0].first
    return Took(*(ranked[bisect_left(ranked, share * total - 1e-9, key=tasks)] for share in (0.5, 0.99)))
