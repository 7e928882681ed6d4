"""The drivers of one stage."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.pictures.queuebridge import QueuePicture
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.table import Column, Table
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.pipeline import DriverRow


def state_of(row: DriverRow) -> tuple[str, str, str]:
    """Glyph, ink and word."""
    if row.leaving:
        return "◇", "drain", "leaving"
    return ("▶", "busy", "working") if row.document else ("○", "label", "idle")


def shares(times: DriverTimes) -> tuple[tuple[str, float], ...]:
    """Parts of a hundred that went into work, waiting for documents, waiting for room, and the rest; zeros for none."""
    whole = times.work + times.wait + times.block + times.overhead
    parts = (("work", times.work), ("wait", times.wait), ("block", times.block), ("overhead", times.overhead))
    return tuple((name, 100 * value / whole if whole else 0.0) for name, value in parts)


def _number(row: DriverRow, now: float, cells: int) -> Parts:
    return [(fit(row.number, cells), "text bold")]


def _state(row: DriverRow, now: float, cells: int) -> Parts:
    glyph, ink, word = state_of(row)
    return [(glyph, ink), (fit(f" {word}", cells - 1), ink)]


def _document(row: DriverRow, now: float, cells: int) -> Parts:
    return [(fit(clean(row.document) or "·", cells), "text" if row.document else "faint")]


def _docs(row: DriverRow, now: float, cells: int) -> Parts:
    text = units.count(row.times.docs)
    return [(fit(text if len(text) <= cells else units.short(row.times.docs), cells, right=True), "text")]


def _memory(row: DriverRow, now: float, cells: int) -> Parts:
    return [(fit(units.size(row.memory) if row.memory else "–", cells, right=True), "text" if row.memory else "faint")]


def _cpu(row: DriverRow, now: float, cells: int) -> Parts:
    return [(fit(f"{row.cpu:.0f} %", cells, right=True), "text" if row.cpu >= 0.5 else "faint")]


def _up(row: DriverRow, now: float, cells: int) -> Parts:
    return [(fit(units.age(now - row.since) if row.since else "–", cells, right=True), "label")]


COLUMNS: tuple[Column[DriverRow], ...] = (
    Column("driver", "driver", 6, lambda row: int(row.number), _number, need=9),
    Column("state", "state", 9, lambda row: state_of(row)[2], _state, need=8),
    Column("document", "document", 12, lambda row: row.document, _document, need=7, stretch=24),
    Column("docs", "docs", 5, lambda row: row.times.docs, _docs, need=5, right=True, falling=True),
    Column("memory", "memory", 8, lambda row: row.memory, _memory, need=4, right=True, falling=True),
    Column("cpu", "cpu", 5, lambda row: row.cpu, _cpu, need=2, right=True, falling=True),
    Column("up", "up", 4, lambda row: row.since, _up, need=1, right=True),
)


class Drivers(Table[DriverRow]):
    """Of the chosen stage, by their numbers."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.STAGES)]  # where a scroll view has others

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(COLUMNS, lambda row: row.number, empty="no driver runs", id=id)
        self._title = ""

    def show(self, picture: QueuePicture, place: int) -> None:
        """Show a picture, and in it the stage at this place."""
        view, stage = picture.view, picture.view.stages[place]
        self._empty = {
            "paused": "the stage is paused",
            "stopped": clean(stage.reason),
            "done": "the stage is done",
        }.get(stage.state, "no driver runs")
        self.set_rows([row for row in view.drivers if row.stage == stage.name], view.at)
        if stage.name != self._title:
            self._title = stage.name
            self.release()
        self.border_title = Content(f"drivers · {clean(stage.name)}{f' · {clean(stage.full)}' if stage.full else ''}")
        parts = " ".join(f"{name} {share:.0f}" for name, share in shares(stage.times)[:3])
        number = f"{stage.running}/{stage.wanted} · " if self.size.width >= 40 else ""
        self.border_subtitle = Content(f" {number}{parts} % ")
