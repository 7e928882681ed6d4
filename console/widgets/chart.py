"""A figure over time as an area whose columns keep their peak; a cursor names one column's value and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.strip import Strip

from console import keys, units
from console.pictures.samples import HOUR, SAMPLES, SPANS
from console.text import fit
from console.widgets.ink import EIGHTHS, Panel, Parts, joined

_SCALE = 6  # cells of the vertical axis
LIT = "chart-lit"


def peaks(samples: Sequence[int], columns: int) -> list[int]:
    """The samples of a span as so many columns, newest right, each the highest of its share."""
    padded = [0] * (SAMPLES - len(samples)) + list(samples[-SAMPLES:])
    edges = [i * SAMPLES // columns for i in range(columns + 1)]
    return [max(padded[a : max(b, a + 1)]) for a, b in pairwise(edges)]


class Chart(Panel, can_focus=True):
    """``title`` of the frame; ``figure``: a value in words. What lies above ``limit`` is amber; 0: nothing does."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.CHART)]
    app: Any  # the host, which knows the span of all charts and the time of day

    def __init__(self, title: str, figure: Callable[[float], str] = units.short, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title, self._figure, self._hint = title, figure, ""
        self._samples: Sequence[int] = ()
        self._span = 0
        self._limit = 0
        self._now = self._ago = ""
        self._drawn_hint = ""
        self.compares = False  # whether now stands against an hour ago
        self._back: int | None = None  # columns from the right to the cursor
        self._said = ("", "")

    def hint(self, empty: str, key: str = "", fills: str = "") -> None:
        """What is shown while it is empty, and the key that fills it, by its id, where it does so here."""
        self._hint = empty if not key or key in self.app.idle_keys else f"{empty} · {fills}"

    def recall(self, hour: Sequence[int]) -> None:
        """What it was an hour ago, by the samples of the last hour; nobody knows yet where they are fewer."""
        known = len(hour) == SAMPLES
        self._ago = f" · an hour ago {self._figure(hour[0]) if known else '–'}" if self.compares else ""

    def fill(self, samples: Sequence[int], span: int, now: str, limit: int = 0) -> None:
        """Show the samples of a span; ``now``: what the figure is, in words."""
        before = self._samples, self._span, self._limit, self._drawn_hint
        self._samples, self._span, self._now, self._limit = samples, span, now, limit
        self._tell()
        if (samples, span, limit, self._hint) != before:
            self._drawn_hint = self._hint
            self.redraw()

    def _tell(self) -> None:
        columns = max(1, self.size.width - _SCALE - 1)
        if self._back is None:
            said = f" now {self._now}{self._ago} · peak {self._figure(max(self._samples, default=0))} "
        else:
            self._back = min(self._back, columns - 1)
            value = peaks(self._samples, columns)[columns - 1 - self._back]
            ago = (self._back + 0.5) * SPANS[self._span].seconds / columns
            said = f" ▲ {self._figure(value)} · {units.age(ago)} ago, {units.time_of_day(self.app.wall() - ago)} "
        title = f"{self._title} · {SPANS[self._span].name}"
        if (title, said) != self._said:
            self._said = title, said
            self.border_title, self.border_subtitle = Content(title), Content(said)

    def action_move(self, step: int) -> None:
        """Move the cursor by columns; it comes at the right edge."""
        self._back = max(0, (self._back if self._back is not None else -1 if step < 0 else 1) - step)
        self._tell()
        self.redraw()

    def action_unmark(self) -> None:
        """Take the cursor away."""
        self._back = None
        self._tell()
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """The area, and its time axis in the last line."""
        columns, rows = width - _SCALE - 1, height - 1
        if columns < 8 or rows < 2:
            return []
        heights = peaks(self._samples, columns)
        top = units.round_up(max(heights))
        levels = [round(value / top * rows * 8) or (1 if value else 0) for value in heights]
        marked = columns - 1 - self._back if self._back is not None else -1
        lines = []
        for row in range(rows):
            floor = (rows - 1 - row) * 8
            middle = row == rows // 2 and rows > 3
            scale = self._figure(top) if row == 0 else self._figure(top / 2) if middle else ""
            # a row is amber where its lower edge is above the limit
            over = bool(self._limit) and floor / 8 / rows * top >= self._limit
            ink = "chart-warn" if over else self._shade((rows - 1 - row) / max(1, rows - 1))
            blank = "┈" if row == 0 or middle else " "
            parts: Parts = [(fit(scale, _SCALE - 1, right=True) + " ", "label")]
            for column, level in enumerate(levels):
                block = EIGHTHS[min(8, max(0, level - floor))]
                if column == marked:
                    parts.append(("┊" if block == " " else block, "accent bold"))
                else:
                    parts.append((blank, "chart-grid") if block == " " else (block, ink))
            lines.append(self.line(joined(parts), width))
        if self._hint and not any(heights) and self._back is None:
            words: Parts = [(" " * _SCALE, "text"), (fit(self._hint, columns).strip().center(columns), "label")]
            lines[max(1, rows // 2 - 1)] = self.line(words, width)
        lines.append(self.line(self._axis(columns, marked), width))
        return lines

    def _axis(self, columns: int, marked: int) -> Parts:
        seconds = SPANS[self._span].seconds
        left, middle, right = f"-{_round(seconds)}", f"-{_round(seconds / 2)}", "now"
        axis = left + middle.center(columns - 2 * len(left)) + right.rjust(len(left))
        parts: Parts = [(fit("0", _SCALE - 1, right=True) + " ", "label")]
        if marked < 0:
            return [*parts, (axis, "label")]
        return [*parts, (axis[:marked], "label"), ("▲", "accent bold"), (axis[marked + 1 :], "label")]

    def _shade(self, height: float) -> str:
        """The area is darker at its foot: four shades, so that the bands are calm."""
        return ("chart-low", "chart-mid", "chart-upper", "chart-high")[min(3, int(height * 4))]


def _round(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size or (seconds >= size and unit == "h"):
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


class Backlog(Chart):
    """What waits. What lies above all the workers' slots together is amber."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("backlog", id=id)

    def show(self, picture: Any) -> None:
        """Show a picture."""
        broker = picture.broker
        self._title = "backlog on disk" if broker is not None and broker.kept is not None else "backlog"
        now, apart = (broker.backlog, broker.apart) if broker is not None else (0, 0)
        self.hint("nothing waited", "run.data", "d fills it")
        held = f" · {units.short(apart)} apart" if apart else ""
        span = self.app.span
        self.recall(picture.series["backlog"].values(HOUR))
        self.fill(picture.series["backlog"].values(span), span, units.short(now) + held, picture.tally.slots)


class Lost(Chart):
    """Workers that were silent for too long."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("lost workers", id=id)

    def show(self, picture: Any) -> None:
        """Show a picture."""
        self.hint("no worker was lost")
        span = self.app.span
        self.recall(picture.series["lost"].values(HOUR))
        self.fill(picture.series["lost"].values(span), span, units.short(picture.tally.states.get("lost", 0)))


class Throughput(Chart):
    """Tasks a second that ended well."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("throughput", id=id)

    def show(self, picture: Any) -> None:
        """Show a picture."""
        self.hint("nothing ended", "run.ping", "p runs pings")
        span = self.app.span
        self.recall(picture.series["throughput"].values(HOUR))
        self.fill(picture.series["throughput"].values(span), span, f"{units.short(picture.rates.done)}/s")


class Done(Chart):
    """Documents a second that leave the last stage of a pipeline."""

    def __init__(self) -> None:
        super().__init__("documents done", id="throughput")

    def show(self, picture: Any) -> None:
        """Show a picture."""
        self.hint("none left the last stage")
        self.recall(picture.series["throughput"].values(HOUR))
        span = self.app.span
        self.fill(picture.series["throughput"].values(span), span, f"{units.short(picture.rate)}/s")


class Waiting(Chart):
    """Documents that wait in a pipeline."""

    def __init__(self) -> None:
        super().__init__("documents waiting", id="backlog")

    def show(self, picture: Any) -> None:
        """Show a picture."""
        self.hint("none waited")
        self.recall(picture.series["backlog"].values(HOUR))
        span = self.app.span
        self.fill(picture.series["backlog"].values(span), span, units.short(picture.books.waiting))


class Delay(Chart):
    """The slowest hundredth of what was answered, from the broker's taking it to its answer."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("latency p99", duration_or_none, id=id)

    def show(self, picture: Any) -> None:
        """Show a picture."""
        self.hint("nothing was answered", "run.ping", "p runs pings")
        span = self.app.span
        newest = picture.series["latency"].values(0)[-1:]
        self.recall(picture.series["latency"].values(HOUR))
        self.fill(picture.series["latency"].values(span), span, duration_or_none(newest[0] if newest else 0))


def duration_or_none(us: float) -> str:
    """A duration in µs; where it is 0 nothing was measured."""
    return units.duration(us) if us else "–"
