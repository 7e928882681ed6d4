"""The latency of the run: a histogram on a logarithmic axis with rulers at p50, p95 and p99."""

from __future__ import annotations

import math
from collections.abc import Sequence

from textual.content import Content
from textual.strip import Strip

from console import units
from console.pictures.bridge import Picture
from console.text import fit
from console.widgets.ink import EIGHTHS, Panel, Parts, cells, joined
from engine.parts.bulk import BulkView

_RULERS = (("p50", "chart-ok"), ("p95", "chart-warn"), ("p99", "chart-bad"))

Buckets = Sequence[tuple[float, float, int]]


class Axis:
    """Logarithms of µs on ``columns`` cells, from the fastest to the slowest bucket; at least a factor of ten."""

    def __init__(self, buckets: Buckets, columns: int) -> None:
        low, high = math.log10(max(buckets[0][0], 0.1)), math.log10(max(buckets[-1][1], 0.2))
        spare = max(0.0, 1.0 - (high - low)) / 2
        margin = (high - low + 2 * spare) * 0.05
        self.low, self.high, self.columns = low - spare - margin, high + spare + margin, columns
        self._each = columns / (self.high - self.low)  # columns a power of ten

    def place(self, us: float) -> int:
        """The column of a duration."""
        column = int((math.log10(us if us > 1e-3 else 1e-3) - self.low) * self._each)
        return 0 if column < 0 else column if column < self.columns else self.columns - 1

    def edge(self, column: int) -> float:
        """The duration at the left edge of a column, in µs."""
        return float(10 ** (self.low + (self.high - self.low) * column / self.columns))

    def decades(self) -> list[float]:
        """The powers of ten that lie on the axis, in µs."""
        return [10.0**power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]


def columns_of(buckets: Buckets, axis: Axis) -> list[float]:
    """How many durations lie in each column; a bucket that is wider than a column is spread evenly."""
    counts = [0.0] * axis.columns
    for low, high, n in buckets:
        first, last = axis.place(low), axis.place(math.nextafter(high, 0))
        if first == last:
            counts[first] += n
            continue
        for column in range(first, last + 1):
            counts[column] += n / (last - first + 1)
    return counts


class Latency(Panel):
    """The histogram of the client's newest run."""

    BORDER_TITLE = "latency"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._run: BulkView | None = None
        self._subtitle = ""

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        if picture.run is self._run:
            return
        self._run = picture.run
        samples = sum(n for _, _, n in self._run.histogram) if self._run else 0
        subtitle = f" {units.count(samples)} samples " if samples else ""
        if subtitle != self._subtitle:
            self._subtitle = subtitle
            self.border_subtitle = Content(subtitle) if subtitle else None
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """Columns, the axis and the three figures."""
        rows = height - 2
        if self._run is None or not self._run.histogram or rows < 1 or width < 12:
            middle = [self.line([], width)] * max(0, height // 2 - 1)
            return [*middle, self.line([("no run yet · p runs one".center(width), "label")], width)]
        axis = Axis(self._run.histogram, width)
        service = self._run.service
        rulers = {"p50": service.p50, "p95": service.p95, "p99": service.p99}
        places = {name: axis.place(us) for name, us in rulers.items()}
        counts = columns_of(self._run.histogram, axis)
        most = max(counts)
        levels = [max(1, round(n / most * rows * 8)) if n else 0 for n in counts]
        inks = [_ink(column, places) for column in range(width)]
        lines = []
        for row in range(rows):
            floor = (rows - 1 - row) * 8
            parts: Parts = []
            for column, level in enumerate(levels):
                block = EIGHTHS[min(8, max(0, level - floor))]
                ruled = block == " " and column in places.values()
                parts.append(("┊", "label") if ruled else (block, inks[column]))
            lines.append(self.line(joined(parts), width))
        return [*lines, self.line(_scale(axis, places), width), self.line(_figures(rulers, width), width)]


def _ink(column: int, places: dict[str, int]) -> str:
    if column >= places["p99"] > places["p50"]:
        return "chart-bad"
    return "chart-warn" if column >= places["p95"] > places["p50"] else "chart-ok"


def _scale(axis: Axis, places: dict[str, int]) -> Parts:
    """The axis: a foot under each ruler, and the powers of ten where they have room."""
    line = ["─"] * axis.columns
    for place in places.values():
        line[place] = "┴"
    for decade in axis.decades():
        name = units.duration(decade).replace(".0", "")
        at = axis.place(decade)
        wanted = range(at, at + len(name))
        if at + len(name) <= axis.columns and all(line[x] == "─" for x in (*wanted, max(0, at - 1))):
            line[at : at + len(name)] = name
    return joined([(cell, "label") for cell in line])


def _figures(rulers: dict[str, float], width: int) -> Parts:
    pairs: list[Parts] = [
        [(f"{name} ", "label"), (fit(units.duration(rulers[name]), 5), f"{ink} bold")] for name, ink in _RULERS
    ]
    gap = max(1, (width - sum(map(cells, pairs))) // (len(pairs) + 1))
    return [part for pair in pairs for part in ((" " * gap, "text"), *pair)]
