"""The documents of one stage: what failed, what is in work, what went through, what waits."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.pictures.queuebridge import Document, QueuePicture, State, documents_of
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.table import Column, Table

STATES: dict[State, tuple[str, str]] = {
    "failed twice": ("×", "bad"),
    "failed": ("◐", "warn"),
    "working": ("▶", "busy"),
    "published": ("✓", "good"),
    "returned": ("◇", "drain"),
    "ready": ("●", "label"),
}
"""Glyph and ink. The word is always beside it, so the state shows without colours."""

_ORDER = {state: place for place, state in enumerate(STATES)}


def _id(row: Document, now: float, cells: int) -> Parts:
    ink = {"failed twice": "bad", "failed": "warn", "ready": "label"}.get(row.state, "text")
    return [(fit(clean(row.id), cells), ink)]


def _state(row: Document, now: float, cells: int) -> Parts:
    glyph, ink = STATES[row.state]
    return [(glyph, ink), (fit(f" {row.state}", cells - 1), ink)]


def _number(text: str, cells: int, ink: str = "text") -> Parts:
    return [(fit(text or "·", cells, right=True), ink if text else "faint")]


def _driver(row: Document, now: float, cells: int) -> Parts:
    return _number(row.number, cells)


def _attempt(row: Document, now: float, cells: int) -> Parts:
    return _number(str(row.attempt) if row.attempt else "", cells, "text" if row.attempt == 1 else "warn")


def _took(row: Document, now: float, cells: int) -> Parts:
    return _number(units.duration(row.ms * 1000) if row.at else "", cells)


def _ago(row: Document, now: float, cells: int) -> Parts:
    return _number(units.age(now - row.at) if row.at else "", cells, "label")


def _error(row: Document, now: float, cells: int) -> Parts:
    return [(fit(clean(row.text), cells), "label")]


COLUMNS: tuple[Column[Document], ...] = (
    Column("document", "document", 12, lambda row: row.id, _id, need=9, stretch=24),
    Column("state", "state", 14, lambda row: _ORDER[row.state], _state, need=8),
    Column("driver", "driver", 6, lambda row: int(row.number or 0), _driver, need=3, right=True),
    Column("try", "try", 3, lambda row: row.attempt, _attempt, need=4, right=True, falling=True),
    Column("took", "took", 5, lambda row: row.ms, _took, need=2, right=True, falling=True),
    Column("ago", "ago", 4, lambda row: -row.at, _ago, need=5, right=True),
    Column("error", "error", 10, lambda row: row.text, _error, need=1, stretch=60, falling=True),
)


class Documents(Table[Document]):
    """Of the chosen stage; in the order of what needs looking after first."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.STAGES)]  # where a scroll view has others

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(COLUMNS, lambda row: row.id, empty="no documents here yet", id=id)
        self._title = ""

    def show(self, picture: QueuePicture, place: int) -> None:
        """Show a picture, and in it the stage at this place."""
        view = picture.view
        rows = documents_of(view, place)
        self.set_rows(rows, view.at)
        before, stage = view.queues[place].name, view.stages[place].name
        entry = picture.entries[place]
        waiting = entry.waiting + entry.working + entry.failed_twice
        title = f"documents · {before} → {stage}"
        if title != self._title:
            self._title = title
            self.border_title = Content(title)
            self.release()
        self.border_subtitle = Content(f" {units.count(waiting)} here · {units.count(entry.published)} gone on ")
