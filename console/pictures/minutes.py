"""The history of minutes as figures of the charts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.files.minutes import Minute

MINUTE = 60.0


def course(minutes: Sequence[Minute], now: float, wall: float) -> dict[str, list[tuple[float, int]]]:
    """By the name of a series: monotonic times and figures. A figure holds from the time before it.

    ``minutes``: oldest first. ``now``: monotonic seconds, ``wall``: since the epoch, both of now. Where a minute is
    missing nothing ran, and all figures are 0.
    """
    found: dict[str, list[tuple[float, int]]] = {"throughput": [], "backlog": [], "latency": [], "lost": []}
    ended = -math.inf
    for minute in minutes:
        begins, ends = (now - (wall - (minute.at + add) * MINUTE) for add in (0, 1))
        figures = (round(minute.done / max(1, minute.seconds)), minute.backlog, minute.latency, minute.lost)
        for points, figure in zip(found.values(), figures, strict=True):
            if begins > ended + 1.0:
                points.append((begins, 0))
            points.append((min(ends, now), figure))
        ended = ends
    for points in found.values() if minutes and ended < now else ():
        points.append((now, 0))
    return found
