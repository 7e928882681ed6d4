"""What viewers cost: three that are attached, three that are stopped (SIGSTOP), and nobody.

One process has the broker, 10,000 workers and a client over inproc, and runs pings at its highest rate. Three figures
tell what viewers take from it: its throughput, for which viewers and it compete where there are few cores; its
processor time a task, all its threads together; and of that the time of the threads that only a broker has, its own and
the control socket's. The second one is the cost, and is printed with the range of the middle half of the rounds.

So that it varies less than viewers cost, runs are short, take turns, and are many; the viewers are the same processes
all the time, which are let go of the process or stopped between runs; no heartbeat is due and no full collection of the
interpreter is made meanwhile. ``python -m tests.bench.attach lab WORKERS FOLDER`` is that process, ``… view FOLDER``
one viewer.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from engine.catalogue import SYSTEMS
from engine.drive.collector import NEVER
from engine.drive.control.found import running
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.remote import Remote
from engine.parts.bulk import BulkSpec
from tests.bench.figures import Contend, Run, ranking, ranking_head, rounds, table
from tests.bench.peers import Foul
from tests.bench.stage import PYTHON, Stage, said, tell

ROUND = SYSTEMS["roundrobin"]
MODULE = (PYTHON, "-m", "tests.bench.attach")
VIEWERS = 3
BROKERS = ("roundhouse-broker", "roundhouse-control")  # the threads of a broker: its own, its control socket's
FIGURES = (
    "tasks a second",
    "tasks a second of processor time, all threads of the process",
    "tasks a second of processor time, the broker's threads",
)
WINDOW = 2000
ROUNDS, SECONDS = 16, 1.5  # how many runs of each, and about how long one takes
COST = 1  # the figure that is the cost
SETTLE = 1.0  # seconds for viewers to have looked, or to have been forgotten
QUIET = {"heartbeat": 600.0, "expiry": 3000.0}
WAIT = 300.0


def serve(workers: int, folder: Path) -> int:
    """Runs of so many tasks as each line of the input says, until it ends."""
    options = ROUND.options(max_backlog=100_000, **QUIET)
    bind = ("inproc://bench",)
    with LiveLab(ROUND, options, bind=bind, workers=workers, slots=1, control=folder) as lab:
        wait_until(lambda: said_by(lambda: lab.registered() >= workers), WAIT)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], NEVER)
        print("ready", flush=True)
        for line in sys.stdin:
            n, before, of_broker = int(line), time.process_time(), time_of(BROKERS)
            viewing = lab.feed.spent + time_of(BROKERS[1:])
            lab.run(BulkSpec("ping", n, in_flight=WINDOW, timeout=60.0))
            wait_until(lambda: said_by(lambda: ended(lab)), WAIT)
            record = lab.report()
            spent = time.process_time() - before, time_of(BROKERS) - of_broker
            viewing = lab.feed.spent + time_of(BROKERS[1:]) - viewing
            print(json.dumps([record["succeeded"], record["rate_per_s"], *spent, viewing]), flush=True)
    return 0


def time_of(names: Sequence[str]) -> float:
    """Processor seconds of the threads of this process that have these names."""
    threads = [thread.ident for thread in threading.enumerate() if thread.name in names]
    return sum(time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in threads if ident is not None)


def said_by(ask: Callable[[], bool]) -> bool:
    """What a node says; with so many workers one may be too busy to."""
    try:
        return ask()
    except Refused:
        return False


def ended(lab: LiveLab) -> bool:
    """Whether the run has."""
    run = lab.run_view()
    return run is not None and run.state == "ended"


def view(folder: Path) -> int:
    """Attached from a line of the input to the next one, until it ends."""
    (found,) = running(folder, WAIT)
    print("ready", flush=True)
    while sys.stdin.readline():
        with Remote(found, ROUND) as lab:
            wait_until(lambda: lab.feed.picture("broker") is not None, WAIT)
            print(f"attached {len(lab.feed.picture('broker').workers)}", flush=True)
            sys.stdin.readline()
        print("gone", flush=True)
    return 0


class Viewers:
    """Three processes that look, or do not."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._children = [stage.start(*MODULE, "view", str(folder)) for _ in range(VIEWERS)]

    def _all(self, answer: str) -> None:
        for child in self._children:
            tell(child, "")
            assert child.stdin is not None
            child.stdin.flush()
        for child in self._children:
            if not said(child).startswith(answer):
                raise Foul("a viewer does not look as it should")

    @contextmanager
    def looking(self, stopped: bool) -> Iterator[None]:
        """They are attached, and ``stopped`` or not, as long as this lasts."""
        self._all("attached")
        self._signal(signal.SIGSTOP if stopped else signal.SIGCONT)
        time.sleep(SETTLE)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)
            self._all("gone")

    def _signal(self, number: signal.Signals) -> None:
        for child in self._children:
            child.send_signal(number)


def section(quick: bool) -> None:
    """One table."""
    workers = 1_000 if quick else 10_000
    with Stage() as stage:
        folder = stage.folder / "control"
        lab = stage.start(*MODULE, "lab", str(workers), str(folder))
        viewers = Viewers(stage, folder)

        def run(n: int) -> Run:
            assert lab.stdin is not None
            lab.stdin.write(f"{n}\n")
            lab.stdin.flush()
            succeeded, rate, spent, of_broker, viewing = json.loads(said(lab))
            if succeeded != n:
                raise Foul(f"{n - succeeded} of {n} tasks were lost")
            told.append((rate, n / spent, n / of_broker, viewing / spent))
            return Run(rate)

        def watched(stopped: bool) -> Contend:
            def watch(n: int) -> Run:
                with viewers.looking(stopped):
                    return run(n)

            return watch

        told: list[tuple[float, ...]] = []  # of each run, by ``FIGURES``
        contenders = {"nobody": run, "3 attached": watched(False), "3 stopped": watched(True)}
        found = rounds(contenders, SECONDS, 5000, 4 if quick else ROUNDS)
        assert lab.stdin is not None
        lab.stdin.close()
        lab.wait(WAIT)
    by_rate = {rates[0]: rates for rates in told}
    for place, figure in enumerate(FIGURES):
        seen = {name: [Run(by_rate[one.rate][place]) for one in runs] for name, runs in found.items()}
        title = f"Viewers of one process, inproc, window {WINDOW}: {figure}"
        table(title, ranking_head(("nobody",), ("workers",)), ranking(seen, ("nobody",), (f"{workers:,}",)))
    print()
    for name, runs in found.items():
        shares = sorted(by_rate[one.rate][-1] for one in runs)
        ratios = sorted(
            by_rate[nobody.rate][COST] / by_rate[one.rate][COST] - 1
            for nobody, one in zip(found["nobody"], runs, strict=True)
        )
        quarter = len(ratios) // 4
        cost = f"{median(ratios):+.1%} of processor time a task ({ratios[quarter]:+.1%} to {ratios[-1 - quarter]:+.1%})"
        part = f"drawing and the control socket take {median(shares):.1%} of the process's time"
        print(f"  {name}: {cost}; {part}")


if __name__ == "__main__":
    role, *rest = sys.argv[1:]
    sys.exit(serve(int(rest[0]), Path(rest[1])) if role == "lab" else view(Path(rest[0])))
