"""What a worker costs its broker over tcp: 10, 1,000 and 4,000 C peers with a connection each, and all with one.

The machine may be busy with more than this, so what is told is processor time, of the broker's thread and of libzmq's
thread for connections, from ``/proc/PID/task/*/schedstat``; the ratio to ten workers is taken within a round. Memory is
what the broker's process has grown since it was ready, with what it grows for ten workers left out.

No heartbeat is due meanwhile: how many there would be a task depends on how fast this machine is.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from tests.bench import brokers
from tests.bench.brokers import PING, SLOTS, Contender, Peers
from tests.bench.figures import RUNS, digits, rounds, table
from tests.bench.processes import lane_of
from tests.bench.stage import CONSOLE, Stage

EACH = 1_000  # connections of one process at most: each has two descriptors
WINDOWS = (100, 1000)
QUIET = {"roundrobin_heartbeat": "600", "roundrobin_expiry": "3000"}
WIRE, PACKED = ("workers", "client", "false"), ("packers", "packed", "true")  # modes of both peers, the packed lane
SHARED = ("riders", *PACKED[1:])
INPUT = "ZMQbg/IO"  # how libzmq names its threads for connections


class Cost(NamedTuple):
    """Processor time of one run, µs a task."""

    thread: float
    input: float

    @property
    def both(self) -> float:
        return self.thread + self.input


class Plan(NamedTuple):
    """``base``: the one with ten workers that it is compared with."""

    workers: int
    modes: tuple[str, str, str]
    base: str


PLANS = {
    "seed's wire, 10": Plan(10, WIRE, "seed's wire, 10"),
    "seed's wire, 1,000": Plan(1_000, WIRE, "seed's wire, 10"),
    "packed, 10": Plan(10, PACKED, "packed, 10"),
    "packed, 1,000": Plan(1_000, PACKED, "packed, 10"),
    "packed, 1,000 of one connection": Plan(1_000, SHARED, "packed, 10"),
    "seed's wire, 4,000": Plan(4_000, WIRE, "seed's wire, 10"),
    "packed, 4,000 of one connection": Plan(4_000, SHARED, "packed, 10"),
}
QUICK = 5  # of them


class House:
    """A broker with workers, up and running, and what it has cost."""

    def __init__(self, stage: Stage, peers: Peers, plan: Plan) -> None:
        self.plan = plan
        self.costs: list[Cost] = []
        workers, (crew_mode, client, lane) = plan.workers, plan.modes
        each = workers if plan.modes == SHARED else EACH
        endpoint = stage.endpoint("tcp")
        broker = stage.start(*CONSOLE, "broker", "--bind", endpoint, settings=QUIET | lane_of(lane))
        self._pid = broker.pid
        self._before = self._resident()
        crews = [
            stage.start(*peers, crew_mode, endpoint, str(min(each, workers - begun)), str(SLOTS))
            for begun in range(0, workers, each)
        ]
        self.joined = self._resident() - self._before

        def ask(n: int, window: int, payload: int) -> dict[str, float]:
            before = spent(self._pid)
            answer = stage.ask(*peers, client, endpoint, str(n), str(window), str(brokers.sized(payload)))
            self.costs.append(cost(before, spent(self._pid), int(answer["tasks"])))
            return answer

        def stop() -> int:
            stage.end(broker)  # first, or it would tell of each worker that it is gone
            return sum(int(stage.end(crew)) for crew in crews)

        self.contender = Contender(ask, stop)

    @property
    def loaded(self) -> int:
        """Bytes that the broker has grown since it was ready."""
        return self._resident() - self._before

    def _resident(self) -> int:
        return int(psutil.Process(self._pid).memory_info().rss)


def spent(pid: int) -> dict[tuple[str, str], int]:
    """Processor time of each thread of a process, by number and name, in ns."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text(encoding="utf-8").strip()
        found[task.name, name] = int((task / "schedstat").read_text(encoding="utf-8").split()[0])
    return found


def cost(before: dict[tuple[str, str], int], after: dict[tuple[str, str], int], tasks: int) -> Cost:
    """What a task took of the busiest thread, which is the broker's, and of those for connections."""
    taken = {key: after[key] - before.get(key, 0) for key in after}
    own = max(ns for (_, name), ns in taken.items() if not name.startswith(INPUT))
    of_input = sum(ns for (_, name), ns in taken.items() if name.startswith(INPUT))
    return Cost(own / tasks / 1000, of_input / tasks / 1000)


def rows_of(window: int, houses: dict[str, House], rates: dict[str, float]) -> list[list[str]]:
    """A row for each, of the last ``RUNS`` runs."""
    rows = []
    for name, house in houses.items():
        costs, least = house.costs[-RUNS:], houses[house.plan.base].costs[-RUNS:]
        parts = [digits(median(one[part] for one in costs)) for part in (0, 1)]
        ratios = [one.both / ten.both for one, ten in zip(costs, least, strict=True)]
        both = [digits(median(one.both for one in costs)), digits(median(ratios))]
        span = f"{digits(min(ratios))}–{digits(max(ratios))}"
        rows.append([name, str(window), digits(rates[name]), *parts, *both, span])
    return rows


def memory(houses: dict[str, House]) -> list[list[str]]:
    """KiB that each worker beyond the first ten costs."""
    rows = []
    for name, house in houses.items():
        base = houses[house.plan.base]
        others = house.plan.workers - base.plan.workers
        if others:
            grown = (house.joined - base.joined, house.loaded - base.loaded)
            rows.append([name, *(digits(size / others / 1024) for size in grown)])
    return rows


def section(quick: bool) -> None:
    """Both tables."""
    with Stage() as stage:
        zdrive = stage.c_peers()
        if zdrive is None or not Path("/proc/self/schedstat").exists():
            print("\n  connections are skipped: no C compiler, pyzmq does not show its libzmq, or no /proc")
            return
        plans = dict(list(PLANS.items())[: QUICK if quick else None])
        houses = {name: House(stage, zdrive, plan) for name, plan in plans.items()}
        rows = []
        with brokers.counted({name: house.contender for name, house in houses.items()}) as contend:
            for window in WINDOWS[:1] if quick else WINDOWS:
                found = rounds(contend(window, PING), 0.2 if quick else 1.0, 2000)
                rates = {name: median(run.rate for run in runs) for name, runs in found.items()}
                rows += rows_of(window, houses, rates)
            resident = memory(houses)
    head = ["workers", "window", "tasks/s", "broker's thread", "I/O thread", "both", "both ÷ 10", "range"]
    table(f"Real connections: {SLOTS} slots each, 16 B; µs of a processor a task", head, rows)
    table("Real connections: KiB of the broker a worker", ["workers", "joined", "after load"], resident)
