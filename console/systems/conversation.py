"""Conversation: the seed's two state machines as they are walked, and the jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content

from console import keys, units
from console.jobs.line import WORDS
from console.pictures.bridge import Picture
from console.pictures.rows import Shown, natural, short_name
from console.screens import jobwords
from console.screens.confirm import Confirm
from console.screens.jobtasks import JobTasks
from console.screens.terms import ProtocolScreen, View
from console.terms import beside, column, term
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.table import Column, Table
from console.widgets.workers import with_own
from engine.labs.content import BrokerLab
from engine.parts.view import WorkerView
from engine.protocols.conversation.frontend import (
    CancelJob,
    Hold,
    JobRow,
    JobsListed,
    ListJobs,
    Release,
    StopWorkers,
)
from engine.protocols.conversation.machine import Cl, Sv
from engine.protocols.conversation.messages import STATUS
from engine.protocols.conversation.words import wants

ASK = 4  # pictures between two questions for the jobs
WALKERS = 16  # of our workers whose walk is drawn
ROOM = 104  # cells with which the time of each state is shown, not only of the present one
HIGH = 30  # lines with which more of them are in view
LIT = 4  # pictures for which a state that was entered stays lit
_STATUS = {"running": "busy", "finished": "good", "cancelled": "bad", "held": "warn"}

COLUMNS: tuple[Column[Shown], ...] = (
    column("seed", "state 001", 9, 3, lambda state: "busy" if state == "SV_LOOP2" else "warn", term_name="state"),
    column("nproc", "nproc", 5, -2, right=True),
    column("max-nproc", "max", 4, -3, right=True, term_name="max_nproc"),
    column("running", "run", 4, -4, right=True),
)


def _text(name: str, width: int, need: int, stretch: int = 0) -> Column[JobRow]:
    def draw(row: JobRow, _: float, cells: int) -> Parts:
        return [(fit(clean(str(getattr(row.job, name))), cells), "text")]

    return Column(name, name, width, lambda row: str(getattr(row.job, name)), draw, need=need, stretch=stretch)


def _count(name: str, need: int) -> Column[JobRow]:
    def draw(row: JobRow, _: float, cells: int) -> Parts:
        number = getattr(row, name)
        ink = "faint" if not number else "bad bold" if name == "failed" else "text"
        return [(fit(units.count(number), cells, right=True), ink)]

    return Column(name, name, 7, lambda row: getattr(row, name), draw, need=need, right=True, falling=True)


def _id(row: JobRow, _: float, cells: int) -> Parts:
    return [(fit(str(row.job.job_id), cells, right=True), "text bold")]


def _status(row: JobRow, _: float, cells: int) -> Parts:
    word = STATUS[row.job.status]
    return [(fit(word, cells), _STATUS.get(word, "label"))]


JOBS: tuple[Column[JobRow], ...] = (
    Column("job", "job", 5, lambda row: row.job.job_id, _id, need=9, right=True, falling=True),
    _text("name", 10, 6, 20),
    Column("status", "status", 9, lambda row: row.job.status, _status, need=8),
    _count("waiting", 3),
    _count("running", 5),
    _count("done", 4),
    _count("failed", 7),
    _text("command", 8, 1, 60),
)


class StateMap:
    """Which states were entered since the last pictures, and who is in which now."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._entered: dict[str, int] = {}
        self._lit: Counter[str] = Counter()

    def lines(self, title: str, entered: dict[str, int], here: Counter[str]) -> list[Parts]:
        """A line a state, in the order in which they are walked; what was entered just now is lit."""
        lines: list[Parts] = [[(fit(title, 12), "accent bold"), (f"{'now':>5}{'entered':>11}", "label")]]
        for name in self._names:
            count = entered.get(name, 0)
            if self._entered.get(name, count) != count:
                self._lit[name] = LIT
            elif self._lit[name]:
                self._lit[name] -= 1
            ink = "busy bold reverse" if self._lit[name] else "text bold" if here[name] else "label"
            lines.append(
                [
                    (fit(f" {name}", 12), ink),
                    (fit(str(here[name]) if here[name] else "·", 5, right=True), "text" if here[name] else "faint"),
                    (fit(units.count(count), 11, right=True), "text" if count else "faint"),
                ]
            )
        self._entered = dict(entered)
        return lines


