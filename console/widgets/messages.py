"""Messages as rows, in words or as arrows. The newest stay in view until one is selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from textual.message import Message
from textual.strip import Strip

from console import units
from console.pictures.rows import short_name
from console.text import clean, fit
from console.widgets.ink import Parts, joined
from console.widgets.table import Column, Table
from engine.parts.explain import key_name
from engine.tracing.ladder import HEAD, TIME, Ladder, Row, ladder, text
from engine.tracing.links import Arrow

LANE = 12  # cells that a lane takes at least
LANES = 8
CLOCK = 15  # cells of a time of the day in front of a ladder

R = TypeVar("R")

STATES = {
    "arrived": ("●", "good"),
    "under way": ("◌", "label"),
    "lost": ("×", "bad"),
    "refused": ("×", "bad"),
    "heard": ("○", "label"),
    "note": ("·", "label"),
}
"""Glyph and ink of an arrow's state."""


class MessageLine(NamedTuple):
    """One arrow as a table holds it."""

    arrow: Arrow
    at: float  # seconds since the lab began
    row: Row | None = None  # its place in a ladder
    zero: float | None = None  # when the lab began, where times of the day are shown


def key_of(told: MessageLine) -> tuple[int, int]:
    """What tells arrows apart for as long as they are in the ring."""
    entry = told.arrow.ends[0]
    return entry.number, entry.part


class Tail(Table[R], Generic[R]):
    """A table that grows at its end."""

    class Moved(Message):
        """Another row is chosen."""

    def set_rows(self, rows: Sequence[R], now: float = 0.0) -> None:
        """Show these rows; the last ones, where nothing was chosen."""
        super().set_rows(rows, now)
        if self.cursor is None:
            self._show_last()

    def current(self) -> R | None:
        """The chosen row, else the newest."""
        place = self._place()
        return self.shown[-1 if place is None else place] if self.shown else None

    def chosen(self) -> R | None:
        """The chosen row; where there is none the newest becomes it."""
        if self.cursor is None and self.shown:
            self._move(len(self.shown) - 1)
        return super().chosen()

    def release(self) -> None:
        """Clear the selection and show the newest again."""
        self.cursor = None
        self._show_last()
        self.redraw()

    def action_cursor(self, step: int) -> None:
        """Move by rows; the first move begins at the newest."""
        if self._place() is None:
            self._move(len(self.shown) - 1)
        else:
            super().action_cursor(step)

    def action_page(self, step: int) -> None:
        """Move by pages; the first move begins at the newest."""
        if self._place() is None:
            self._move(len(self.shown) - 1)
        super().action_page(step)

    def on_resize(self) -> None:
        """What was at the end stays there."""
        super().on_resize()
        if self.cursor is None:
            self._show_last()

    def _move(self, place: int) -> None:
        super()._move(place)
        self.post_message(self.Moved())

    def _show_last(self) -> None:
        self.scroll_to(y=max(0, len(self.shown) + 1 - self.size.height), animate=False, force=True)


# ---- in words ----------------------------------------------------------------------------------------------------


def _ink(told: MessageLine) -> str:
    arrow = told.arrow
    if arrow.entry.violation or arrow.state in ("lost", "refused"):
        return "bad"
    if arrow.state == "note":
        return {"warn": "warn", "bad": "bad"}.get(arrow.entry.command, "label")
    return "text" if arrow.entry.decoded.leg else "label"


def _time(told: MessageLine, _: float, width: int) -> Parts:
    return [(fit(units.moment(told.at, told.zero), width, right=True), "label")]


def _way(told: MessageLine, _: float, width: int) -> Parts:
    arrow = told.arrow
    if arrow.state == "note":
        return [(fit(f"{short_name(arrow.source)} says", width), "label")]
    glyph, ink = STATES[arrow.state]
    return [(glyph, ink), (fit(f" {short_name(arrow.source)} → {short_name(arrow.target)}", width - 1), _ink(told))]


def _command(told: MessageLine, _: float, width: int) -> Parts:
    ink = _ink(told)
    return [(fit(clean(told.arrow.entry.command), width), f"{ink} bold" if ink == "text" else ink)]


def _task(told: MessageLine, _: float, width: int) -> Parts:
    task = told.arrow.task
    return [(fit(clean(key_name(task)) if task else "", width, right=True), "accent")]


def _fields(told: MessageLine, _: float, width: int) -> Parts:
    entry = told.arrow.entry
    if entry.violation:
        return [(fit(clean(entry.violation), width), "bad")]
    words = " ".join(value if name == "text" else f"{name}={value}" for name, value in entry.fields if name != "task")
    return [(fit(clean(words), width), _ink(told))]


