"""Makes pictures from a lab's feed. Polled four times a second; it never blocks, and the engine never waits for it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from console import units
from console.bulks import RunDefaults
from console.pictures.eventlog import EventLog, Line
from console.pictures.minutes import course
from console.pictures.rows import Caller, Callers, Flow, Rates, Rows, Shown, Tally, failures
from console.pictures.samples import HERTZ, Series
from console.pictures.service import Service
from engine.feed import Feed
from engine.files.minutes import Minute
from engine.labs.content import BrokerLab
from engine.labs.timeline import Sample
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.peak import most
from engine.parts.view import BrokerView, ClientView, LedgerView, WorkerView

STUCK = 3.0  # seconds without an end of a task after which work stands still
SETTLE = HERTZ  # polls after the end of a run until it is surely kept


Run = Mapping[str, Any]
"""A kept run: the JSON of schema roundhouse.run/1. It comes from a file, so nothing in it is taken for granted."""


class Labs(Protocol):
    """What the console needs of ``engine.labs.manager.LabManager``. Nothing here waits."""

    names: tuple[str, ...]

    @property
    def running(self) -> Mapping[str, Any]: ...
    def add(self, name: str, make: Callable[[str], Any]) -> None: ...
    def open(self, name: str) -> Future[Any]: ...
    def order(self, name: str, give: Callable[[Any], object]) -> Future[object]: ...


class Settings(Protocol):
    """What the console needs of ``engine.settings.settings.Settings``."""

    @property
    def theme(self) -> str: ...
    @property
    def keymap(self) -> dict[str, str]: ...
    @property
    def run(self) -> RunDefaults: ...
    @property
    def config_folder(self) -> Path: ...
    @property
    def state_folder(self) -> Path: ...


class Picture(NamedTuple):
    """Everything that one refresh of the screen shows."""

    up: float  # seconds since the lab started
    at: float  # monotonic seconds of the broker's picture: what ages are counted from
    broker: BrokerView | None
    client: ClientView | None
    rows: Sequence[Shown]
    tally: Tally
    rates: Rates
    backlog: tuple[int, ...]  # newest last, HERTZ a second
    events: tuple[Line, ...]
    runs: tuple[Run, ...]  # kept runs of this system, newest last
    dead: tuple[str, ...]
    lag: float  # seconds
    hertz: float  # refreshes a second that were really reached
    brokers: Mapping[str, BrokerView]  # all that are in this process: broker, fallback
    pool: Callable[
        [], Mapping[str, WorkerView]
    ]  # our own workers' pictures of themselves, by seat; drawn when asked for
    seat_of: Callable[[bytes], str | None]
    name: Callable[[bytes], str]  # of a peer, for people
    stuck: float = 0.0  # seconds, of the broker's clock, in which tasks were under way and none ended
    clients: tuple[Caller, ...] = ()
    series: Mapping[str, Series] = MappingProxyType({})  # throughput a second, backlog, latency (p99, µs), lost
    rested: float = math.inf  # seconds since a run of this process was seen under way or new
    stale: float = 0.0  # seconds for which another process that is shown has not been heard
    service: str = ""  # after a failover: who of a pair serves, and since when
    failovers: tuple[str, ...] = ()  # the last changes of a pair, each with its time, oldest first

    def own(self, key: bytes) -> WorkerView | None:
        """The picture that the worker with this routing id has of itself; None where it is not ours."""
        seat = self.seat_of(key)
        return self.pool().get(seat) if seat else None

    @property
    def run(self) -> BulkView | None:
        """The client's newest run."""
        return self.client.run if self.client else None

    @property
    def books(self) -> tuple[str, LedgerView | None]:
        """The ledger that is shown, and whose it is: the broker's, or the client's run if the broker is elsewhere.

        An unbalanced one goes first.
        """
        ledgers = [(name, view.ledger) for name, view in (("broker", self.broker), ("client", self.run)) if view]
        first: tuple[str, LedgerView | None] = ledgers[0] if ledgers else ("broker", None)
        return next((one for one in ledgers if not one[1].balanced), first)

    @property
    def ledger(self) -> LedgerView | None:
        """The same ledger alone."""
        return self.books[1]

    @property
    def busy(self) -> bool:
        """Whether tasks are under way."""
        run = self.run
        return bool(run and run.state != "ended") or self.rates.sent > 0 or self.rates.done > 0

    @property
    def failed(self) -> int:
        """Tasks that ended wrongly."""
        return failures(self.ledger) if self.ledger else 0