class Stay(NamedTuple):
    """One worker's present state, as its pictures told it. Times in seconds of the worker's own clock."""

    state: str
    entered: str  # how often, by then
    since: float
    seen: bool  # whether it was seen to be entered; else it may have been in it for longer
    before: Mapping[str, float]  # how long it last was in each state that it was seen to enter and leave


class Walkers:
    """Our workers on their way through the seed's states, with the time that each has been where it is."""

    def __init__(self) -> None:
        self._stays: dict[str, Stay] = {}

    def lines(self, pool: Mapping[str, WorkerView], width: int) -> list[Parts]:
        """A line a worker: the states in a row, the present one marked. ``pool``: by seat, ``worker-7``."""
        seats = sorted(pool, key=natural)[:WALKERS]
        self._stays = {seat: self._stay(self._stays.get(seat), pool[seat]) for seat in seats}
        return [_walk(short_name(seat), self._stays[seat], pool[seat].at, width >= ROOM) for seat in seats]

    def _stay(self, known: Stay | None, own: WorkerView) -> Stay:
        entered = term(own.terms, own.state)
        if known is None:
            return Stay(own.state, entered, own.at, False, {})
        if (known.state, known.entered) == (own.state, entered):
            return known
        before = {**known.before, known.state: own.at - known.since} if known.seen else known.before
        return Stay(own.state, entered, own.at, True, before)


def _walk(name: str, stay: Stay, now: float, wide: bool) -> Parts:
    """One worker's line; ``wide``: with the last time of the other states too."""
    parts: Parts = [(fit(clean(name), 6), "text bold")]
    for place, state in enumerate(Cl.NAMES):
        parts.append((" → " if place else " ", "faint"))
        word = state.removeprefix("CL_")
        if state == stay.state:
            time = ("" if stay.seen else "≥") + units.age(now - stay.since)
            parts.append((f"▐{word} {fit(time, 5, right=True)}▌", "busy bold"))
        else:
            parts.append((word, "label"))
            if wide:
                time = units.age(stay.before[state]) if state in stay.before else "·"
                parts.append((fit(time, 5, right=True), "faint"))
    return parts


