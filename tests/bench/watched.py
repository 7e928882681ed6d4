"""What a run loses to a screen that shows all its workers: the console beside the same lab without one.

The console runs on a terminal of its own whose output is thrown away, and is given ``:bulkping N`` as a user types it.
Without it a child holds the same lab and is given N. Workers are in the same process, or in others over tcp. Thousands
of them keep a machine busy with heartbeats alone, so only one side stands at a time: half of the console's runs, all of
the others, the other half. Rates and times are those of the runs' records. Pictures are counted where they come out of
the terminal, from the beginning of a run to its end; the processor time of the console's thread is the system's.

``python -m tests.bench.watched ENDPOINT WORKERS`` is the child.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from engine.catalogue import SYSTEMS
from engine.drive.collector import collecting
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from tests.bench.figures import RUNS, Run, ranking, ranking_head, table
from tests.bench.peers import Foul
from tests.bench.screen import CROWD, WINDOW, WORKERS, crowd, first_picture, terminal
from tests.bench.stage import CONSOLE, PYTHON, Stage, run_of, said, tell

MOST = 4_000  # workers of one process over tcp: each may need four descriptors, of which it is usually given 20,000
JOINED = 60.0  # seconds that workers may take to join
NEARLY = 0.98  # of them have to be there: of thousands some are linking anew where a machine is slow
LOOK = 1.0
COUNT = "workers"
FIRST = 4_000  # tasks of the run that tells how many make a cell

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
    found: dict[str, list[Run]] = {"console": [], "no screen": []}
    drawn: list[tuple[float, float]] = []
    sizes: dict[str, int] = {}
    for name, times in (("console", runs - runs // 2), ("no screen", runs), ("console", runs // 2)):
        opened = with_screen(workers, apart, drawn) if name == "console" else without(workers, apart)
        with opened as give:
            first = run_of(give(FIRST))  # behind it all is warm
            n = sizes.setdefault(name, max(FIRST, int(first.rate * seconds)))
            del drawn[len(found["console"]) :]
            found[name] += [run_of(give(n)) for _ in range(times)]
    place = "in other processes" if apart else "in the same process"
    table(
        f"Console on and off: {workers:,} workers {place}, window {WINDOW}; medians of {runs}",
        ranking_head(("no screen",), ()),
        ranking(found, ("no screen",), ()),
    )
    hertz, shares = zip(*drawn, strict=True)
    print(
        f"  drawn {median(hertz):.1f} times a second during the runs ({min(hertz):.1f} to {max(hertz):.1f}), for which"
        f" the console's thread took {median(shares):.1%} of a core ({min(shares):.1%} to {max(shares):.1%})"
    )


@contextmanager
def with_screen(workers: int, apart: bool, drawn: list[tuple[float, float]]) -> Iterator[Give]:
    """A console with all its workers. Of each run ``drawn`` gets pictures a second and the thread's share of a core."""
    with Stage() as stage:
        endpoint = stage.endpoint("tcp")
        with terminal(stage, 0 if apart else workers, 0.0, "--bind", endpoint) as screen:
            crew(stage, endpoint, workers, apart)
            wait(lambda: alive(stage, endpoint), workers)

            def give(n: int) -> dict[str, Any]:
                before, began = spent(screen.child.pid), time.monotonic()
                record = screen.bulkping(n)
                now = time.monotonic()
                share = (spent(screen.child.pid) - before) / (now - began)
                drawn.append((screen.hertz(now - record["elapsed_s"]), share))
                return record

            yield give


@contextmanager
def without(workers: int, apart: bool) -> Iterator[Give]:
    """The child with all its workers."""
    with Stage() as stage:
        endpoint = stage.endpoint("tcp")
        child = stage.start(PYTHON, "-m", "tests.bench.watched", endpoint, str(0 if apart else workers))
        crew(stage, endpoint, workers, apart)

        def asked(line: str) -> Any:
            tell(child, line)
            if not (answer := said(child)):
                raise Foul("the lab without a screen has ended")
            return json.loads(answer)

        wait(lambda: asked(COUNT), workers)

        def give(n: int) -> dict[str, Any]:
            record: dict[str, Any] = asked(str(n))
            return record

        yield give


def crew(stage: Stage, endpoint: str, workers: int, apart: bool) -> None:
    """Start the workers where they have processes of their own."""
    for before in range(0, workers if apart else 0, MOST):
        count = str(min(MOST, workers - before))
        stage.launch(*CONSOLE, "worker", "--connect", endpoint, "--count", count, stderr=subprocess.DEVNULL)


def wait(count: Callable[[], int], workers: int) -> None:
    """Until so many workers live, by and large."""
    until = time.monotonic() + JOINED
    while (there := count()) < NEARLY * workers:
        if time.monotonic() > until:
            raise Foul(f"{max(there, 0):,} of {workers:,} workers live after {JOINED:g} s")
        time.sleep(LOOK)


def alive(stage: Stage, endpoint: str) -> int:
    """Workers that the console's broker has."""
    try:
        totals: dict[str, int] = stage.ask(*CONSOLE, "status", endpoint, "--json", "-")["totals"]
    except Foul:  # it does not listen yet
        return -1
    return totals["alive"]


def spent(pid: int) -> float:
    """Seconds of a processor that the main thread of a process has used."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="utf-8").split()[0]) / 1e9


def main(endpoint: str, workers: int) -> int:
    """The child: a lab without a screen. Carries out runs of so many tasks, and prints their records."""
    with collecting(), LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=workers) as lab:
        print("ready", flush=True)
        for line in map(str.strip, sys.stdin):
            if line == COUNT:
                print(sum(row.state != "lost" for row in lab.table().workers), flush=True)
                continue
            lab.run(BulkSpec("ping", int(line), 0, WINDOW))
            lab.wait_run(JOINED)
            print(json.dumps(lab.report()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