def _size(told: MessageLine, _: float, width: int) -> Parts:
    words = "" if told.arrow.state == "note" else units.count(told.arrow.entry.size)
    return [(fit(words, width, right=True), "label")]


def _rule(told: MessageLine, _: float, width: int) -> Parts:
    return [(fit(clean(told.arrow.entry.rule), width), "label")]


TRACE: tuple[Column[MessageLine], ...] = (
    Column("time", "time", 13, lambda told: told.at, _time, need=8, right=True),
    Column("way", "from → to", 24, lambda told: told.arrow.source, _way, need=9, stretch=34),
    Column("command", "command", 10, lambda told: told.arrow.entry.command, _command, need=10, stretch=14),
    Column("task", "task", 6, lambda told: str(told.arrow.task), _task, need=7, right=True),
    Column("fields", "fields", 12, lambda told: told.arrow.entry.fields, _fields, need=6, stretch=60),
    Column("size", "bytes", 6, lambda told: told.arrow.entry.size, _size, need=4, right=True),
    Column("rule", "rule of the seed", 18, lambda told: told.arrow.entry.rule, _rule, need=5, stretch=40),
)


OF_QUEUES = tuple(
    column._replace(title="document", width=12, stretch=24) if column.id == "task" else column
    for column in TRACE
    if column.id != "size"
)
"""Of operations on files: their tasks are documents, which have names, and nothing is said with bytes."""


class TraceTable(Tail[MessageLine]):
    """Every message, one a row."""

    def __init__(self, columns: tuple[Column[MessageLine], ...] = TRACE, *, id: str | None = None) -> None:
        super().__init__(
            columns, key_of, empty="nothing was said since this was opened, or nothing that fits the filter", id=id
        )

    def set_arrows(self, arrows: Sequence[Arrow], started: float, zero: float | None = None) -> None:
        """Show these; ``started``: what their times are counted from; ``zero``: when that was, for times of the day."""
        self.set_rows([MessageLine(arrow, arrow.at - started, None, zero) for arrow in arrows])


# ---- as arrows ---------------------------------------------------------------------------------------------------


class LadderTable(Tail[MessageLine]):
    """The same as a sequence diagram."""

    def __init__(self, *, id: str | None = None) -> None:
        column: Column[MessageLine] = Column("ladder", "", 40, lambda told: told.at, self._draw_row, stretch=1000)
        super().__init__(
            (column,), key_of, empty="nothing was said since this was opened, or nothing that fits the filter", id=id
        )
        self.lanes: tuple[str, ...] = ()
        self.zero: float | None = None  # when the lab began, where times of the day are shown
        self.first: tuple[str, ...] = ()  # lanes that are always shown
        self.order: tuple[str, ...] = ()  # of lanes, where it is not that of roles
        self.least, self.most = LANE, LANES  # cells that a lane takes at least; lanes at most

    def set_arrows(self, arrows: Sequence[Arrow], started: float, zero: float | None = None) -> None:
        """Show these; ``started``: what their times are counted from; ``zero``: when that was, for times of the day."""
        self.zero = zero
        diagram = ladder(arrows, self._most(), self.first, self.order)
        self.lanes = diagram.lanes
        rows = (row._replace(at=row.arrow.at - started) for row in diagram.rows)
        self.set_rows([MessageLine(row.arrow, row.at, row, zero) for row in rows])

    def diagram(self) -> Ladder:
        """What is shown."""
        return Ladder(self.lanes, tuple(told.row for told in self.shown if told.row is not None))

    @property
    def _wide(self) -> int:
        """Cells of the time in front."""
        return TIME if self.zero is None else CLOCK

    def _most(self) -> int:
        return max(3, min(self.most, (self.size.width - self._wide) // self.least))

    def _header(self, chosen: list[tuple[Column[Any], int]], width: int) -> Strip:
        names = text(Ladder(self.lanes, ()), width - 2 - self._wide + TIME)[0][TIME:]
        head = f"{'seconds' if self.zero is None else 'time':>{self._wide - 2}}  {names}"
        return self.line([(" ", "text"), (fit(clean(head), width - 1), "text bold")], width)

    def _draw_row(self, told: MessageLine, _: float, width: int) -> Parts:
        if told.row is None:
            return [(" " * width, "text")]
        wide = self._wide
        words = fit(text(Ladder(self.lanes, (told.row,)), width - wide + TIME)[HEAD], width - wide + TIME)
        ink = _arrow_ink(told, told.row)
        parts = [(letter, "frame" if letter in "│" else ink) for letter in words[TIME:]]
        return [(f"{units.moment(told.at, told.zero):>{wide - 2}}  ", "label"), *joined(parts)]


def _arrow_ink(told: MessageLine, row: Row) -> str:
    ink = _ink(told)
    if ink == "text":
        return "flow" if row.source < row.target else "back"
    return ink