class Conversation(ProtocolScreen):
    """The state map and the workers' walk above the jobs."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.JOBS, *keys.RUNS))]

    def __init__(self) -> None:
        super().__init__()
        self._server, self._client = StateMap(Sv.NAMES), StateMap(Cl.NAMES)
        self._walkers = Walkers()
        self._looks = 0
        self._largest = 0

    def compose(self) -> ComposeResult:
        """The states, the jobs, the key bar."""
        with Container(id="halves"):
            yield self.page
            yield Table(
                self._columns(), lambda row: row.job.job_id, empty="no jobs · roundhouse submit -- COMMAND", id="jobs"
            )
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Newest job first."""
        super().on_mount()
        self._jobs.sort_by(JOBS[0], reverse=True)
        self.set_focus(self._jobs)

    def on_resize(self, event: events.Resize) -> None:
        """More workers are in view where there is room."""
        self.set_class(event.size.height >= HIGH, "high")

    def _columns(self) -> list[Column[JobRow]]:
        """The columns; a job that no worker is large enough for says so in place of its command."""

        def draw(row: JobRow, now: float, cells: int) -> Parts:
            why = wants(row, self._largest)
            return [(fit(why, cells), "warn")] if why else JOBS[-1].draw(row, now, cells)

        return [*JOBS[:-1], JOBS[-1]._replace(draw=draw)]

    @property
    def _jobs(self) -> Table[JobRow]:
        found: Table[JobRow] = self.query_one("#jobs", Table)
        return found

    def show(self, picture: Picture) -> None:
        """Show a picture; now and again ask for the jobs."""
        super().show(picture)
        listed = newest(picture)
        if listed is not None:
            self._largest = listed.largest
            self._jobs.set_rows(listed.jobs, picture.at)
        state = term(picture.broker.terms, "store") if picture.broker else ""
        self._jobs.border_title = Content(f"jobs · store: {clean(state)}" if state else "jobs")
        if self._looks % ASK == 0:
            self.app.order(lambda lab: lab.order_client(ListJobs()))
        self._looks += 1

    def lines(self, picture: Picture, width: int) -> list[Parts]:
        """The broker's state machine and that of our workers, side by side; below, where each of them is."""
        broker = picture.broker
        here = Counter(term(row.worker.terms, "state") for row in picture.rows)
        here["SV_INIT1"] += int(term(broker.terms, "greeting") or 0) if broker else 0
        server = self._server.lines("server", counts(Sv.NAMES, [broker.terms] if broker else []), here)
        ours = list(picture.pool().values())
        states = Counter(own.state for own in ours)
        client = self._client.lines("client", counts(Cl.NAMES, (own.terms for own in ours)), states)
        return [*beside(server, client, width), *self._walkers.lines(picture.pool(), width)]

    def action_sort(self) -> None:
        """Sort the jobs by the next column."""
        self._jobs.sort_next()

    def action_sort_reverse(self) -> None:
        """Reverse the order of the jobs."""
        if self._jobs.sort_column is not None:
            self._jobs.sort_by(self._jobs.sort_column, not self._jobs.reverse)

    def action_tasks(self) -> None:
        """The tasks of the chosen job."""
        if (row := self._chosen()) is not None:
            self.app.open_screen(JobTasks(row))

    def on_table_chosen(self) -> None:
        """A double click opens what enter opens."""
        self.action_tasks()

    # ---- orders -----------------------------------------------------------------------------------------------------

    def action_hold(self) -> None:
        """Give no more tasks of the chosen job."""
        if (row := self._chosen()) is not None:
            order = Hold(row.job.job_id)
            said = f"job {row.job.job_id} is asked to wait"
            self.app.order(lambda lab: lab.order_client(order, "holding a job"), said, destroys=True)

    def action_release(self) -> None:
        """Let it go on."""
        if (row := self._chosen()) is not None:
            order = Release(row.job.job_id)
            said = f"job {row.job.job_id} is asked to go on"
            self.app.order(lambda lab: lab.order_client(order, "releasing a job"), said, destroys=True)

    def action_cancel_job(self) -> None:
        """Ask, then drop what waits of the job that was asked about."""
        if (row := self._chosen()) is None:
            return
        job, order = row.job, CancelJob(row.job.job_id)

        def give(lab: BrokerLab) -> None:
            lab.order_client(order, "cancelling a job")

        fate = f"{units.several(row.waiting, 'waiting task')} dropped; {row.running:,} that run go on."
        question = Confirm(f"Cancel job {job.job_id}?", [fate, clean(job.command)], "Cancel job")
        self.app.ask_first(question, give, f"job {job.job_id} is cancelled")

    def action_stop_workers(self) -> None:
        """Ask, then STOP(0): every worker ends what it runs, and goes."""

        def give(lab: BrokerLab) -> None:
            lab.order_client(StopWorkers(), "stopping workers")

        fate = "They finish what they run, then leave. What waits goes on waiting."
        question = Confirm("Stop all workers of this broker?", [fate, "STOP(0) to each of them"], "Stop workers")
        self.app.ask_first(question, give, "all workers are asked to stop")

    def _chosen(self) -> JobRow | None:
        row = self._jobs.chosen()
        if row is None:
            self.app.say("there is no job", "warn")
        return row


def newest(picture: Picture) -> JobsListed | None:
    """The newest list of jobs that the client was answered."""
    for kept in reversed(picture.client.answers) if picture.client else ():
        match kept:
            case (_, JobsListed() as listed):
                return listed
    return None


def counts(names: Sequence[str], terms: Iterable[Sequence[tuple[str, str]]]) -> dict[str, int]:
    """How often each state was entered, by all together."""
    total: Counter[str] = Counter()
    for pairs in terms:
        for name, value in pairs:
            if name in names and value.isdecimal():
                total[name] += int(value)
    return dict(total)


VIEW = View(with_own(COLUMNS, without=("rtt", "in-flight", "order")), Conversation, WORDS, jobwords.perform)
"""A worker's running processors say what is in flight."""
