"""The backlog over the last minute: an area whose columns keep their peak."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from textual.content import Content
from textual.strip import Strip

from console import units
from console.pictures.bridge import Picture
from console.pictures.samples import HERTZ, SPAN
from console.text import fit
from console.widgets.ink import EIGHTHS, Panel, Parts, joined

_SCALE = 6  # cells of the vertical axis


def peaks(samples: Sequence[int], columns: int) -> list[int]:
    """The samples of the last ``SPAN`` seconds as so many columns, newest right, each the highest of its share."""
    total = SPAN * HERTZ
    padded = [0] * (total - len(samples)) + list(samples[-total:])
    edges = [i * total // columns for i in range(columns + 1)]
    return [max(padded[a : max(b, a + 1)]) for a, b in pairwise(edges)]


class Backlog(Panel):
    """The chart. What lies above the limit is amber: more than all the workers' slots together."""

    BORDER_TITLE = "backlog"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._samples: Sequence[int] = ()
        self._limit = 0
        self._subtitle = ""

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        self._samples, self._limit = picture.backlog, picture.tally.slots
        now, apart = (picture.broker.backlog, picture.broker.apart) if picture.broker is not None else (0, 0)
        held = f" · {units.short(apart)} apart" if apart else ""
        subtitle = f" now {units.short(now)}{held} · peak {units.short(max(self._samples, default=0))} "
        if subtitle != self._subtitle:
            self._subtitle = subtitle
            self.border_subtitle = Content(subtitle)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """The area, and its time axis in the last line."""
        columns, rows = width - _SCALE - 1, height - 1
        if columns < 8 or rows < 2:
            return []
        heights = peaks(self._samples, columns)
        top = units.round_up(max(heights))
        levels = [round(value / top * rows * 8) or (1 if value else 0) for value in heights]
        lines = []
        for row in range(rows):
            floor = (rows - 1 - row) * 8
            middle = row == rows // 2 and rows > 3
            scale = units.short(top) if row == 0 else units.short(top / 2) if middle else ""
            # a row is amber where its lower edge is above the limit
            over = bool(self._limit) and floor / 8 / rows * top >= self._limit
            ink = "chart-warn" if over else self._shade((rows - 1 - row) / max(1, rows - 1))
            blank = "┈" if row == 0 or middle else " "
            parts: Parts = [(fit(scale, _SCALE - 1, right=True) + " ", "label")]
            for level in levels:
                block = EIGHTHS[min(8, max(0, level - floor))]
                parts.append((blank, "chart-grid") if block == " " else (block, ink))
            lines.append(self.line(joined(parts), width))
        left, middle_, right = f"-{SPAN}s", f"-{SPAN // 2}s", "now"
        axis = left + middle_.center(columns - 2 * len(left)) + right.rjust(len(left))
        lines.append(self.line([(fit("0", _SCALE - 1, right=True) + " ", "label"), (axis, "label")], width))
        return lines

    def _shade(self, height: float) -> str:
        """The area is darker at its foot: four shades, so that the bands are calm."""
        return ("chart-low", "chart-mid", "chart-upper", "chart-high")[min(3, int(height * 4))]
