"""A lab without an engine: the same pictures every time, as many workers as wanted, time that a test moves."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.catalogue import SYSTEMS
from engine.core import NEVER, Level, Note
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.content import BrokerLab
from engine.labs.health import Health
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.histogram import Histogram
from engine.parts.view import (
    BrokerView,
    ClientRow,
    ClientView,
    Detail,
    Incident,
    Kept,
    LedgerView,
    State,
    TaskRow,
    Underway,
    WorkerRow,
)
from engine.system import System
from engine.tracing.trace import Trace

ANIMALS = (
    "tern", "kestrel", "otter", "badger", "mink", "wren", "marten", "heron", "lynx", "raven", "lion", "stoat",
    "shrike", "ibex", "vole", "osprey",
)  # fmt: skip
EPOCH = 1_750_000_000.0  # wall clock of the first fact
HEALTHY = Health((), 0.0003)


@dataclass
class FakeRun:
    """``engine.settings.settings.Run``."""

    count: int = 100
    in_flight: int = 10
    data_count: int = 2000
    data_in_flight: int = 0
    timeout: float = 5.0
    bytes: int = 1024


@dataclass
class FakeSettings:
    """What the console asks of settings."""

    folder: Path
    theme: str = "midnight"
    keymap: dict[str, str] = field(default_factory=dict)
    run: FakeRun = field(default_factory=FakeRun)

    @property
    def config_folder(self) -> Path:
        return self.folder / "config"

    @property
    def state_folder(self) -> Path:
        return self.folder / "state"


def kept_run(n: int = 2000, kind: str = "data", failed: int = 0, rate: float = 8980.0) -> dict[str, Any]:
    """A run file."""
    figures = {"min": 120.0, "mean": 700.0, "p50": 653.0, "p90": 1200.0, "p95": 1800.0, "p99": 5000.0}
    return {
        "schema": "roundhouse.run/1", "kind": kind, "system": "roundrobin", "transport": "inproc", "requested": n,
        "sent": n, "succeeded": n - failed, "failed": {"timeout": failed} if failed else {}, "elapsed_s": n / rate,
        "rate_per_s": rate, "bytes": n * 1024, "in_flight": 10,
        "service_us": {**figures, "p999": 9000.0, "max": 11000.0}, "planned_us": None, "legs_us": None,
        "ledger": {
            "sent": n, "succeeded": n - failed, "failed": failed, "in_flight": 0, "queued": 0, "dropped": 0,
            "balanced": True,
        },
        "verdict": "fail" if failed else "pass", "started_at": "2026-05-04T22:59:20+02:00",
        "versions": {"roundhouse": "0.1.0"},
    }  # fmt: skip


def _system(name: str) -> System:
    def nobody(*_: object) -> Any:
        raise AssertionError("the fake makes no cores")

    like = SYSTEMS.get(name, SYSTEMS["roundrobin"])
    return replace(like, name=name, broker=nobody, worker=nobody, client=nobody)


class FakeLab(BrokerLab):
    """A lab with a broker. ``orders`` holds what was asked; ``refusal`` refuses everything."""

    def __init__(
        self,
        workers: int = 16,
        *,
        busy: bool = True,
        readonly: bool = False,
        seed: int = 7,
        system: str = "roundrobin",
    ) -> None:
        self.system = _system(system)
        self.options: Any = self.system.options()
        self.chosen = ""  # the lane
        self.endpoints: tuple[str, ...] = ("tcp://127.0.0.1:6714",)
        self.feed = Feed()
        self.readonly = readonly
        self.orders: list[tuple[Any, ...]] = []
        self.seats: dict[bytes, str] = {}  # whose routing ids are ours
        self.terms: tuple[tuple[str, str], ...] = ()  # of the broker
        self.answers: tuple[object, ...] = ()  # of the client
        self.clients: tuple[ClientRow, ...] = ()
        self.limits: tuple[tuple[bytes, float], ...] = ()
        self.oldest: tuple[Underway, ...] = ()
        self.refusal = ""
        self.came: str | None = None  # of an order that gives back words
        self.kept = [kept_run(100, "ping"), kept_run(500, "ping", failed=3), kept_run()] if busy else []
        self.state = HEALTHY
        self.at = 1000.0  # monotonic seconds
        self.started = self.at - (864.0 if busy else 3.0)
        self._random = random.Random(seed)
        self._busy = busy
        self._inspected: bytes | None = None
        self._done = 40_000 if busy else 0
        self._spec = BulkSpec("ping", 100_000, 0, 256)
        self._histogram = Histogram()
        self._backlog = 0
        self.store: Kept | None = None
        self._elapsed = 0.0
        self.workers: list[WorkerRow] = [self._worker(i, workers) for i in range(workers)]
        self._seed_facts()
        self.advance(0.25)

    # ---- time -------------------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass and publish the pictures of then."""
        self.at += seconds
        if self._busy:
            self._work(seconds)
        self.publish()

    def publish(self) -> None:
        """The pictures of now."""
        workers = tuple(self.workers)
        in_flight = sum(worker.in_flight for worker in workers)
        failed = (("lost worker", 8), ("timeout", 53)) if self._busy else ()
        sent = self._done + 61 * self._busy + in_flight + self._backlog
        ledger = LedgerView(sent, self._done, failed, in_flight, self._backlog, 0)
        self.feed.show(
            "broker",
            BrokerView(
                self.at, workers, self._backlog, in_flight, ledger, (("violations", 3),), (), self._detail()
            )._replace(terms=self.terms, clients=self.clients, oldest=self.oldest, kept=self.store, limits=self.limits),
        )
        run = self._run() if self._busy else None
        self.feed.show("client", ClientView(self.at, True, run, 0, answers=self.answers))

    def fact(self, text: str, level: Level = "info", subject: bytes = b"") -> None:
        """Something has happened."""
        self.feed.fact(Note(level, text, subject), "broker", EPOCH + self.at)

    def replace(self, place: int, **changes: Any) -> None:
        """Change one worker's row."""
        self.workers[place] = self.workers[place]._replace(**changes)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def _order(self, *order: Any) -> str | None:
        if self.refusal:
            raise Refused(self.refusal)
        self.orders.append(order)
        return self.came

    def health(self) -> Health:
        return self.state

    def run(self, spec: BulkSpec) -> None:
        self._order("run", spec)

    def ping(self, tracked: bool = True, timeout: float = 5.0) -> None:
        self._order("ping", tracked)

    def stop_run(self) -> None:
        self._order("stop_run")

    @property
    def lane(self) -> str:
        return self.chosen

    def choose_lane(self, lane: str) -> None:
        self._order("choose_lane", lane)

    def slow(self, seconds: float) -> None:
        self._order("slow", seconds)

    def add_workers(self, n: int) -> None:
        self._order("add_workers", n)

    def remove_workers(self, n: int) -> None:
        self._order("remove_workers", n)

    def stop_worker(self, key: bytes) -> None:
        self._order("stop_worker", key)

    def hurts(self, line: str) -> str:
        if not line.split()[1].startswith("tern"):
            raise Refused(f"{line}: not here")
        return f"what {line} does"

    def hurt(self, line: str) -> str | None:
        return self._order("hurt", line)

    def steer(self, order: object) -> str | None:
        return self._order("steer", order)

    def set_slots(self, key: bytes, slots: int) -> str | None:
        return self._order("set_slots", key, slots)

    def keep_trace(self, text: str) -> str | None:
        return self._order("keep_trace", text)

    def log_level(self, level: str) -> str | None:
        return self._order("log_level", level)

    def undo(self) -> str | None:
        return self._order("undo")

    def withdraw(self, client: bytes) -> str | None:
        return self._order("withdraw", client)

    def discard(self, client: bytes, task: bytes) -> str | None:
        return self._order("discard", client, task)

    def revive(self, place: str, numbers: tuple[int, ...]) -> None:
        self._order("revive", place, numbers)

    def move(self, client: bytes, task: bytes, first: bool) -> str | None:
        return self._order("move", client, task, first)

    def inspect(self, key: bytes | None) -> None:
        self._order("inspect", key)
        self._inspected = key
        self.publish()

    def seat_of(self, key: bytes) -> str | None:
        return self.seats.get(key)

    def attach(self, trace: Trace) -> None:
        self._order("attach")

    def detach(self, trace: Trace) -> None:
        self._order("detach")

    def order_client(self, order: object, changes: str = "") -> None:
        self._order("order_client", order, changes)

    def pull_plug(self) -> None:
        self._order("pull_plug")

    def hand_back(self) -> None:
        self._order("hand_back")

    def bulk(self, workers: int = 10, pool: str = "", slots: int | None = None, transport: str = "") -> None:
        asked = (workers, pool, slots, transport)
        self._order("bulk", *(() if asked == (10, "", None, "") else asked))

    def endbulk(self, pool: str = "") -> None:
        self._order("endbulk", *filter(None, [pool]))

    def choose_transport(self, transport: str) -> None:
        self._order("choose_transport", transport)

    def register(self) -> None:
        self._order("register")

    def deregister(self) -> None:
        self._order("deregister")

    def runs(self) -> Sequence[Mapping[str, Any]]:
        return list(self.kept)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _worker(self, i: int, of: int) -> WorkerRow:
        name = f"{ANIMALS[i % len(ANIMALS)]}-{i // len(ANIMALS) + 1:0{len(str(of // 16 + 1)) + 1}}"
        slots = (8, 8, 16, 4)[i % 4]
        state: State = "ready"
        heard, rtt = self.at - self._random.random(), 0.0002 + self._random.random() * 0.0012
        if self._busy and i % 64 == 13:
            state, heard = "late", self.at - 2.6
        elif self._busy and i % 64 == 15:
            state, heard = "lost", self.at - 11.2
        elif self._busy and i % 64 == 14:
            state = "drain"
        done = self._random.randrange(20_000, 190_000) if self._busy else 0
        failed = {13: 12, 15: 41, 2: 3, 3: 1, 8: 1}.get(i % 64, 0) if self._busy else 0
        return WorkerRow(
            name.encode(), name, state, slots, slots, 0, done, failed, 3 if failed > 9 else 0, self.at - 800, heard,
            heard + 3.0 if state != "lost" else NEVER, rtt,
        )  # fmt: skip

    def _work(self, seconds: float) -> None:
        moves = self._random.random
        for i, worker in enumerate(self.workers):
            if worker.state in ("lost", "late"):
                continue
            taken = int(moves() * worker.slots) if worker.state != "drain" else 3
            done = int((150 + (i * 131) % 1000) * (0.8 + 0.4 * moves()) * seconds)
            self._done += done
            heard = self.at - moves() * 0.2 if moves() < seconds * 1.2 else worker.heard
            state = worker.state if worker.state == "drain" else "busy" if taken > worker.slots * 0.6 else "ready"
            self.workers[i] = worker._replace(
                state=state,
                free=worker.slots - taken,
                in_flight=taken,
                done=worker.done + done,
                heard=heard,
                lost_at=heard + 3.0,
            )
            if i < 400:
                for _ in range(max(1, done // 8)):
                    self._histogram.record(math.exp(self._random.gauss(-7.4, 0.35)) * (4 if moves() > 0.96 else 1))
        wave = 700 + 600 * math.sin(self.at / 9) + 250 * math.sin(self.at / 2.3)
        self._backlog = max(0, int(wave))

    def _run(self) -> BulkView:
        done = min(self._done - 1000, self._spec.n)
        ended = done >= self._spec.n
        if not ended:
            self._elapsed = self.at - 1000 + 4.5
        out = 0 if ended else 256
        ledger = LedgerView(done + out, done - 3, (("timeout", 3),), out, 0, 0)
        return BulkView(
            self._spec, "ended" if ended else "running", False, done + out, ledger, self._elapsed,
            self._histogram.summary(), None, tuple(self._histogram.buckets()), 0,
        )  # fmt: skip

    def _detail(self) -> Detail | None:
        worker = next((worker for worker in self.workers if worker.key == self._inspected), None)
        if worker is None:
            return None
        client = b"tcp://127.0.0.1:6714:503206"
        tasks = tuple(
            TaskRow(client, (7000 + i).to_bytes(8, "little"), "ping", self.at - 0.4 * i, 2 if i == 2 else 1)
            for i in range(worker.in_flight)
        )
        incidents = (
            Incident(self.at - 95, worker.key, "slots out of range", 1),
            Incident(self.at - 12, worker.key, "increment without a task", 4),
        )
        return Detail(worker.key, tasks, incidents, (("heartbeats", 812), ("late replies", 2)))

    def _seed_facts(self) -> None:
        if not self._busy:
            self.fact("broker listens on tcp://127.0.0.1:6714")
            return
        lines: tuple[tuple[Level, str], ...] = (
            ("good", "worker otter-01 joined · 8 slots"),
            ("good", "worker wren-01 joined · 16 slots"),
            ("info", "bulkping started · 100,000 pings · window 256"),
            ("warn", "backlog above 1,000 for 5 s"),
            ("info", "backlog back to 412"),
            ("warn", "worker ibex-01 missed 2 heartbeats"),
            ("bad", "worker osprey-01 lost · 8 tasks given to others"),
            ("info", "worker vole-01 draining · 3 in flight"),
        )
        for place, (level, text) in enumerate(lines):
            self.feed.fact(Note(level, text), "broker", EPOCH + 7 * place)


class FakeLabs:
    """Obeys ``console.pictures.bridge.Labs``: a lab opens at once unless it is ``slow``; orders are obeyed."""

    def __init__(self, *labs: Any, names: tuple[str, ...] = ("roundrobin", "conversation", "pingpong")) -> None:
        self.names = names
        self.known = {lab.system.name: lab for lab in labs}
        self.running: dict[str, Any] = {labs[0].system.name: labs[0]}
        self.refusals: dict[str, Exception] = {}
        self.slow = False
        self.opening: dict[str, Future[Any]] = {}

    def add(self, name: str, make: Callable[[str], Any]) -> None:
        self.names = (*self.names, name)
        self.known[name] = make(name)

    def open(self, name: str) -> Future[Any]:
        future: Future[Any] = Future()
        self.opening[name] = future
        if not self.slow:
            self.finish(name)
        return future

    def finish(self, name: str) -> None:
        """The lab is open, or refuses."""
        if name in self.refusals:
            self.opening[name].set_exception(self.refusals[name])
        else:
            lab = self.known.get(name) or FakeLab(3, busy=False, system=name)
            self.known[name] = self.running[name] = lab
            self.opening[name].set_result(lab)

    def order(self, name: str, give: Callable[[Any], object]) -> Future[object]:
        answer: Future[object] = Future()
        try:
            give(self.running[name])
        except Exception as error:  # of whoever waits for the answer
            answer.set_exception(error)
        else:
            answer.set_result(None)
        return answer
