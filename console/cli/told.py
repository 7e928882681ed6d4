"""What a role prints on stderr, by level: 0 errors, 1 also joins, leavings and tasks, 5 also statistics."""

from __future__ import annotations

from console import units
from console.cli.arguments import LEVELS
from console.cli.streams import AT_ONCE, Alarms, tell
from console.text import clean
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkView
from engine.parts.plain import called
from engine.parts.view import BrokerView
from engine.tracing.trace import Trace

TASKS, STATISTICS = 1, 5
KEPT = 1_000  # messages; of more, the newest


class RoleLog(Alarms):
    """``level``: as on the command line; None where none was asked for: warnings and errors."""

    def __init__(self, lab: LiveLab, level: int | None) -> None:
        super().__init__(lab.feed, shown(level))
        self._lab = lab
        lab.log = self.choose
        self.level = -1 if level is None else level
        self._trace: Trace | None = None
        self._number = 0
        self._statistics = ""

    def choose(self, name: str) -> str:
        """Tell as much as the level of this name says from now on. Raises Refused for no level."""
        if name not in (*LEVELS, "warning"):
            raise Refused(f"log-level needs error, warning, info or debug, got {clean(name)!r}")
        level = LEVELS.get(name)
        self.show(shown(level))
        self.level = -1 if level is None else level
        if self._trace is not None:
            self._lab.detach(self._trace)
            self._trace = None
        self.begin()
        return f"events are logged from {name} on"

    def begin(self) -> None:
        """The lab is open: hear its messages, where tasks are told."""
        if self.level >= TASKS:
            self._number = 0
            self._trace = trace = self._lab.trace(KEPT)
            self._lab.attach(trace)

    def tell(self) -> None:
        """Tell what is new."""
        super().tell()
        if (trace := self._trace) is not None:
            self._tasks(trace)

    def count(self, words: str) -> None:
        """Statistics, where they are told and have changed."""
        if self.level >= STATISTICS and words != self._statistics:
            self._statistics = words
            tell(words)

    def _tasks(self, trace: Trace) -> None:
        found = [entry for entry in trace.entries() if entry.number > self._number]
        if not found:
            return
        more = found[-1].number - self._number - len({entry.number for entry in found})
        self._number = found[-1].number
        tasks = [entry for entry in found if entry.decoded.leg]
        for entry in tasks[:AT_ONCE]:
            about = " ".join(f"{name}={value}" for name, value in entry.fields)
            tell(f"{called(entry.source)} → {called(entry.target)}: {entry.command} {about}")
        if (more := more + len(tasks[AT_ONCE:])) > 0:
            tell(f"{more:,} more messages")


def shown(level: int | None) -> tuple[str, ...]:
    """The levels of events that are told."""
    return ("warn", "bad") if level is None else ("bad",) if level < TASKS else ("good", "info", "warn", "bad")


def of_broker(view: BrokerView) -> str:
    """Its ledger on one line."""
    ledger = view.ledger
    failed = sum(n for _, n in ledger.failed)
    return (
        f"{units.several(len(view.workers), 'worker')}, {units.several(ledger.sent, 'task')}: "
        f"{ledger.succeeded:,} succeeded, {failed:,} failed, "
        f"{ledger.in_flight:,} in flight, {ledger.queued:,} in the backlog, {ledger.dropped:,} dropped"
    )


def of_run(view: BulkView) -> str:
    """A run on one line."""
    return f"{view.sent:,} sent, {view.ledger.succeeded:,} succeeded, {view.ledger.in_flight:,} in flight"


def table(view: BrokerView) -> str:
    """The seed's ``workers``: every worker, its free slots and its address, least recently used first."""
    order = {key: place for place, key in enumerate(view.order)}
    many = units.several(len(view.workers), "worker")
    rows = [f"{many} in the table\n"]
    rows += [
        f"  {row.free:>4} of {row.slots:<4} free  {row.state:<7} {row.done:>8,} done  "
        f"{row.key.decode('utf-8', 'backslashreplace')}"
        f"{'  next' if order.get(row.key) == 0 else ''}\n"
        for row in sorted(view.workers, key=lambda row: order.get(row.key, len(order)))
    ]
    return "".join(rows)
