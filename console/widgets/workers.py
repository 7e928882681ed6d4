"""The worker table: one row a worker, as the broker sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from textual.content import Content

from console import units
from console.pictures.bridge import Picture
from console.pictures.rows import Listed, RowFilter, Shown
from console.text import clean, fit, fit_tail, true_bytes
from console.widgets.ink import Panel, Parts
from console.widgets.table import Column, Table
from engine.core import NEVER
from engine.parts.view import State

STATES: dict[State, tuple[str, str]] = {
    "ready": ("●", "good"),
    "busy": ("●", "busy"),
    "late": ("◐", "warn"),
    "silent": ("◌", "label"),
    "lost": ("○", "bad"),
    "drain": ("◇", "drain"),
}
"""Glyph and ink. The word is always beside it, so the state shows without colours."""

_ORDER = {state: place for place, state in enumerate(("lost", "late", "silent", "drain", "busy", "ready"))}
Drawn = Callable[[Shown, float, int], Parts]

_GAUGE = 5  # cells of the heartbeat line


def squares(taken: int, total: int, cells: int) -> Parts:
    """``taken`` of ``total`` as discrete squares, scaled where there are more than fit."""
    if total <= 0:
        return [(" " * cells, "text")]
    boxes = min(total, cells)
    full = min(boxes, -(-taken * boxes // total)) if taken > 0 else 0
    return [("■" * full, "busy"), ("□" * (boxes - full), "faint"), (" " * (cells - boxes), "text")]


def gauge(left: float, cells: int, ink: str) -> Parts:
    """A line; the part ``left`` (0..1) of it has not drained yet."""
    halves = round(min(1.0, max(0.0, left)) * cells * 2)
    full, half = divmod(halves, 2)
    return [("━" * full + "╸" * half, ink), ("─" * (cells - full - half), "faint")]


def _heartbeat(row: Shown, now: float, cells: int) -> Parts:
    """How much of its silence a worker has left, and how old its last message is."""
    worker = row.worker
    age = (" " + fit(units.age(now - worker.heard), 4, right=True), "label")
    if worker.state == "lost":
        return [("─" * (cells - 5), "bad"), (age[0], "bad")]
    if worker.lost_at == NEVER or worker.lost_at <= worker.heard:
        return [(fit("·", cells - 5), "faint"), age]
    ink = "warn" if worker.state == "late" else "good"
    left = (worker.lost_at - now) / (worker.lost_at - worker.heard)
    return [*gauge(left, cells - 5, ink), (age[0], "warn" if worker.state == "late" else "label")]


def _name(row: Shown, now: float, cells: int) -> Parts:
    ink = {"lost": "bad", "late": "warn"}.get(row.worker.state, "text bold")
    return [(fit_tail(row.label, cells), ink)]


def _slots(row: Shown, now: float, cells: int) -> Parts:
    worker = row.worker
    used = worker.slots - worker.free
    bar = squares(used, worker.slots, cells - 6)
    return [*bar, (fit(f"{used}", 3, right=True), "text" if used else "label"), (fit(f"/{worker.slots}", 3), "label")]


def _number(ink: str, value: int, cells: int) -> Parts:
    text = units.count(value)
    return [(fit(text if len(text) <= cells else units.short(value), cells, right=True), ink)]


def _alive(row: Shown) -> str:
    return "label" if row.worker.state == "lost" else "text"


def _failed(row: Shown, now: float, cells: int) -> Parts:
    failed = row.worker.failed
    if not failed:
        return [(fit("·", cells, right=True), "faint")]
    return _number("bad bold" if failed > 9 else "warn", failed, cells)


def _wrong(row: Shown, now: float, cells: int) -> Parts:
    if not row.worker.violations:
        return [(fit("·", cells, right=True), "faint")]
    return _number("bad bold", row.worker.violations, cells)


def _rtt(row: Shown, now: float, cells: int) -> Parts:
    rtt = row.worker.rtt
    if rtt is None or row.worker.state == "lost":
        return [(fit("–", cells, right=True), "faint")]
    return [(fit(units.duration(rtt * 1e6), cells, right=True), "text")]


def _seconds(value: float | None, cells: int) -> Parts:
    if value is None:
        return [(fit("·", cells, right=True), "faint")]
    return [(fit(units.duration(value * 1e6), cells, right=True), "text")]


def _p50(row: Shown, now: float, cells: int) -> Parts:
    return _seconds(row.worker.took.p50 if row.worker.took else None, cells)


def _p99(row: Shown, now: float, cells: int) -> Parts:
    return _seconds(row.worker.took.p99 if row.worker.took else None, cells)


def _state(row: Shown, now: float, cells: int) -> Parts:
    glyph, ink = STATES[row.worker.state]
    return [(glyph, ink), (fit(f" {row.worker.state}", cells - 1), ink)]


def _place(row: Shown, now: float, cells: int) -> Parts:
    """Its place in the broker's order."""
    if row.place == 1:
        return [(fit("next", cells, right=True), "good")]
    return [(fit(str(row.place or "·"), cells, right=True), "label" if row.place else "faint")]


