"""The main screen: all panels, and all orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType

from console import bulks, keys, pools
from console.commands import Command
from console.history import History
from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.rows import RowFilter, Shown
from console.screens.charts import Charts
from console.screens.clients import Clients, Waiting
from console.screens.compared import compare_typed, name_of
from console.screens.details import Details
from console.screens.filterline import FilterLine
from console.screens.kept import Kept
from console.screens.listing import worker_list
from console.screens.orders import (
    ask_to_drain,
    ask_to_hurt,
    ask_to_slow,
    ask_to_stop,
    ask_to_withdraw,
    steered,
    waiting_clients,
)
from console.screens.overview import Overview
from console.screens.page import Page
from console.screens.terms import View
from console.sessions.session import RUNNING, Session
from console.text import clean
from console.widgets.chart import Backlog
from console.widgets.events import Events, NewestEvent
from console.widgets.flow import FlowStrip
from console.widgets.identity import Identity
from console.widgets.latency import Latency
from console.widgets.ledger import Ledger
from console.widgets.prompt import Prompt
from console.widgets.runs import Runs
from console.widgets.workers import Workers
from engine.catalogue import SEED_LANE
from engine.labs.content import BrokerLab
from engine.parts.bulk import BulkSpec


class Main(FilterLine, Overview):
    """The main screen of a system with a broker."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.MAIN, *keys.SPAN))]
    _picture: Picture | None

    def __init__(self, session: Session[BrokerLab], history: History, view: View) -> None:
        super().__init__(session)
        self._view = view
        lab, namer = session.lab, self.name_of
        self._table = Workers(view.columns, id="workers")
        self.prompt = Prompt(history, id="prompt")
        self.head = self._identity = Identity(lab.system.name, lab.endpoints, lab.readonly, id="identity")
        self.above = (FlowStrip(id="flow"),)
        self.panels = (
            self._table,
            Backlog(id="backlog"),
            Latency(id="latency"),
            Events(namer, id="events"),
            Runs(id="runs"),
        )
        self.below = (NewestEvent(namer, id="newest"), Ledger(id="ledger"))

    @property
    def table(self) -> Workers:
        """The table of workers."""
        return self._table

    def name_of(self, key: bytes) -> str:
        """Of a peer, by the session's bridge, which a recording makes anew for each position."""
        name: str = self.session.bridge.rows.name(key)
        return name

    def compose(self) -> ComposeResult:
        """All panels, and the filter line."""
        yield from super().compose()
        yield self.prompt

    def on_mount(self) -> None:
        """Focus the table."""
        self.prompt.display = False
        self.table.focus()

    def identify(self, picture: Picture) -> None:
        """Show who this is, and whether the picture is frozen."""
        others = self.app.others if self.session.mode != "sandbox" else ()
        self._identity.endpoints = self.session.lab.endpoints
        self._identity.lane = " ".join(filter(None, (self.session.lab.lane, self.session.lab.transport)))
        self._identity.traced = self.session.mode in RUNNING and self.session.trace is not None
        self._identity.alerts = self.app.firing
        self._identity.attached = self.session.mode == "remote"
        self._identity.show(picture, self.paused, others)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, keys are text and no orders."""
        return not (action == "filter" and self.prompt.display)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def action_bulkping(self) -> None:
        """Run bulkping with the configured count."""
        self._bulk("ping", bulks.Asked(self.app.settings.run.count))

    def action_bulkdata(self) -> None:
        """Run bulkdata with the configured count."""
        self._bulk("data", bulks.Asked(self.app.settings.run.data_count))

    def _bulk(self, kind: Literal["ping", "data"], asked: bulks.Asked) -> None:
        lab = self.session.lab
        spec = bulks.spec(kind, asked, self.app.settings.run, lab.system.window(lab.options))
        self.app.order(lambda lab: lab.run(spec))

    def action_stop_run(self) -> None:
        """Stop the current run."""
        self.app.order(lambda lab: lab.stop_run(), "the run stops when what is out has come back", destroys=True)

    def action_add_worker(self) -> None:
        """Add a worker."""
        self.app.order(lambda lab: lab.add_workers(1))

    def action_remove_worker(self) -> None:
        """Remove the newest one."""
        self.app.order(lambda lab: lab.remove_workers(1), destroys=True)

    def action_lane(self) -> None:
        """Change to the system's other lane."""
        lab = self.session.lab
        self.choose_lane(SEED_LANE if lab.lane else lab.system.lane)

    def choose_lane(self, lane: str) -> None:
        """Ask for a lane."""
        self.app.order(lambda lab: lab.choose_lane(lane), f"messages are written on the lane {clean(lane)} from now on")

    def action_group(self) -> None:
        """Group the workers by pool, or show one list again."""
        self.table.group_by(self.session.lab.pool_of if self.table.group is None else None)

    def action_stop_worker(self) -> None:
        """Ask, then stop the workers that were asked about, even if the cursor has moved."""
        self._order_marked("stop", ask_to_stop)

    def action_drain_worker(self) -> None:
        """Ask, then have the broker drain the workers that were asked about."""
        self._order_marked("drain", ask_to_drain)

    def _order_marked(self, verb: str, ask: Callable[..., None]) -> None:
        rows = self.table.picked()
        if rows:
            ask(self.app, *rows)
        else:
            self.app.say(f"there is no worker to {verb}", "warn")

    def action_mark(self) -> None:
        """Mark the selected worker for the next order, or take its mark away."""
        row = self.table.chosen()
        if row is None:
            self.app.say("there is no worker to mark", "warn")
        else:
            self.table.mark(row)

    def action_worst(self) -> None:
        """Select the worst worker: a lost or late one that holds tasks, else the slowest."""
        table = self.table
        slowest = next((column for column in table.columns if column.id == "p99"), table.columns[0])
        table.sort_by(slowest, True)
        held = [row for row in table.shown if row.worker.in_flight and row.worker.state in ("late", "lost")]
        if table.shown:
            table.choose((held or table.shown)[0])
        else:
            self.app.say("there is no worker", "warn")

    def action_details(self) -> None:
        """Open the selected worker's details."""
        row = self.table.chosen()
        if row is None:
            self.app.say("there is no worker to look at", "warn")
        else:
            self.app.open_screen(Details(row))

    # ---- the view ---------------------------------------------------------------------------------------------------

    def action_runs(self) -> None:
        """The kept runs."""
        self.app.open_screen(Kept(self.session.bridge.read_runs()))

    def action_clients(self) -> None:
        """Open the clients that send tasks."""
        if not isinstance(self.app.screen, Clients):
            self.app.open_screen(Clients())

    def action_charts(self) -> None:
        """Throughput, backlog and latency over time."""
        if not isinstance(self.app.screen, Charts):
            self.app.open_screen(Charts())

    def action_backlog(self, client: str = "") -> None:
        """The tasks under way, all of them or those of one client."""
        if not isinstance(self.app.screen, Waiting):
            self.app.open_screen(Waiting(client))

    def action_protocol(self) -> None:
        """The system in its protocol's own terms."""
        self.app.open_screen(self._view.screen())

    def action_back(self) -> None:
        """Clear the marks, then the filter, then the selection."""
        if self.table.marks:
            self.table.clear_marks()
        elif self.table.filter is not None:
            self.table.set_filter(None)
        else:
            self.table.release()
        self.table.focus()

    # ---- what is typed ----------------------------------------------------------------------------------------------

    @property
    def listed(self) -> Workers:
        """The worker table."""
        return self.table

    @property
    def filtered(self) -> str:
        """The filter of the worker table."""
        return self.table.filter.text if self.table.filter else ""

    def try_filter(self, text: str) -> str:
        """Filter while typing. The last valid expression stays."""
        try:
            self.table.set_filter(RowFilter.parse(text))
        except ValueError as error:
            return str(error).rpartition(": ")[2]
        return ""

    def perform_filter(self, text: str) -> None:
        """Set a filter, or none."""
        try:
            self.table.set_filter(RowFilter.parse(text))
        except ValueError as error:
            self.app.say(str(error), "bad")

    def kill(self, name: str) -> None:
        """The fault of this name."""
        self.hurt(f"kill {name}")

    def hurt(self, line: str) -> None:
        """Ask, then do a fault to the system that runs."""
        ask_to_hurt(self.app, line)

    def named(self, name: str, ask: Callable[[Host, Shown], None]) -> None:
        """Ask something about the worker of this name."""
        rows = self._picture.rows if self._picture is not None else ()
        row = next((row for row in rows if row.label == name), None)
        if row is None:
            known = ", ".join(row.label for row in rows[:6]) or "none"
            self.app.say(f"no worker {clean(name)!r} · there are {known}{', …' if len(rows) > 6 else ''}", "bad")
        else:
            ask(self.app, row)

    def _sort(self, name: str) -> None:
        table = self.table
        fits = [column for column in table.columns if column.id.startswith(name.lower())]
        if fits:
            table.sort_by(fits[0], not table.reverse if fits[0] is table.sort_column else None)
        else:
            names = ", ".join(column.id for column in table.columns)
            self.app.say(f"no column {clean(name)!r} · there are {names}", "bad")

    def names_of(self, what: str) -> Sequence[str]:
        """What an argument of a command may be."""
        match what:
            case "WORKER" | "[WORKER]" | "[TARGET]":
                return [row.label for row in self._picture.rows] if self._picture is not None else []
            case "COLUMN":
                return [column.id for column in self.table.columns]
            case "CLIENT":
                return waiting_clients(self._picture)
            case "[CLIENT]":
                return [row.label for row in self._picture.clients] if self._picture is not None else []
            case "RUN":
                return (
                    list(filter(None, map(name_of, reversed(self._picture.runs)))) if self._picture is not None else []
                )
        return []

    def perform(self, command: Command) -> None:
        """One command of the ``:`` line."""
        order, run = self.app.order, self.app.settings.run
        if self._view.perform(self.app, command) or steered(self.app, self.named, command):
            return
        match command:
            case Command("register", _):
                order(lambda lab: lab.register())
            case Command("deregister", _):
                order(lambda lab: lab.deregister(), destroys=True)
            case Command("bulk", pools.Wanted() as wanted):
                order(lambda lab: lab.bulk(*wanted))
            case Command("endbulk", str(pool)):
                order(lambda lab: lab.endbulk(pool), destroys=True)
            case Command("transport", str(transport)):
                order(lambda lab: lab.choose_transport(transport), destroys=True)
            case Command("ping", _):
                order(lambda lab: lab.ping(False, run.timeout), "ping sent; it has no reply")
            case Command("pingt", _):
                order(lambda lab: lab.ping(True, run.timeout))
            case Command("data", _):
                order(lambda lab: lab.run(BulkSpec("data", 1, run.bytes, timeout=run.timeout)))
            case Command("bulkping", bulks.Asked() as asked):
                self._bulk("ping", asked)
            case Command("bulkdata", bulks.Asked() as asked):
                self._bulk("data", asked)
            case Command("stop", ""):
                self.action_stop_run()
            case Command("stop", str(name)):
                self.named(name, ask_to_stop)
            case Command("freeze" | "cut" | "restart" as name, str(aim)):
                self.hurt(f"{name} {aim}")
            case Command("slow", str(aim)) if " " in aim:
                self.hurt(f"slow {aim}")
            case Command("lane", str(lane)):
                self.choose_lane(lane)
            case Command("slow", str(text)):
                ask_to_slow(self.app, text)
            case Command("withdraw", str(name)):
                ask_to_withdraw(self.app, name)
            case Command("config", str(line)):
                key, _, value = line.partition(" ")
                order(lambda lab: lab.operate("config", key=key, value=value.strip()), destroys=True)
            case Command("pair", str(word)):
                order(lambda lab: lab.operate(word or "pair"), destroys=bool(word))
            case Command("workers", _):
                self.table.set_filter(None)
                self.app.open_screen(Page("workers", [], worker_list))
            case Command("clients", _):
                self.action_clients()
            case Command("charts", _):
                self.action_charts()
            case Command("backlog", str(name)):
                self.action_backlog(name)
            case Command("runs", _):
                self.action_runs()
            case Command("compare", str(line)):
                compare_typed(self.app, line, self.session.bridge.read_runs())
            case Command("protocol", _):
                self.action_protocol()
            case Command("sort", str(name)):
                self._sort(name)
            case Command("filter", str(text)):
                getattr(self.app.screen, "perform_filter", self.perform_filter)(text)
            case _:
                super().perform(command)
