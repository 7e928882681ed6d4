"""What a run loses to a screen that shows all its workers: the console beside the same lab without one, in turns.

The console runs on a terminal of its own whose output is thrown away, and is given ``:bulkping N`` as a user types it.
Without it a child holds the same lab and is given N. Both stand for all rounds, with their workers, in the same process
or in others over tcp; whose turn it is not is stopped (SIGSTOP), so that heartbeats of thousands of workers cost the
other nothing. Rates and times are those of the runs' records. Pictures are counted where
they come out of the terminal, from the beginning of a run to its end; the processor time of the console's thread is the
system's.

``python -m tests.bench.watched ENDPOINT WORKERS`` is the child.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from engine.catalogue import SYSTEMS
from engine.drive.collector import collecting
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from tests.bench.figures import RUNS, Run, ranking, ranking_head, rounds, table
from tests.bench.peers import Foul
from tests.bench.screen import CROWD, WINDOW, WORKERS, Terminal, crowd, first_picture, terminal
from tests.bench.stage import CONSOLE, PYTHON, Child, Stage, run_of, said, tell

MOST = 4_000  # workers of one process over tcp: each may need four descriptors, of which it is usually given 20,000
JOINED = 60.0  # seconds that all workers may take to join
AWAKE = 1.5  # seconds from when a side goes on until it is given a run
FIRST = 4_000  # tasks of the runs that tell how many make a cell
TASKS = 2_000  # of the run behind which all workers are there

Give = Callable[[int], dict[str, Any]]
"""Carries out so many tasks; the record of the run."""


def section(quick: bool) -> None:
    """All tables about the console."""
    for workers, apart in ((WORKERS, False),) if quick else ((WORKERS, False), (CROWD, False), (CROWD, True)):
        try:
            on_and_off(workers, apart, 0.5 if quick else 1.5, 3 if quick else RUNS)
        except Foul as foul:  # a machine that is busy otherwise can not keep so many alive
            print(f"\n  {workers:,} workers {'apart' if apart else 'in one process'} are left out: {foul}")
    first_picture((10, WORKERS) if quick else (10, CROWD))
    crowd(WORKERS if quick else CROWD, 2.0 if quick else 10.0)


def on_and_off(workers: int, apart: bool, seconds: float, runs: int) -> None:
    """One table, and how often the screen was drawn, and for how much of a core. ``apart``: workers have a process."""
    hertz: list[float] = []
    shares: list[float] = []
    with ExitStack() as stack:
        screen, watched = stack.enter_context(with_screen(workers, apart))
        alone = stack.enter_context(without(workers, apart))

        def on(n: int) -> Run:
            with awake(watched):
                before, began = spent(screen.child.pid), time.monotonic()
                record = screen.bulkping(n)
                shares.append((spent(screen.child.pid) - before) / (time.monotonic() - began))
            hertz.append(screen.hertz(time.monotonic() - record["elapsed_s"]))
            return run_of(record)

        def off(n: int) -> Run:
            with awake(alone):
                return run_of(asked(alone[0], n))

        found = rounds({"console": on, "no screen": off}, seconds, FIRST, runs)
    place = "in other processes" if apart else "in the same process"
    table(
        f"Console on and off: {workers:,} workers {place}, window {WINDOW}; medians of {runs}",
        ranking_head(("no screen",), ()),
        ranking(found, ("no screen",), ()),
    )
    drawn, share = hertz[-runs:], shares[-runs:]
    print(
        f"  drawn {median(drawn):.1f} times a second during the runs ({min(drawn):.1f} to {max(drawn):.1f}), for which"
        f" the console's thread took {median(share):.1%} of a core ({min(share):.1%} to {max(share):.1%})"
    )


@contextmanager
def with_screen(workers: int, apart: bool) -> Iterator[tuple[Terminal, list[Any]]]:
    """A console, and the processes of its side."""
    with Stage() as stage:
        endpoint = stage.endpoint("tcp")
        with terminal(stage, 0 if apart else workers, 0.0, "--bind", endpoint) as screen:
            side = [screen.child, *crew(stage, endpoint, workers, apart)]
            until = time.monotonic() + JOINED
            while alive(stage, endpoint) < workers:
                if time.monotonic() > until:
                    raise Foul(f"{workers:,} workers did not join the console")
                time.sleep(0.5)
            screen.bulkping(TASKS)
            stop(side)
            try:
                yield screen, side
            finally:
                go_on(side)


@contextmanager
def without(workers: int, apart: bool) -> Iterator[list[Child]]:
    """The processes of the side without a screen, the child with its client first."""
    with Stage() as stage:
        endpoint = stage.endpoint("tcp")
        child = stage.start(PYTHON, "-m", "tests.bench.watched", endpoint, str(0 if apart else workers))
        side = [child, *crew(stage, endpoint, workers, apart)]
        asked(child, TASKS)
        stop(side)
        try:
            yield side
        finally:
            go_on(side)


def crew(stage: Stage, endpoint: str, workers: int, apart: bool) -> list[Child]:
    """The workers where they have processes of their own; all have joined."""
    counts = [min(MOST, workers - before) for before in range(0, workers if apart else 0, MOST)]
    return [stage.start(*CONSOLE, "worker", "--connect", endpoint, "--count", str(count)) for count in counts]


def alive(stage: Stage, endpoint: str) -> int:
    """Workers that the console's broker has."""
    try:
        totals: dict[str, int] = stage.ask(*CONSOLE, "status", endpoint, "--json", "-")["totals"]
    except Foul:  # it does not listen yet
        return -1
    return totals["alive"]


def asked(child: Child, n: int) -> dict[str, Any]:
    """A run of the child."""
    tell(child, str(n))
    record: dict[str, Any] = json.loads(said(child))
    return record


@contextmanager
def awake(side: list[Any]) -> Iterator[None]:
    """Let the processes of a side run, and stop them again."""
    go_on(side)
    time.sleep(AWAKE)
    yield
    stop(side)


def stop(side: list[Any]) -> None:
    """Stop processes."""
    for child in side:
        os.kill(child.pid, signal.SIGSTOP)


def go_on(side: list[Any]) -> None:
    """Let processes run that were stopped."""
    for child in side:
        os.kill(child.pid, signal.SIGCONT)


def spent(pid: int) -> float:
    """Seconds of a processor that the main thread of a process has used."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="utf-8").split()[0]) / 1e9


def main(endpoint: str, workers: int) -> int:
    """The child: a lab without a screen. Reads numbers of tasks, and prints the record of each run."""
    with collecting(), LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=workers) as lab:
        if not lab.wait_registered(workers, JOINED):
            raise Foul(f"{workers:,} workers did not join")
        print("ready", flush=True)
        for line in sys.stdin:
            lab.run(BulkSpec("ping", int(line), 0, WINDOW))
            lab.wait_run(JOINED)
            print(json.dumps(lab.report()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