def trouble(picture: Picture) -> str:
    """Why work stands still or some of it may be lost, in words; "" if neither."""
    broker, run, tally = picture.broker, picture.run, picture.tally
    if refusing(broker):
        return f"tasks are refused: {refusing(broker)}"
    late = tally.of("late", "lost")
    holders = [worker for worker in broker.workers if worker.in_flight] if broker is not None and late else []
    if holders and all(worker.state in ("late", "lost") for worker in holders):
        held = sum(worker.in_flight for worker in holders)
        return f"all {units.several(held, 'task')} with workers that are late or lost"
    if broker is not None and broker.apart and tally.free:
        waits = "waits" if broker.apart == 1 else "wait"
        lost = f"{units.several(broker.apart, 'task')} of lost workers {waits} for an empty one"
        return f"{lost}, {units.several(tally.free, 'slot')} free"
    if picture.stuck >= STUCK:
        for_long = f"for {units.age(picture.stuck)}"
        if broker is not None and broker.backlog and tally.free:
            return f"tasks wait {for_long} although {units.several(tally.free, 'slot')} free"
        if run is not None and run.state != "ended" and run.ledger.in_flight:
            return f"no answer {for_long}, {units.count(run.ledger.in_flight)} in flight"
    return f"{late:,} of {units.several(len(picture.rows), 'worker')} late or lost" if late else ""


def refusing(broker: BrokerView | None) -> str:
    """Why a broker's store takes no tasks; empty where it takes them, or there is none."""
    return "" if broker is None or broker.kept is None else broker.kept.trouble


def stale(picture: Picture) -> str:
    """Since when what is shown is old, in words."""
    return f"as it was {units.age(picture.stale)} ago"


def badge(picture: Picture, paused: bool) -> tuple[str, str]:
    """The overall state in one word, and its colour."""
    if paused:
        return "PAUSED", "warn"
    if picture.stale:
        return "STALE", "bad"
    if picture.dead:
        return "FAULT", "bad"
    if picture.broker is None and picture.client is None:
        return "STARTING", "label"
    if picture.ledger and not picture.ledger.balanced:
        return "UNBALANCED", "bad"
    if refusing(picture.broker):
        return "REFUSING", "bad"
    if picture.broker and not picture.tally.present:
        return "NO WORKERS", "bad"
    if trouble(picture):
        return "DEGRADED", "warn"
    return ("RUNNING", "good") if picture.busy else ("READY", "good")


