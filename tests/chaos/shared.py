"""``python -m tests.chaos.shared [--tasks N] [--seed N] [--servers N] [--brokers N]``: brokers share a backlog in NATS.

A bulk run at one of several brokers. Meanwhile that one is killed and started again, another one is killed for good
with what it had leased, the server that leads the queue is killed and started again, and workers are killed. Then the
history is judged, and the books of the streams.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from engine.catalogue import SYSTEMS
from engine.core import Store
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.natsstreams import AGAIN
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.store import Counts
from engine.protocols.roundrobin.options import Options
from engine.runs.checker import Event, Judgement, Recorder, executions, judge, save
from tests.chaos.children import Child, Children
from tests.chaos.durable import HEARTBEAT, PATIENCE, WINDOW, times
from tests.helpers.natsserver import Server, cluster
from tests.helpers.processes import free_endpoint, until

SLOTS, WORKERS = 40, 2  # of each broker


@dataclass
class Figures:
    """What a run came to; times in seconds, from a death to the next answer."""

    tasks: int
    took: float = 0.0
    recovered: dict[str, list[float]] = field(default_factory=dict)
    judged: Judgement = field(default_factory=lambda: Judgement(0, (), 0, ()))
    counts: Counts = field(default_factory=lambda: Counts(0, 0, (), 0, 0, 0))

    @property
    def right(self) -> bool:
        """Every task ended well, once, and the books balance; one that was put while it ended is counted apart."""
        kept, failed = self.counts, dict(self.counts.failed)
        again = failed.pop(AGAIN, 0)
        whole = (kept.accepted - again, kept.succeeded, failed, kept.waiting, kept.leased)
        return whole == (self.tasks, self.tasks, {}, 0, 0) and not self.judged.wrong and self.ended == self.tasks

    @property
    def ended(self) -> int:
        """How many tasks their client knows to have succeeded."""
        return dict(self.judged.ends).get("ok", 0)

    def __str__(self) -> str:
        books = ", ".join(f"{name} {value}" for name, value in self.counts._asdict().items())
        died = "; ".join(f"{who}: next answer after {times(took)}" for who, took in self.recovered.items())
        wrong = "; ".join(self.judged.wrong[:5]) or "nothing wrong"
        speed = f"{self.tasks / self.took:,.0f}/s" if self.took else ""
        return (
            f"{self.tasks:,} tasks in {self.took:.1f} s ({speed}), {self.judged.again:,} executed again; "
            f"{died or 'nobody died'}; {books}; {wrong}"
        )


class Course:
    """Servers, brokers and their workers."""

    def __init__(
        self, folder: Path, children: Children, seed: int, servers: list[Server], brokers: int, lease: float
    ) -> None:
        self.folder, self.children, self.random, self.servers = folder, children, Random(seed), servers
        self.url = ",".join(f"127.0.0.1:{server.port}" for server in servers)
        self.url = f"nats://{self.url}/chaos"
        self.options = {"heartbeat": HEARTBEAT, "expiry": 3 * HEARTBEAT, "backlog": self.url}
        self.lease = lease
        self.endpoints = [free_endpoint() for _ in range(brokers)]
        self.brokers = [self._broker(endpoint) for endpoint in self.endpoints]
        self.started = 0
        self.workers = [[self._worker(endpoint) for _ in range(WORKERS)] for endpoint in self.endpoints]

    def _broker(self, endpoint: str) -> Child:
        return self.children.broker("roundrobin", endpoint, self.options | {"lease": self.lease})

    def _worker(self, endpoint: str) -> Child:
        self.started += 1
        return self.children.worker("roundrobin", endpoint, self.options, f"worker-{self.started}", SLOTS)

    def lab(self, broker: int) -> LiveLab:
        """A client of this broker, not open."""
        options = Options(**self.options)  # type: ignore[arg-type]
        return LiveLab(SYSTEMS["roundrobin"], options, connect=self.endpoints[broker], workers=0, broker=False)

    def kill_broker(self) -> None:
        """The client's; and another one goes on in its place."""
        self.brokers[0].kill()
        self.brokers[0] = self._broker(self.endpoints[0])

    def kill_for_good(self) -> None:
        """The last broker, and nobody takes its place."""
        self.brokers[-1].kill()

    def kill_worker(self) -> None:
        """And another one comes."""
        place = self.random.randrange(WORKERS)
        self.workers[0][place].kill()
        self.workers[0][place] = self._worker(self.endpoints[0])

    def stream(self) -> dict[str, Any]:
        """What the servers say of the queue."""
        with closing(JetStream(self.url, lease=self.lease)) as store:
            store.counts()
            return store.link.run(store.streams.api(f"STREAM.INFO.{store.streams.tasks}", {}))

    def kill_leader(self) -> None:
        """Of the queue's servers; it comes back when another one leads."""
        leader = self.stream()["cluster"]["leader"]
        (server,) = [one for one in self.servers if one.folder.name == leader]
        server.kill()
        until(lambda: self.stream()["cluster"].get("leader") not in (None, leader), "another leader")
        server.start()

    def settled(self) -> bool:
        """Whether all replicas have everything."""
        found = self.stream()["cluster"].get("replicas", [])
        return all(one.get("current") and not one.get("offline") for one in found)


