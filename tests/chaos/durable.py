"""``python -m tests.chaos.durable [--system S] [--tasks N] [--seed N] [--kills N]``: nothing that was accepted is lost.

A bulk run at a broker with a store, while the broker is killed and started again, workers are killed and others stopped
for longer than their expiry. Then the history is judged, and the books of the store.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from engine.catalogue import SYSTEMS
from engine.drive.stores.sqlite import Sqlite
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.store import Counts
from engine.runs.checker import Event, Judgement, Recorder, executions, judge, outcomes, save
from tests.chaos.children import Child, Children
from tests.helpers.processes import free_endpoint, until

WORKERS, SLOTS = 3, 20
WINDOW = 1000
PATIENCE = 300.0  # seconds that a task may take
HEARTBEAT = 0.3
PACE: dict[str, dict[str, object]] = {
    "roundrobin": {"heartbeat": HEARTBEAT, "expiry": 3 * HEARTBEAT},
    "pingpong": {
        "ping_every": HEARTBEAT,
        "broker_timeout": HEARTBEAT,
        "worker_expiry": 3 * HEARTBEAT,
        "probe_deadline": 5 * HEARTBEAT,
    },
    "conversation": {"heartbeat": HEARTBEAT, "expiry": 3 * HEARTBEAT},
    "negotiated": {"heartbeat": HEARTBEAT, "doubt": 5 * HEARTBEAT, "patience": 100},
}
"""The settings of each system with a store."""


@dataclass
class Figures:
    """What a run came to; times in seconds."""

    tasks: int
    took: float = 0.0
    serving: list[float] = field(default_factory=list)  # from a broker's start to its ready
    recovered: list[float] = field(default_factory=list)  # from a broker's death to the next answer
    judged: Judgement = field(default_factory=lambda: Judgement(0, (), 0, ()))
    counts: Counts = field(default_factory=lambda: Counts(0, 0, (), 0, 0, 0))

    @property
    def right(self) -> bool:
        """Every task ended well, once, and the books of all lives together balance."""
        whole = self.counts[:5] == (self.tasks, self.tasks, (), 0, 0)
        return whole and not self.judged.wrong and self.judged.ends == (("ok", self.tasks),)

    def __str__(self) -> str:
        books = ", ".join(f"{name} {value}" for name, value in self.counts._asdict().items())
        wrong = "; ".join(self.judged.wrong[:5]) or "nothing wrong"
        return (
            f"{self.tasks:,} tasks in {self.took:.1f} s, {self.judged.again:,} executed again; broker killed "
            f"{len(self.serving)} times, ready after {times(self.serving)}, next answer after "
            f"{times(self.recovered)}; {books}; {wrong}"
        )


def times(seconds: list[float]) -> str:
    """In the order in which they were taken."""
    return "/".join(f"{one:.2f}" for one in seconds) + " s"


class Course:
    """The processes of one run, and what is done to them."""

    def __init__(
        self,
        folder: Path,
        children: Children,
        seed: int,
        packed: bool = False,
        store: Path | None = None,
        system: str = "roundrobin",
    ) -> None:
        self.folder, self.children, self.random, self.system = folder, children, Random(seed), SYSTEMS[system]
        self.endpoint, self.store = free_endpoint(), store or folder / "tasks.sqlite"
        self.options = PACE[system] | ({"packed": True} if packed else {})
        self._keeps = {self.system.store: f"sqlite:{self.store}"}
        self.events: list[Event] = []
        self.started = 0
        self.broker = self._broker()
        self.workers = [self._worker() for _ in range(WORKERS)]

    def _broker(self) -> Child:
        return self.children.broker(self.system.name, self.endpoint, self.options | self._keeps)

    def _worker(self) -> tuple[str, Child]:
        self.started += 1
        name = f"worker-{self.started}"
        return name, self.children.worker(self.system.name, self.endpoint, self.options, name, SLOTS)

    def lab(self) -> LiveLab:
        """The client, not open."""
        options = self.system.options(**self.options, **self._keeps)
        return LiveLab(self.system, options, connect=self.endpoint, workers=0, broker=False)

    def kill_broker(self, figures: Figures, done: Callable[[], int]) -> None:
        """And another one goes on with its store."""
        before, died = done(), time.monotonic()
        self.broker.kill()
        began = time.monotonic()
        self.broker = self._broker()
        figures.serving.append(time.monotonic() - began)
        until(lambda: done() > before or before == figures.tasks, "an answer of the next broker")
        figures.recovered.append(time.monotonic() - died)

    def kill_worker(self) -> None:
        """And another one comes."""
        place = self.random.randrange(WORKERS)
        self.workers[place][1].kill()
        self.workers[place] = self._worker()

    def stop_worker(self) -> None:
        """For longer than its expiry."""
        name, child = self.random.choice(self.workers)
        began = time.monotonic()
        child.signal(signal.SIGSTOP)
        time.sleep(4 * HEARTBEAT)
        child.signal(signal.SIGCONT)
        self.events.append(Event(began, "stopped", name, said=str(time.monotonic())))


def play(
    tasks: int,
    seed: int,
    kills: int,
    packed: bool = False,
    keep: Path | None = None,
    rate: float | None = None,
    system: str = "roundrobin",
) -> Figures:
    """One run; ``keep``: where its history goes; ``rate``: tasks a second, None for as many as go."""
    figures = Figures(tasks)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        children = stack.enter_context(Children(folder, {}))
        course = Course(folder, children, seed, packed, system=system)
        recorder = stack.enter_context(Recorder())
        with course.lab() as client:
            until(lambda: client.wait_linked(0.1), "the client's link")
            began = time.monotonic()
            client.run(BulkSpec("ping", tasks, in_flight=WINDOW, rate=rate, timeout=PATIENCE))

            def done() -> int:
                view = client.run_view()
                return 0 if view is None else view.ledger.succeeded

            faults: list[Callable[[], None]] = []
            for _ in range(kills):
                faults += [lambda: course.kill_broker(figures, done), course.kill_worker, course.stop_worker]
            for number, fault in enumerate(faults, 1):
                due = tasks * number // (len(faults) + 1)
                until(lambda due=due: done() >= due, "the next part of the run")  # type: ignore[misc]
                fault()
            client.wait_run(PATIENCE)
            figures.took = time.monotonic() - began
        settle(course, recorder, figures, keep)
    return figures


def settle(course: Course, recorder: Recorder, figures: Figures, keep: Path | None = None) -> None:
    """End the broker, and have the history judged, and the books of its store."""
    course.broker.kill()
    events = [*recorder.events, *course.events]
    for path in sorted(course.folder.glob("worker-*")):
        events += executions(path)
    with closing(Sqlite(course.store)) as store:
        known = outcomes(store.result, events)
        figures.counts = store.counts()
    figures.judged = judge(events, known)
    if keep is not None:
        save(keep, events)


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.durable", description="Nothing accepted is lost.")
    parser.add_argument("--system", choices=PACE, default="roundrobin", help="whose broker (roundrobin)")
    parser.add_argument("--tasks", type=int, default=100_000, help="of one run (100000)")
    parser.add_argument("--seed", type=int, default=1, help="of who is killed and stopped (1)")
    parser.add_argument("--kills", type=int, default=3, help="of the broker, and as many of workers (3)")
    parser.add_argument("--packed", action="store_true", help="on the packed lane")
    parser.add_argument("--rate", type=float, help="tasks a second (as many as go)")
    parser.add_argument("--seconds", type=float, default=0.0, help="runs with further seeds until then (one run)")
    parser.add_argument("--history", type=Path, help="where the history of the last run goes, as lines of JSON")
    options = parser.parse_args()
    right, ends, seed = True, time.monotonic() + options.seconds, options.seed
    while True:
        how = (options.packed, options.history, options.rate, options.system)
        figures = play(options.tasks, seed, options.kills, *how)
        print(f"{options.system}, seed {seed}: {figures}", flush=True)
        right, seed = right and figures.right, seed + 1
        if time.monotonic() >= ends:
            return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
