"""A high dynamic range histogram of durations: fixed relative error, O(1) to record, mergeable.

Log-linear buckets as in Gil Tene's HdrHistogram: every power of two of microseconds is cut into 128 equal parts, so a
value is known to better than a hundredth of itself. Exact minimum, maximum and sum are kept beside it.
Our own, because the published Python binding ships compiled wheels for few interpreters and a fresh machine here has
no compiler.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

SUB_BITS = 7  # 2**7 buckets a power of two


class Summary(NamedTuple):
    """Durations in microseconds; all zero where nothing was recorded."""

    min: float
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    p999: float
    max: float


class Histogram:
    """Counts of durations, recorded in seconds, reported in microseconds."""

    __slots__ = ("_counts", "_max", "_min", "_sum", "count")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self._sum = 0.0
        self._min = float("inf")
        self._max = 0.0

    def record(self, seconds: float) -> None:
        """Count one duration; a negative one (a clock that cannot be) counts as zero."""
        value = seconds if seconds > 0.0 else 0.0
        ns = int(value * 1e9)
        shift = ns.bit_length() - SUB_BITS - 1
        bucket = (shift << SUB_BITS) + (ns >> shift) if shift > 0 else ns
        counts = self._counts
        counts[bucket] = counts.get(bucket, 0) + 1
        self.count += 1
        self._sum += value
        if value < self._min:
            self._min = value
        if value > self._max:
            self._max = value

    def merge(self, other: Histogram) -> None:
        """Add all of another histogram to this one."""
        for bucket, n in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + n
        self.count += other.count
        self._sum += other._sum
        self._min = min(self._min, other._min)
        self._max = max(self._max, other._max)

    def copy(self) -> Histogram:
        """An independent copy."""
        twin = Histogram()
        twin.merge(self)
        return twin

    def percentile(self, percent: float) -> float:
        """The value in µs below or at which ``percent`` of the durations lie; never above the maximum. 0 if empty."""
        return self._percentiles(percent)[0]

    def mark(self) -> dict[int, int]:
        """The counts as they are now, for ``percentile_since``."""
        return dict(self._counts)

    def percentile_since(self, mark: Mapping[int, int], percent: float) -> float | None:
        """As ``percentile``, of what was recorded since ``mark``; None where that is nothing."""
        later = Histogram()
        for bucket, n in self._counts.items():
            if n > (before := mark.get(bucket, 0)):
                later._counts[bucket] = n - before
                later.count += n - before
        later._min, later._max = self._min, self._max
        return later.percentile(percent) if later.count else None

    def _percentiles(self, *percents: float) -> list[float]:
        """Several of them, in one pass: a run is looked at many times while it is going."""
        if not self.count:
            return [0.0] * len(percents)
        buckets = sorted(self._counts)
        passed = list(accumulate(self._counts[bucket] for bucket in buckets))
        found = []
        for percent in percents:
            place = bisect_left(passed, max(1, -(-self.count * percent // 100)))
            high = _bounds(buckets[place])[1] / 1e3 if place < len(buckets) else self._max * 1e6
            found.append(max(min(high, self._max * 1e6), self._min * 1e6))
        return found

    def buckets(self) -> Iterator[tuple[float, float, int]]:
        """(low, high, count) in µs of every bucket that is not empty, ascending; high is exclusive."""
        for bucket in sorted(self._counts):
            low, high = _bounds(bucket)
            yield low / 1e3, high / 1e3, self._counts[bucket]

    def summary(self) -> Summary:
        """All the figures of a run file."""
        if not self.count:
            return Summary(*(0.0,) * 8)
        mean = self._sum / self.count * 1e6
        p50, p90, p95, p99, p999 = self._percentiles(50, 90, 95, 99, 99.9)
        return Summary(self._min * 1e6, mean, p50, p90, p95, p99, p999, self._max * 1e6)


def _bounds(bucket: int) -> tuple[int, int]:
    """From where to where a bucket reaches, in ns; the end is not in it."""
    shift = (bucket >> SUB_BITS) - 1
    if shift <= 0:
        return bucket, bucket + 1
    part = bucket - (shift << SUB_BITS)
    return part << shift, (part + 1) << shift
