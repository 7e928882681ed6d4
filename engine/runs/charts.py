"""Histograms and rates of kept runs as lines of block characters.

All functions take the numbers of a run record and return text of exactly so many cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from engine.runs.record import Second

EIGHTHS = " ▁▂▃▄▅▆▇█"
CELLS = 48  # of a chart in a summary
STALLED = "×"  # a cell in which nothing succeeded

Buckets = Sequence[tuple[float, int]]


def extent(*sets: Buckets) -> tuple[float, float] | None:
    """From the shortest to the longest duration of all of them in µs; None where there is none."""
    ends = [high for buckets in sets for high, _ in buckets]
    return (min(ends), max(ends)) if ends else None


def histogram(buckets: Buckets, extent: tuple[float, float], cells: int) -> str:
    """Tasks by duration, on a logarithmic axis over ``extent``; the highest bar is the most tasks in a cell."""
    return bars(_counts(buckets, extent, cells))


def tall(buckets: Buckets, extent: tuple[float, float], cells: int, rows: int) -> list[str]:
    """The same in several rows, the highest first."""
    counts = _counts(buckets, extent, cells)
    most = max(counts, default=0) or 1
    heights = [math.ceil(n / most * 8 * rows) for n in counts]
    return ["".join(EIGHTHS[min(8, max(0, height - 8 * row))] for height in heights) for row in reversed(range(rows))]


def bars(values: Sequence[float]) -> str:
    """A cell a value, from nothing to the largest; what is not nothing is seen."""
    most = max(values, default=0)
    return "".join(EIGHTHS[math.ceil(value / most * 8)] if value > 0 else EIGHTHS[0] for value in values)


def _counts(buckets: Buckets, extent: tuple[float, float], cells: int) -> list[int]:
    """Tasks in each cell."""
    low, high = map(math.log, extent)
    counts = [0] * cells
    for at, n in buckets:
        share = (math.log(at) - low) / (high - low) if high > low else 0.5
        counts[min(cells - 1, int(share * cells))] += n
    return counts


def rates(timeline: Iterable[Second], elapsed: float, cells: int) -> str:
    """Successes over a run of so many seconds; a point is spread over the cells that it covers. Stalls are marked."""
    points = list(timeline)
    if not points or elapsed <= 0:
        return ""
    ends = [point["second"] for point in points[1:]] + [elapsed]
    cells = min(cells, len(points))
    sums = [0.0] * cells
    for point, end in zip(points, ends, strict=True):
        begin = point["second"]
        for cell in range(cells):
            a, b = cell * elapsed / cells, (cell + 1) * elapsed / cells
            covered = min(b, end) - max(a, begin)
            if covered > 0:
                sums[cell] += point["succeeded"] * covered / (end - begin)
    return "".join(STALLED if not total else bar for total, bar in zip(sums, bars(sums), strict=True))
