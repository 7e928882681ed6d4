"""One system as its users run it: a broker, workers and clients in processes, and a proxy on each of their lines.

The client that carries the load and the one that probes are labs of this process, so that their pictures can be read.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.parts.bulk import Bulk, BulkSpec, BulkView
from tests.chaos.children import Child, Children
from tests.chaos.proxy import Link, Proxy
from tests.helpers.processes import free_endpoint, until

WORKERS, SLOTS = 3, 4
RATE, WINDOW = 200.0, 60  # tasks a second, and out at once, of the load
PATIENCE = 15.0  # seconds that a task of the load may take
BROKER = "broker"
NAMES = ("roundrobin", "pingpong", "conversation", "negotiated")
DURABLE = "roundrobin-durable"  # round robin with a store


def quick(name: str, heartbeat: float) -> Mapping[str, float]:
    """A system's settings with this heartbeat, and three of them in silence as the end."""
    three = 3 * heartbeat
    return {
        "roundrobin": {"heartbeat": heartbeat, "expiry": three},
        "pingpong": {
            "ping_every": heartbeat,
            "broker_timeout": heartbeat,
            "n_timeouts": 3,
            "worker_expiry": three,
            "probe_deadline": three,
        },
        "conversation": {"heartbeat": heartbeat, "expiry": three},
        "negotiated": {"heartbeat": heartbeat, "silence": 3, "doubt": three},
    }[name]


class Outcomes:
    """Counts the tasks of bulk runs that end more than once, beside the client's own books."""

    def __init__(self) -> None:
        self.twice = 0
        self._ended: set[tuple[int, int]] = set()
        self._kept: list[Bulk] = []  # an id of a run stays its own
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Outcomes:
        for name in ("replied", "failed"):
            self._wrap(name)
        return self

    def __exit__(self, *_: object) -> None:
        for undo in self._undo:
            undo()

    def _wrap(self, name: str) -> None:
        before = getattr(Bulk, name)

        def counted(bulk: Bulk, task: int, *rest: Any) -> bool:
            ended: bool = before(bulk, task, *rest)
            if ended:
                if not self._kept or self._kept[-1] is not bulk:
                    self._kept.append(bulk)
                self.twice += (id(bulk), task) in self._ended
                self._ended.add((id(bulk), task))
            return ended

        setattr(Bulk, name, counted)
        self._undo.append(lambda: setattr(Bulk, name, before))


class Worker:
    """One worker's process and its line."""

    def __init__(self, link: Link, process: Child) -> None:
        self.link, self.process = link, process


class Well(NamedTuple):
    """How the broker is: everything at home, or what is missing."""

    workers: bool
    slots: bool
    said: str