def _rate(row: Shown, now: float, cells: int) -> Parts:
    return _number("text" if row.rate else "label", round(row.rate), cells)


def _in_flight(row: Shown, now: float, cells: int) -> Parts:
    return _number(_alive(row), row.worker.in_flight, cells)


def _done(row: Shown, now: float, cells: int) -> Parts:
    return _number(_alive(row), row.worker.done, cells)


def _figure(
    name: str, title: str, width: int, need: int, value: Callable[[Shown], float], draw: Drawn
) -> Column[Shown]:
    """Numbers stand at the right, and the largest are what one looks for."""
    return Column(name, title, width, value, draw, need=need, right=True, falling=True)


COLUMNS: tuple[Column[Shown], ...] = (
    Column("worker", "worker", 10, lambda row: row.order, _name, need=9, stretch=24, steady=True),
    Column("slots", "slots used", 11, lambda row: row.worker.slots - row.worker.free, _slots, need=5)._replace(
        falling=True, stretch=16
    ),
    _figure("in-flight", "in flight", 4, 6, lambda row: row.worker.in_flight, _in_flight)._replace(
        stretch=9, short="infl"
    ),
    _figure("done", "done", 7, 4, lambda row: row.worker.done, _done),
    _figure("rate", "rate", 6, 8, lambda row: row.rate, _rate),
    _figure("fail", "fail", 4, 3, lambda row: row.worker.failed, _failed),
    _figure("violations", "violations", 4, -1, lambda row: row.worker.violations, _wrong)._replace(
        stretch=10, short="viol"
    ),
    Column("heartbeat", "heartbeat", _GAUGE + 5, lambda row: row.worker.heard, _heartbeat, need=2, stretch=17),
    _figure("p50", "p50", 5, 0, lambda row: row.worker.took.p50 if row.worker.took else 0.0, _p50),
    _figure("p99", "p99", 5, 7, lambda row: row.worker.took.p99 if row.worker.took else 0.0, _p99),
    _figure("rtt", "rtt", 5, 1, lambda row: row.worker.rtt or 0.0, _rtt),
    Column("order", "order", 5, lambda row: row.place or NEVER, _place, need=8, right=True),
    Column("state", "state", 8, lambda row: _ORDER[row.worker.state], _state, need=10),
)


def pool_column(pool_of: Callable[[bytes], str | None]) -> Column[Shown]:
    """The pool of each worker: those of this process by name, the one without a name first, then all others."""

    def value(row: Shown) -> tuple[bool, str]:
        pool = pool_of(row.worker.key)
        return pool is None, pool or ""

    def draw(row: Shown, now: float, cells: int) -> Parts:
        pool = pool_of(row.worker.key)
        return [(fit("elsewhere" if pool is None else pool or "–", cells), "text" if pool else "label")]

    return Column("pool", "pool", 9, value, draw, need=9)


def with_own(own: Sequence[Column[Shown]], without: Collection[str]) -> tuple[Column[Shown], ...]:
    """The columns for a system with some of its own, before the state, and without some that say nothing in it."""
    kept = [column for column in COLUMNS if column.id not in without]
    return (*kept[:-1], *own, kept[-1])