def play(
    tasks: int,
    seed: int,
    *,
    servers: int = 1,
    brokers: int = 1,
    kills: int = 0,
    leaders: int = 0,
    gone: bool = False,
    lease: float = 10.0,
    keep: Path | None = None,
) -> Figures:
    """One run. ``kills``: of the client's broker and a worker; ``leaders``: of the queue's; ``gone``: the last broker.

    ``lease``: seconds; ``keep``: where its history goes.
    """
    figures = Figures(tasks)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        started = cluster(folder, servers) if servers > 1 else [Server(folder / "n1")]
        for server in started:
            stack.enter_context(server)
        children = stack.enter_context(Children(folder, {}))
        course = Course(folder, children, seed, started, brokers, lease)
        recorder = stack.enter_context(Recorder())
        with course.lab(0) as client:
            until(lambda: client.wait_linked(0.1), "the client's link")
            began = time.monotonic()
            client.run(BulkSpec("ping", tasks, in_flight=WINDOW, timeout=PATIENCE))

            def done() -> int:
                view = client.run_view()
                return 0 if view is None else view.ledger.succeeded

            _faults(course, figures, done, kills=kills, leaders=leaders, gone=gone)
            client.wait_run(PATIENCE)
            figures.took = time.monotonic() - began
        for broker in course.brokers:
            broker.kill()
        _judge(course, recorder.events, figures, keep)
    return figures


def _faults(course: Course, figures: Figures, done: Callable[[], int], *, kills: int, leaders: int, gone: bool) -> None:
    """Spread over the run."""
    faults: list[tuple[str, Callable[[], None]]] = []
    faults += [("broker killed", course.kill_broker), ("worker killed", course.kill_worker)] * kills
    faults += [("leader killed", course.kill_leader)] * leaders
    if gone:
        faults.insert(len(faults) // 2, ("broker killed for good", course.kill_for_good))
    for number, (name, fault) in enumerate(faults, 1):
        due = figures.tasks * number // (len(faults) + 1)
        until(lambda due=due: done() >= due, "the next part of the run")  # type: ignore[misc]
        if name == "leader killed":
            until(course.settled, "all replicas")
        before, died = done(), time.monotonic()
        fault()
        until(lambda before=before: done() > before or before == figures.tasks, "an answer")  # type: ignore[misc]
        figures.recovered.setdefault(name, []).append(time.monotonic() - died)


def _judge(course: Course, told: list[Event], figures: Figures, keep: Path | None) -> None:
    events = list(told)
    for path in sorted(course.folder.glob("worker-*")):
        events += executions(path)
    with closing(JetStream(course.url, lease=course.lease)) as store:
        until(lambda: _is_quiet(store), "acknowledgements that were lost: what they are of is delivered once more")
        asked = [event.task for event in events if event.kind == "invoke"]
        known = {task: outcome.why for task, outcome in store.results(asked).items()}
        figures.counts = store.counts()
    figures.judged = judge(events, known)
    if keep is not None:
        save(keep, events)


def _is_quiet(store: JetStream) -> bool:
    """Whether nothing is leased, or something waits that has no outcome: that is told by the books."""
    return bool(store.perform([Store(0, [], [], [], WINDOW)])[0].leased) or store.counts().leased == 0


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.shared", description="Nothing accepted is lost.")
    parser.add_argument("--tasks", type=int, default=100_000, help="of one run (100000)")
    parser.add_argument("--seed", type=int, default=1, help="of who is killed (1)")
    parser.add_argument("--servers", type=int, default=3, help="of NATS (3)")
    parser.add_argument("--brokers", type=int, default=2, help="that share the queue (2)")
    parser.add_argument("--kills", type=int, default=3, help="of the client's broker, and as many of workers (3)")
    parser.add_argument("--leaders", type=int, default=3, help="how often the leading server is killed (3)")
    parser.add_argument("--seconds", type=float, default=0.0, help="runs with further seeds until then (one run)")
    parser.add_argument("--history", type=Path, help="where the history of the last run goes, as lines of JSON")
    options = parser.parse_args()
    right, ends, seed = True, time.monotonic() + options.seconds, options.seed
    while True:
        figures = play(
            options.tasks,
            seed,
            servers=options.servers,
            brokers=options.brokers,
            kills=options.kills,
            leaders=options.leaders if options.servers > 1 else 0,
            gone=options.brokers > 1,
            keep=options.history,
        )
        print(f"seed {seed}: {figures}", flush=True)
        right, seed = right and figures.right, seed + 1
        if time.monotonic() >= ends:
            return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