class LabManager:
    """Use it as a context manager; everything has joined once it is open."""

    def __init__(self, name: str, folder: Path, seed: int, heartbeat: float = 0.5) -> None:
        self.name, self.heartbeat = name, heartbeat
        self.system = SYSTEMS[name]
        self.options: dict[str, object] = dict(quick(name, heartbeat))
        self.random = random.Random(f"{name} {seed}")
        self.endpoint = free_endpoint()
        self._stack = ExitStack()
        self.slots = 1 if name == "pingpong" else SLOTS
        self.proxy = Proxy()
        self._lines()
        variables = {f"ROUNDHOUSE_{name}_{key}".upper(): str(value) for key, value in self.options.items()}
        self._children = Children(folder, variables)
        self.brokers: dict[str, Child] = {}
        self.outcomes = Outcomes()
        self.workers: list[Worker] = []

    def __enter__(self) -> LabManager:
        with ExitStack() as stack:
            for part in (self._children, self.proxy, self.outcomes):
                stack.enter_context(part)
            self._start_brokers()
            for _ in range(WORKERS):
                link = self._peer_line()
                self.workers.append(Worker(link, self._worker(link)))
            self.client_link, self.guest_link = self._peer_line(), self._peer_line()
            self.client = stack.enter_context(self._lab(self.client_link.endpoint))
            self.probe = stack.enter_context(self._lab(self._probed))
            until(lambda: self.well().slots, f"the workers of {self.name}")
            until(lambda: self.client.wait_linked(0.1) and self.probe.wait_linked(0.1), f"the clients of {self.name}")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def links(self) -> list[Link]:
        """Every line but the probe's, which has none."""
        return [*(worker.link for worker in self.workers), self.client_link, self.guest_link]

    # ---- what a pair has otherwise -----------------------------------------------------------------------------------

    def _lines(self) -> None:
        """Lines to the brokers, of which peers are told."""

    def _peer_line(self) -> Link:
        """The line of another peer."""
        return self.line_to(self.endpoint)

    def _start_brokers(self) -> None:
        self.start_broker()

    @property
    def _probed(self) -> str:
        """Where the probe goes."""
        return self.endpoint

    def shown(self) -> dict[str, Any] | None:
        """The picture of the broker that serves; None where it shows none."""
        return self.brokers[BROKER].ask()

    def ready(self) -> bool:
        """Whether a fault may begin; else bring it there. Never waits for long."""
        return True

    # ---- processes --------------------------------------------------------------------------------------------------

    def line_to(self, endpoint: str) -> Link:
        """A new line to a broker at this endpoint."""
        return self.proxy.link(endpoint, self.random.getrandbits(32))

    def start_broker(self, which: str = BROKER) -> None:
        """At its own place, whoever was there before."""
        self.brokers[which] = self._children.broker(self.system.name, self.endpoint, self.options)

    def _worker(self, link: Link) -> Child:
        return self._children.roundhouse(
            "worker", "--system", self.system.name, "--connect", link.endpoint, "--slots", str(self.slots)
        )

    def start_workers(self, *dead: Worker) -> None:
        """Others in the places of dead ones; wait until they run, for what that takes is the machine's."""
        lines = {worker.link for worker in dead}
        before = sum(link.accepted for link in lines)
        for worker in dead:
            worker.process = self._worker(worker.link)

        def run() -> bool:
            connected = sum(link.accepted for link in lines) - before
            return connected >= len(dead) or any(not worker.process.alive for worker in dead)

        until(run, "the connections of new workers")

    def start_guest(self) -> Child:
        """A client in a process of its own, in the middle of a run."""
        before = self.guest_link.carried
        more = ("--connect", self.guest_link.endpoint, "--rate", "50", "--json", "-")
        guest = self._children.roundhouse("bulkping", "100000", "--system", self.system.name, *more)
        until(lambda: self.guest_link.carried > before + 4000 or not guest.alive, "a guest's run")
        return guest

    def _lab(self, endpoint: str) -> LiveLab:
        options = self.system.options(**self.options)
        return LiveLab(self.system, options, connect=endpoint, workers=0, broker=False)

    # ---- how it is --------------------------------------------------------------------------------------------------

    def well(self) -> Well:
        """As the broker says it."""
        shown = self.shown()
        if shown is None:
            return Well(False, False, "the broker shows no picture")
        rows = [row for row in shown["workers"] if row[1] != "lost"]
        fit = [row for row in rows if row[1] in ("ready", "busy")]
        workers = len(rows) == len(fit) == WORKERS
        total, free = sum(row[2] for row in rows), sum(row[3] for row in rows)
        slots = workers and total == free == WORKERS * self.slots
        slots = slots and shown["in_flight"] == shown["backlog"] == 0
        states = ", ".join(f"{row[1]} {row[3]}/{row[2]} free" for row in rows)
        said = f"{states}; {shown['in_flight']} in flight, {shown['backlog']} waiting"
        return Well(workers, slots, said)

    def keys(self) -> list[bytes]:
        """The routing ids of the workers that the broker knows."""
        shown = self.shown() or {"workers": []}
        return [bytes.fromhex(row[0]) for row in shown["workers"] if row[1] != "lost"]

    def troubles(self) -> list[str]:
        """Processes of ours that are gone and should not be."""
        ours = {f"worker {i}": worker.process for i, worker in enumerate(self.workers)}
        ours |= {f"the {which}": child for which, child in self.brokers.items()}
        found = [f"{what} {child.trouble}" for what, child in ours.items() if child.trouble]
        for what, lab in (("client", self.client), ("probe", self.probe)):
            found += [f"the {what}'s {dead}" for dead in lab.health().dead]
            if lab.health().failed:
                found.append(f"the {what} left: {[fact.text for fact in lab.feed.since(0)[0]][-3:]}")
        return found


class DurableManager(LabManager):
    """Round robin, whose broker has a store: a broker that is killed loses nothing that it accepted."""

    def __init__(self, folder: Path, seed: int, heartbeat: float = 0.5) -> None:
        super().__init__("roundrobin", folder, seed, heartbeat)
        self.name = DURABLE
        self.options["backlog"] = f"sqlite:{folder / 'tasks.sqlite'}"


class Pinger:
    """Asks a client again and again; says when a task that was sent after ``since`` has been answered."""

    def __init__(self, lab: LiveLab, since: float) -> None:
        self._lab, self._since = lab, since
        self._asked = -1.0

    def answered(self) -> bool:
        """Look once; never waits."""
        try:
            view = self._lab.run_view()
            if view is not None and view.state != "ended":
                return False
            if view is not None and self._asked >= self._since and view.passed:
                return True
            self._asked = time.monotonic()
            self._lab.run(BulkSpec("ping", 1, timeout=1.0))
        except Refused:  # the client has left: ``troubles`` says so
            return False
        return False


def running(lab: LiveLab) -> BulkView:
    """The run that is going, or the last."""
    until(lambda: lab.run_view() is not None, "a run")
    found = lab.run_view()
    assert found is not None
    return found


def interrupt(process: Child) -> None:
    """Let it end by itself, whatever state it is in."""
    process.signal(signal.SIGCONT)
    process.signal(signal.SIGTERM)
    until(lambda: not process.alive, "the end of a guest")