class Workers(Table[Shown], Panel):
    """The broker's workers, sorted and filtered."""

    BORDER_TITLE = "workers"

    def __init__(self, columns: Sequence[Column[Shown]] = COLUMNS, *, id: str | None = None) -> None:
        super().__init__(columns, lambda row: row.worker.key, empty="no workers", id=id)
        self.sort_column = COLUMNS[0]
        self.filter: RowFilter | None = None
        self._picture: Picture | None = None
        self._subtitle = ""

    def copied(self) -> str:
        """The name and the routing id of the chosen worker; "" for none."""
        row = self.chosen()
        return f"{row.label} {true_bytes(row.worker.key)}" if row is not None else ""

    def show(self, picture: Picture) -> None:
        """Show the workers of a picture."""
        self._picture = picture
        if self.marks and not self.marks <= (there := {row.worker.key for row in picture.rows}):
            self.marks &= there
            self.on_table_sorted()
        rows = picture.rows if self.filter is None else [row for row in picture.rows if self.filter(row)]
        self._empty = "no worker matches" if picture.rows else "no workers"
        self.set_rows(rows, picture.at)

    def changed(self, before: Sequence[Shown], rows: Sequence[Shown]) -> bool | None:
        """Whether some rows may be others; see ``Table``. The rows of a picture know it without being made."""
        return True if isinstance(rows, Listed) and rows.alike(before) else super().changed(before, rows)

    def picked(self) -> list[Shown]:
        """All marked workers by name, also those that the filter hides; where none is marked, the chosen one."""
        if self.marks and self._picture is not None:
            rows = [row for row in self._picture.rows if row.worker.key in self.marks]
            return sorted(rows, key=lambda row: row.order)
        row = self.chosen()
        return [] if row is None else [row]

    def mark(self, row: Shown) -> None:
        """Mark a worker, or take its mark away. Its mark goes when its broker no longer knows it."""
        self.marks ^= {row.worker.key}
        self.on_table_sorted()
        self.redraw()

    def clear_marks(self) -> None:
        """Take all marks away."""
        self.marks.clear()
        self.on_table_sorted()
        self.redraw()

    def marked(self, parts: Parts) -> Parts:
        """What the filter matches is underlined."""
        if self.filter is None or self.filter.inverse:
            return parts
        found: Parts = []
        for text, ink in parts:
            place = 0
            for match in self.filter.pattern.finditer(text):
                if match.group().strip():
                    found += [(text[place : match.start()], ink), (match.group(), f"{ink} underline")]
                    place = match.end()
            found.append((text[place:], ink))
        return found

    def group_by(self, pool_of: Callable[[bytes], str | None] | None) -> None:
        """Let the workers of one pool stand together, and say which it is; None: as before."""
        self.columns = tuple(column for column in self.columns if column.id != "pool")
        self.group = None
        if pool_of is not None:
            column = pool_column(pool_of)
            self.columns = (self.columns[0], column, *self.columns[1:])
            self.group = column.value
        chosen = self.sort_column
        self.sort_by(chosen if chosen is not None and chosen.id != "pool" else self.columns[0], self.reverse)

    def set_filter(self, wanted: RowFilter | None) -> None:
        """Show only the rows that match; the workers themselves do not change."""
        self.filter = wanted
        if self._picture is not None:
            self.show(self._picture)
        self.on_table_sorted()

    def on_table_sorted(self) -> None:
        """Say how many rows are shown in which order."""
        total = len(self._picture.rows) if self._picture else 0
        number = units.count(total) if self.filter is None else f"{len(self.shown):,} of {total:,}"
        order = f"by {self.sort_column.id} {self.arrow}" if self.sort_column else ""
        wanted = f" · /{clean(self.filter.text)}" if self.filter else ""
        marked = f" · {len(self.marks)} marked" if self.marks else ""
        subtitle = f"{number} · {order}{wanted}{marked}"
        if subtitle != self._subtitle:
            self._subtitle = subtitle
            self.border_subtitle = Content(f" {subtitle} ")
