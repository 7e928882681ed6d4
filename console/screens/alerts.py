"""The alerts of all labs that run: what fires, since when, and who acknowledged or silenced it."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.guards import AlertRow, Guards
from console.host import Host
from console.screens.layer import Layer
from console.sessions.session import Give
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.table import Column, Table
from engine.errors import Refused

STATES = {
    "firing": ("●", "bad bold"),
    "acknowledged": ("◐", "warn"),
    "silenced": ("○", "label"),
    "pending": ("◌", "warn"),
    "cleared": ("✓", "good"),
}


class Alerts(Layer):
    """A table of alerts, those that fire on top."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.ALERTS))]
    app: Host

    def __init__(self, guards: Guards) -> None:
        super().__init__()
        self._guards = guards
        columns: tuple[Column[AlertRow], ...] = (
            Column("state", "state", 14, lambda row: list(STATES).index(row.state), _state, need=10),
            Column("severity", "severity", 8, lambda row: row.severity, _severity, need=8),
            Column("alert", "alert", 16, lambda row: row.name, _name, need=9, stretch=24),
            Column("where", "where", 14, lambda row: row.where, _where, need=3, stretch=24),
            Column("since", "since", 6, lambda row: -row.since, _since, need=7, right=True),
            Column("what", "what", 40, lambda row: row.text, _text, need=6, stretch=90),
        )
        self.table: Table[AlertRow] = Table(
            columns, lambda row: (row.where, row.name), empty="no rule is set", id="page"
        )

    def compose(self) -> ComposeResult:
        """The table and the key bar."""
        yield self.table
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Focus the table."""
        self.set_focus(self.table)

    def show(self, picture: Any) -> None:
        """Show how they are now."""
        rows = self._guards.rows()
        self.table.set_rows(rows, self.app.clock())
        self.table.border_title = Content("alerts")
        bell = "the terminal rings" if self._guards.loud else "no bell"
        self.table.border_subtitle = Content(f" {units.several(self._guards.firing(), 'alert')} firing · {bell} ")

    def action_acknowledge(self) -> None:
        """Acknowledge the selected alert."""
        if (row := self._chosen()) is None:
            return
        try:
            self._guards.acknowledge(row, self.app.clock())
        except Refused as refusal:
            self.app.say(str(refusal), "warn")
        else:
            self.app.say(f"{row.name} is acknowledged until it clears", "good")
            self._carry(row, lambda lab: lab.acknowledge(row.name))
        self.app.tick()

    def action_silence(self) -> None:
        """Silence the selected alert for an hour; again: end the silence."""
        if (row := self._chosen()) is None:
            return
        seconds = self._guards.silence(row, self.app.clock())
        self.app.say(
            f"{row.name} is silent for {units.age(seconds)}" if seconds else f"{row.name} is told again", "good"
        )
        self._carry(row, lambda lab: lab.silence(row.name, seconds))
        self.app.tick()

    def action_bell(self) -> None:
        """Switch ringing and notifications of the terminal on or off."""
        self._guards.loud = not self._guards.loud
        self.app.tick()

    def action_back(self) -> None:
        """To the screen before."""
        self.dismiss()

    def _carry(self, row: AlertRow, give: Give) -> None:
        """Have the other process do the same, where the lab is one of another. What it refuses holds here alone."""
        session = self.app.sessions.get(row.where)
        if session is not None and session.mode == "remote":
            self.app.order(give, session=session)

    def _chosen(self) -> AlertRow | None:
        row: AlertRow | None = self.table.chosen()
        if row is None:
            self.app.say("there is no alert", "warn")
        return row


def _state(row: AlertRow, now: float, cells: int) -> Parts:
    if row.state == "cleared" and not row.fired:
        return [("· ", "faint"), (fit("never fired", cells - 2), "label")]
    glyph, ink = STATES[row.state]
    return [(f"{glyph} ", ink), (fit(row.state, cells - 2), ink)]


def _severity(row: AlertRow, now: float, cells: int) -> Parts:
    return [(fit(row.severity, cells), "bad" if row.severity == "critical" else "warn")]


def _name(row: AlertRow, now: float, cells: int) -> Parts:
    return [(fit(clean(row.name), cells), "text bold")]


def _where(row: AlertRow, now: float, cells: int) -> Parts:
    return [(fit(clean(row.where), cells), "text")]


def _since(row: AlertRow, now: float, cells: int) -> Parts:
    quiet = row.state == "cleared" and not row.fired
    return [(fit("·" if quiet else units.age(now - row.since), cells, right=True), "faint" if quiet else "label")]


def _text(row: AlertRow, now: float, cells: int) -> Parts:
    return [(fit(clean(row.text), cells), "text")]
