"""This machine's processes and those of ``[[fleet]]``, a line each, the worst first; enter attaches to one.

Lost ones keep their figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.screens.layer import Layer
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.table import Column, Table
from engine.labs.fleet import CRITICAL, LOST, WARNING, WELL, Fleet, Member, Queue, waiting_in_all

WORDS = {LOST: ("✗ lost", "bad"), CRITICAL: ("✗ alert", "bad"), WARNING: ("! look", "warn"), WELL: ("● well", "good")}


def _text(text: str, cells: int, ink: str = "text") -> Parts:
    return [(fit(clean(text), cells), ink)]


def _figure(name: str, need: int, value: Callable[[Member], float | None], ink: str = "text") -> Column[Member]:
    def draw(row: Member, now: float, cells: int) -> Parts:
        number = value(row)
        shown = "·" if number is None else units.short(number) if number else "0"
        return [(fit(shown, cells, right=True), ink if number else "label")]

    return Column(name, name, 9, lambda row: value(row) or 0, draw, need=need, right=True, falling=True)


def _name(row: Member, now: float, cells: int) -> Parts:
    return _text(row.found.name, cells, "text bold")


def _what(row: Member, now: float, cells: int) -> Parts:
    if row.trouble or not row.found.system:
        return _text(row.trouble or "not heard yet", cells, "warn")
    return _text(f"{row.found.system} {row.found.role}", cells, "label")


def _state(row: Member, now: float, cells: int) -> Parts:
    words, ink = WORDS[row.state(now)]
    return _text(words, cells, ink)


def _heard(row: Member, now: float, cells: int) -> Parts:
    age = units.age(max(0.0, now - row.heard)) if row.found.system else "never"
    return [(fit(age, cells, right=True), "label")]


def _store(row: Member, now: float, cells: int) -> Parts:
    """Its trouble, or the queue that it shares: brokers, who leads it, how many of its copies are in step."""
    if row.store or row.queue is None:
        return _text(row.store, cells, "bad")
    ink = "bad" if not row.queue.leader else "warn" if row.queue.behind else "label"
    return _text(_queue(row.queue), cells, ink)


def _queue(queue: Queue) -> str:
    words = f"{units.several(queue.brokers, 'broker')} · {queue.leader or 'no leader'}"
    return f"{words} · {queue.copies - queue.behind}/{queue.copies}" if queue.copies > 1 else words


COLUMNS: tuple[Column[Member], ...] = (
    Column("name", "name", 16, lambda row: row.found.name, _name, need=9, stretch=30),
    Column("what", "what", 19, lambda row: row.found.system, _what, need=9, stretch=40),
    Column("state", "state", 8, lambda row: row.heard, _state, need=10),
    _figure("workers", 7, lambda row: row.workers),
    _figure("lost", 5, lambda row: row.lost_workers, "bad"),
    _figure("backlog", 8, lambda row: row.backlog, "warn"),
    _figure("in flight", 4, lambda row: row.in_flight),
    _figure("done/s", 6, lambda row: row.rate, "text bold"),
    _figure("alerts", 8, lambda row: row.alerts, "bad"),
    Column("store", "store", 21, lambda row: row.store, _store, need=1, stretch=30),
    Column("heard", "heard", 7, lambda row: -row.heard, _heard, need=2, right=True),
)


def _totals(members: Sequence[Member], now: float) -> str:
    """Of all that are not lost."""
    there = [member for member in members if member.state(now) != LOST]
    brokers = [member for member in there if member.found.role != "worker"]
    workers, backlog = sum(member.workers or 0 for member in brokers), waiting_in_all(brokers)
    rate = sum(member.rate or 0.0 for member in brokers)
    queues = {member.queue.place: member.queue for member in brokers if member.queue is not None}
    shared = "".join(f" · {place}: {units.short(one.waiting)} wait, {_queue(one)}" for place, one in queues.items())
    return f"{units.short(workers)} workers · backlog {units.short(backlog)} · {units.short(rate)} done/s{shared}"


class FleetScreen(Layer):
    """``go``: attach to one."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.FLEET))]

    def __init__(self, fleet: Fleet, go: Callable[[Member], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.fleet, self._go, self._clock = fleet, go, clock
        self.table: Table[Member] = Table(COLUMNS, lambda row: row.found.path, empty="looking …", id="page")

    def compose(self) -> ComposeResult:
        """The table and the key bar."""
        yield self.table
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Begin to look for processes."""
        self.set_focus(self.table)
        self.fleet.open()

    def on_unmount(self) -> None:
        """Stop looking."""
        self.fleet.close()

    def show(self, picture: Any) -> None:
        """Show what was found; the picture of a lab has nothing to do with it."""
        now = self._clock()
        members = self.fleet.ranked(now)
        self.table.set_rows(members, now)
        troubled = sum(member.state(now) != WELL for member in members)
        self.table.border_title = Content("fleet · this machine and [[fleet]]")
        words = self.fleet.trouble or f"{len(members)}, {troubled} to look at · {_totals(members, now)}"
        self.table.border_subtitle = Content(f" {clean(words)} ")

    def on_table_chosen(self) -> None:
        """A double click attaches."""
        self.action_open()

    def action_open(self) -> None:
        """Attach to the selected one."""
        if (row := self.table.chosen()) is not None:
            if row.found.system:
                self.dismiss()
            self._go(row)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.table.sort_next()

    def action_back(self) -> None:
        """To the screen before."""
        self.dismiss()