class Bridge:
    """Polls the feed, and keeps what one snapshot does not hold: rates, the backlog over time, events."""

    def __init__(self, lab: BrokerLab) -> None:
        self.lab = lab
        self.rows = Rows(lab.seat_of, lab.mode == "remote")
        self._callers = Callers(self.rows.name)
        self._flow = Flow()
        self._series = {name: Series() for name in ("throughput", "backlog", "latency", "lost")}
        self._answered = -math.inf  # when the newest task of the latency so far was answered
        self._seen = math.inf  # when the last picture of the broker was drawn, by its clock
        self._polls: deque[float] = deque(maxlen=4 * HERTZ + 1)
        self._log = EventLog(lab.feed)
        self._service = Service()
        self._runs: tuple[Run, ...] = ()
        self._ended: tuple[BulkSpec, float] | None = None
        self._ran = -math.inf  # when a run was seen under way, or a new one
        self._ended_tasks: tuple[int, int] | None = None  # by the books that are shown
        self._moved = -math.inf  # when one ended, or none was under way
        self._look = 0  # polls until the kept runs are read: that is many files, so only when there is a new one

    def poll(self, now: float) -> Picture:
        """The picture at monotonic time ``now``. Costs a few µs a worker."""
        feed = self.lab.feed
        brokers = _brokers(feed)
        broker = next((view for view in brokers.values() if view.serving), next(iter(brokers.values()), None))
        client: ClientView | None = feed.picture("client") or None
        rates = Rates()
        if broker is not None:
            self.rows.update(broker)
            self._series["backlog"].add(now, most(broker.peaks, self._seen, broker.backlog))
            self._seen = broker.at
            rates = self._flow.update(broker.at, broker.ledger)
            self._series["latency"].add(now, self._latency(broker))
        elif client is not None and client.run is not None:
            rates = self._flow.update(client.at, client.run.ledger)
        self._series["lost"].add(now, self.rows.tally.states.get("lost", 0))
        self._series["throughput"].add(now, round(rates.done))
        self._polls.append(now)
        self._watch_run(client.run if client else None, now)
        at = broker.at if broker else now
        stuck = self._watch_ends(broker.ledger if broker else client.run.ledger if client and client.run else None, at)
        health = self.lab.health()
        spent = now - self._polls[0]
        hertz = (len(self._polls) - 1) / spent if spent > 0 else float(HERTZ)
        self.lab.feed.refresh = hertz
        return Picture(
            up=now - self.lab.started,
            at=at,
            stuck=stuck,
            broker=broker,
            client=client,
            rows=self.rows.rows,
            tally=self.rows.tally,
            rates=rates,
            backlog=self._series["backlog"].values(0),
            series=self._series,
            events=self._log.read(),
            runs=self._runs,
            dead=health.dead,
            lag=health.loop_lag,
            hertz=hertz,
            brokers=brokers,
            pool=lambda: {
                seat: view for name in self.lab.pool_pictures() for seat, view in (feed.picture(name) or {}).items()
            },
            seat_of=self.lab.seat_of,
            name=self.rows.name,
            clients=self._callers.update(broker) if broker is not None else (),
            rested=now - self._ran,
            stale=self.lab.stale,
            service=self._service.update(brokers, self._log.read()),
            failovers=self._service.told,
        )

    def begin(self, minutes: Sequence[Minute], now: float, wall: float) -> None:
        """Have the charts begin with a history. ``now``: monotonic seconds, ``wall``: since the epoch, both of now."""
        for name, points in course(minutes, now, wall).items():
            self._series[name].begin(points, now)

    def recall(self, samples: Sequence[Sample]) -> None:
        """See what stood before, so that rates and charts begin with it; the feed stays as it is."""
        feed = self.lab.feed
        now = {name: feed.pictures.get(name) for name in ("broker", "client")}
        for sample in samples:
            for name, picture in sample.seen._asdict().items():
                feed.show(name, picture)
            self.poll(sample.at)
        for name, picture in now.items():
            feed.show(name, picture)

    def _latency(self, broker: BrokerView) -> int:
        """µs from a task's coming to its answer, of the slowest hundredth since the last look; 0 for none."""
        fresh = list(takewhile(lambda leg: leg.answered > self._answered, reversed(broker.legs)))
        if not fresh:
            return 0
        self._answered = fresh[0].answered
        took = sorted(leg.answered - leg.accepted for leg in fresh)
        return round(took[(len(took) - 1) * 99 // 100] * 1e6)

    def _watch_ends(self, ledger: LedgerView | None, at: float) -> float:
        """Seconds in which tasks were under way and none ended."""
        ended = (ledger.succeeded, failures(ledger)) if ledger is not None else (0, 0)
        if ledger is None or ended != self._ended_tasks or not (ledger.in_flight or ledger.queued) or at < self._moved:
            self._ended_tasks, self._moved = ended, at
        return at - self._moved

    def read_runs(self) -> Sequence[Run]:
        """The kept runs of all systems as they are now."""
        runs = tuple(self.lab.runs())
        self._runs = tuple(run for run in runs if run.get("system") == self.lab.system.name)
        return runs

    def _watch_run(self, run: BulkView | None, now: float) -> None:
        ended = (run.spec, run.elapsed) if run is not None and run.state == "ended" else None
        if run is not None and (ended is None or ended != self._ended):
            self._ran = now
        if ended is not None and ended != self._ended:
            self._look = SETTLE
        self._ended = ended
        if self._look == 0:
            self.read_runs()
        self._look -= 1


def _brokers(feed: Feed) -> dict[str, BrokerView]:
    """The brokers that are there. A node whose broker is gone has no picture of one."""
    found = {name: feed.picture(name) for name in ("broker", "fallback")}
    return {name: view for name, view in found.items() if isinstance(view, BrokerView)}
