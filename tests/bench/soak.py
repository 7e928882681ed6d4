"""Whether processes of ours stay as large as they are: load and rest in turns, for minutes.

In each turn a client of its own and the console's are given ``TASKS`` tasks, ``WINDOW`` of them at a time, so that most
wait in a backlog; then there is nothing to do for ``REST`` seconds, in which full collections are made
(``engine.drive.collector``). What each process holds is read at the end of the rest.
"""

from __future__ import annotations

import time
from statistics import median

import psutil

from tests.bench.figures import digits, table
from tests.bench.screen import terminal
from tests.bench.stage import CONSOLE, PEERS, Stage, run_of

SECONDS, QUICK = 180.0, 20.0
TASKS, WINDOW = 50_000, 5_000
REST = 3.0  # seconds
CROWD = 100  # workers of the console
PARTS = 6  # rows of the table
MIB = 2**20

Sample = dict[str, int]
"""Bytes of resident memory, by process."""


def parts(samples: list[Sample]) -> list[Sample]:
    """The medians of as many equal parts as there are rows, or fewer samples."""
    n = min(PARTS, len(samples))
    cuts = [samples[len(samples) * at // n : len(samples) * (at + 1) // n] for at in range(n)]
    return [{name: int(median(one[name] for one in cut)) for name in cut[0]} for cut in cuts]


def section(quick: bool) -> None:
    """A table, and what came on top after its first row."""
    seconds = QUICK if quick else SECONDS
    samples: list[Sample] = []
    with Stage() as stage, terminal(stage, CROWD, REST) as screen:
        peers, endpoint = stage.c_peers() or PEERS, stage.endpoint("tcp")
        broker = stage.start(*CONSOLE, "broker", "--bind", endpoint)
        crew = stage.start(*CONSOLE, "worker", "--connect", endpoint, "--count", "10", "--slots", "10")
        pids = {"broker": broker.pid, "10 workers": crew.pid, "console": screen.child.pid}
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            stage.ask(*peers, "client", endpoint, str(TASKS), str(WINDOW), "0")
            run_of(screen.bulkping(TASKS))
            time.sleep(REST)
            samples.append({name: psutil.Process(pid).memory_info().rss for name, pid in pids.items()})
        lasted = time.monotonic() - began
    rows = parts(samples)
    table(
        f"Resident memory, MiB: {len(samples)} turns of 2 × {TASKS:,} tasks and {REST:g} s of rest, {lasted:.0f} s",
        ["turns", *pids],
        [
            [f"until {len(samples) * (at + 1) // len(rows)}", *(f"{row[name] / MIB:.1f}" for name in pids)]
            for at, row in enumerate(rows)
        ],
    )
    for name in pids:
        grown = (rows[-1][name] - rows[0][name]) / 1024
        print(f"  {name}: {'+' if grown >= 0 else '-'}{digits(abs(grown))} KiB from the first row to the last")
