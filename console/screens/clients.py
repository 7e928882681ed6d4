"""The clients that send tasks, and the tasks under way: finds a client that floods and the oldest task, and drops them.

The rules of this file:

- The tables are those of the broker's picture; an order names what was chosen when it was asked about.
- Only what waits can be dropped. A task that a worker has is ended there: the worker's details are one key away.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.rows import Caller
from console.screens.confirm import Confirm
from console.screens.details import Details
from console.screens.layer import Layer
from console.text import clean, fit, label
from console.widgets.ink import LEFT_EIGHTHS, Parts
from console.widgets.keybar import KeyBar
from console.widgets.table import Column, Table
from console.widgets.workers import STATES
from engine.core import NEVER
from engine.parts.view import Underway

IDLE = 5.0  # seconds without a task, and nothing under way
_WAITS = ("◌", "label")


def amount(share: float, width: int, ink: str) -> Parts:
    """A bar of a share, 0 to 1; what is more than nothing shows."""
    eighths = max(1, round(min(1.0, share) * width * 8)) if share > 0 else 0
    full, rest = divmod(eighths, 8)
    bar = "█" * full + (LEFT_EIGHTHS[rest] if rest else "")
    return [(bar, ink), (" " * (width - len(bar)), "text")]


def _right(text: str, cells: int, ink: str = "text") -> Parts:
    return [(fit(text, cells, right=True), ink)]


def _count(number: int, cells: int, ink: str = "text") -> Parts:
    if not number:
        return _right("·", cells, "faint")
    text = units.count(number)
    return _right(text if len(text) <= cells else units.short(number), cells, ink)


def _since(at: float, now: float, cells: int, ink: str = "text") -> Parts:
    return _right("·", cells, "faint") if at == NEVER or not at else _right(units.age(now - at), cells, ink)


class Asks(Layer):
    """A table of what is at the broker. ``_shown``: the newest picture."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.TENDS, *keys.RUNS))]
    app: Host
    _shown: Picture | None = None

    def __init__(self, table: Table[Any]) -> None:
        super().__init__()
        self.table = table

    def compose(self) -> ComposeResult:
        """The table and the key bar."""
        yield self.table
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Focus the table."""
        self.set_focus(self.table)

    def show(self, picture: Picture) -> None:
        """Show a picture; also while the main screen is paused."""
        self._shown = picture
        self.fill(picture)

    @abstractmethod
    def fill(self, picture: Picture) -> None:
        """Show the rows."""

    def on_table_chosen(self) -> None:
        """A double click opens what enter opens."""
        self.action_open()

    @abstractmethod
    def action_open(self) -> None:
        """Open what belongs to the row."""

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.table.sort_next()

    def action_sort_reverse(self) -> None:
        """Reverse the order."""
        if self.table.sort_column is not None:
            self.table.sort_by(self.table.sort_column, not self.table.reverse)

    def action_back(self) -> None:
        """To the screen before."""
        self.dismiss()


# ---- clients --------------------------------------------------------------------------------------------------------


def _client(row: Caller, now: float, cells: int) -> Parts:
    return [(fit(row.label, cells), "text bold")]


def _activity(row: Caller, now: float, cells: int) -> Parts:
    client = row.client
    idle = not (client.waiting or client.in_flight) and now - client.heard > IDLE
    return [(fit("○ idle", cells), "label")] if idle else [(fit("● sends", cells), "good")]


class Clients(Asks):
    """The clients of the broker, the one that sends most on top."""

    OPENED_BY = "clients"

    def __init__(self) -> None:
        self._most = self._all = 0.0
        columns = (
            Column("client", "client", 14, lambda row: row.order, _client, need=9, stretch=34),
            Column("state", "state", 8, lambda row: row.client.heard, _activity, need=2),
            Column("rate", "rate/s", 7, lambda row: row.rate, self._rate, need=10, right=True, falling=True),
            Column("share", "share", 8, lambda row: row.rate, self._share, need=1, falling=True, stretch=34),
            self._figure("in-flight", "in flight", 9, 7, lambda row: row.client.in_flight),
            self._figure("waiting", "waiting", 8, 8, lambda row: row.client.waiting, "warn"),
            Column("oldest", "oldest", 6, lambda row: -row.client.oldest, _oldest, need=6, right=True, falling=True),
            self._figure("sent", "sent", 10, 4, lambda row: row.client.sent),
            Column("seen", "last seen", 9, lambda row: -row.client.heard, _heard, need=3, right=True),
        )
        table: Table[Caller] = Table(columns, lambda row: row.client.key, empty="nobody has sent a task", id="page")
        super().__init__(table)
        table.sort_by(columns[2])

    @staticmethod
    def _figure(name: str, title: str, width: int, need: int, value: Any, ink: str = "text") -> Column[Caller]:
        def draw(row: Caller, now: float, cells: int) -> Parts:
            return _count(value(row), cells, ink)

        return Column(name, title, width, value, draw, need=need, right=True, falling=True)

    def _rate(self, row: Caller, now: float, cells: int) -> Parts:
        return _right(units.short(row.rate) if row.rate else "0", cells, "text bold" if row.rate else "label")

    def _share(self, row: Caller, now: float, cells: int) -> Parts:
        bar = amount(row.rate / self._most if self._most else 0.0, cells - 6, "flow")
        return [*bar, (fit(f"{row.rate / self._all * 100:.0f} %" if self._all else "", 6, right=True), "label")]

    def fill(self, picture: Picture) -> None:
        """Show the clients."""
        rows = picture.clients
        self._most, self._all = max((row.rate for row in rows), default=0.0), sum(row.rate for row in rows)
        waiting, held = sum(row.client.waiting for row in rows), sum(row.client.in_flight for row in rows)
        self.table.set_rows(rows, picture.at)
        self.table.border_title = Content("clients")
        counts = f"{units.several(len(rows), 'client')} · {units.short(self._all)}/s"
        self.table.border_subtitle = Content(f" {counts} · {units.count(waiting)} wait, {units.count(held)} in flight ")

    def action_open(self) -> None:
        """The tasks of the selected client."""
        if (row := self._chosen()) is not None:
            self.app.open_screen(Waiting(row.label))

    def action_drop(self) -> None:
        """Ask, then drop what waits of the client that was asked about."""
        row = self._chosen()
        if row is None:
            return
        if not row.client.waiting:
            self.app.say(f"nothing of {row.label} waits", "warn")
            return
        key = row.client.key
        fate = [f"{units.several(row.client.waiting, 'task')} that wait end as failed.", "What workers have goes on."]
        question = Confirm(f"Drop what waits of client {clean(row.label, 40)}?", fate, "Drop")
        self.app.ask_first(question, lambda lab: lab.withdraw(key), f"what waits of {row.label} is withdrawn")

    def _chosen(self) -> Caller | None:
        row: Caller | None = self.table.chosen()
        if row is None:
            self.app.say("there is no client", "warn")
        return row


def _oldest(row: Caller, now: float, cells: int) -> Parts:
    return _since(row.client.oldest, now, cells)


def _heard(row: Caller, now: float, cells: int) -> Parts:
    return _since(row.client.heard, now, cells, "label")


# ---- tasks ----------------------------------------------------------------------------------------------------------


def _kind(row: Underway, now: float, cells: int) -> Parts:
    many = f" × {units.short(row.tasks)}" if row.tasks > 1 else ""
    return [(fit(clean(row.kind) + many, cells), "text")]


def _attempt(row: Underway, now: float, cells: int) -> Parts:
    return _right(str(row.attempt) if row.attempt else "·", cells, "warn bold" if row.attempt > 1 else "text")


def _id(row: Underway, now: float, cells: int) -> Parts:
    return [(fit(row.id.hex(), cells), "accent")]


class Waiting(Asks):
    """The oldest tasks under way, those that wait and those that workers have. ``client``: the name of one, or ""."""

    OPENED_BY = "backlog"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.TURN)]

    def __init__(self, client: str = "") -> None:
        self._client = client
        self._longest = 0.0
        columns: tuple[Column[Underway], ...] = (
            Column("age", "age", 5, lambda row: -row.accepted, self._age, need=10, right=True, falling=True),
            Column("since", "", 8, lambda row: -row.accepted, self._bar, need=1, stretch=24),
            Column("client", "client", 14, lambda row: row.client, self._owner, need=9, stretch=30),
            Column("kind", "kind", 10, lambda row: row.kind, _kind, need=7, stretch=20),
            Column("attempt", "try", 3, lambda row: row.attempt, _attempt, need=6, right=True, falling=True),
            Column("where", "where", 12, lambda row: row.worker, self._where, need=8, stretch=26),
            Column("task", "task", 16, lambda row: row.id, _id, need=4, stretch=32),
        )
        table: Table[Underway] = Table(columns, lambda row: row[:2], empty="no task is under way", id="page")
        super().__init__(table)
        table.sort_by(columns[0])

    def _age(self, row: Underway, now: float, cells: int) -> Parts:
        return _right(units.age(now - row.accepted), cells, "text bold")

    def _bar(self, row: Underway, now: float, cells: int) -> Parts:
        share = (now - row.accepted) / self._longest if self._longest > 0 else 0.0
        return amount(share, cells, "flow" if row.worker else "warn")

    def _owner(self, row: Underway, now: float, cells: int) -> Parts:
        return [(fit(self._called(row.client), cells), "text")]

    def _where(self, row: Underway, now: float, cells: int) -> Parts:
        if not row.worker:
            ink = "text bold" if row.next else "label"
            return [(_WAITS[0], _WAITS[1]), (fit(" is next" if row.next else " waits", cells - 1), ink)]
        states = {one.worker.key: one.worker.state for one in self._shown.rows} if self._shown else {}
        glyph, ink = STATES[states.get(row.worker, "ready")]
        return [(glyph, ink), (fit(f" {self._called(row.worker)}", cells - 1), "text")]

    def _called(self, key: bytes) -> str:
        return self._shown.name(key) if self._shown is not None else label(key)

    def fill(self, picture: Picture) -> None:
        """Show the tasks."""
        broker = picture.broker
        rows = broker.oldest if broker is not None else ()
        if self._client:
            rows = tuple(row for row in rows if self._called(row.client) == self._client)
        self._longest = max((picture.at - row.accepted for row in rows), default=0.0)
        self.table.set_rows(rows, picture.at)
        whose = f" of {clean(self._client, 40)}" if self._client else ""
        self.table.border_title = Content(f"backlog · tasks{whose} under way, the oldest first")
        backlog, held = (broker.backlog, broker.in_flight) if broker is not None else (0, 0)
        rate = picture.rates.done
        drains = f" · {units.short(rate)}/s done, empty in {units.age(backlog / rate)}" if backlog and rate else ""
        all_ = backlog + held
        shown = f" · the oldest {len(rows):,} are shown" if not self._client and len(rows) < all_ > len(rows) else ""
        counts = f"{units.count(backlog)} wait, {units.count(held)} with workers"
        self.table.border_subtitle = Content(f" {counts}{drains}{shown} ")

    def action_open(self) -> None:
        """The worker that has the task."""
        row = self._chosen()
        if row is None:
            return
        found = [one for one in self._shown.rows if one.worker.key == row.worker] if self._shown else []
        if found:
            self.app.open_screen(Details(found[0]))
        else:
            self.app.say("no worker has it: it waits" if not row.worker else "its worker is gone", "warn")

    def action_drop(self) -> None:
        """Ask, then drop the task that was asked about."""
        row = self._waits("dropped")
        if row is not None:
            question = Confirm(f"Drop task {row.id.hex()[:32]}?", [self._of(row), "It ends as failed."], "Drop")
            said = f"task {row.id.hex()[:32]} is withdrawn"
            self.app.ask_first(question, lambda lab: lab.discard(row.client, row.id), said)

    def action_turn(self, first: bool) -> None:
        """Ask, then have the task that was asked about wait before all others, or behind them."""
        row = self._waits("moved")
        if row is None:
            return
        name = row.id.hex()[:32]
        where, fate = ("first", "before") if first else ("last", "behind")
        lines = [self._of(row), f"It waits {fate} all others from now on."]
        lines += ["Only tasks that were given before, to workers that were lost, still go first."] if first else []
        question = Confirm(f"Let task {name} be the {'next' if first else 'last'}?", lines, f"Move {where}")
        self.app.ask_first(
            question, lambda lab: lab.move(row.client, row.id, first), f"task {name} waits {fate} all others"
        )

    def _of(self, row: Underway) -> str:
        return f"Of client {self._called(row.client)}, {units.age(self.table._now - row.accepted)} old."

    def _waits(self, done: str) -> Underway | None:
        """The selected task; None where there is none that waits, and that is said."""
        row = self._chosen()
        system = self.app.session.lab.system
        if row is None or (not row.worker and system.owners):
            return row
        if not system.owners:
            self.app.say(f"no single task of {system.name} is {done}: v lists jobs, h holds one", "warn")
            return None
        who = self._called(row.worker)
        self.app.say(f"{who} has it: a task can be {done} while it waits · ⏎ opens the worker", "warn")
        return None

    def _chosen(self) -> Underway | None:
        row: Underway | None = self.table.chosen()
        if row is None:
            self.app.say("there is no task", "warn")
        return row
