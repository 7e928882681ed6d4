"""What workers cost that do nothing but live: processor time of each thread, a worker and heartbeat.

A broker and its workers in one process, over inproc, on the seed's wire, without a screen. What a machine that is busy
with other work can not keep up with is not charged: a sample is divided by the PINGs of workers that the broker read.

``python -m tests.bench.idle WORKERS`` is the child, which prints one sample a line as JSON: µs by thread, PINGs.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from statistics import median

from engine.catalogue import SYSTEMS
from engine.drive.collector import collecting
from engine.labs.live import LiveLab
from engine.protocols.roundrobin.machine import On
from tests.bench.figures import RUNS, digits, table
from tests.bench.peers import Foul
from tests.bench.stage import PYTHON, Stage

CROWDS = (1_000, 10_000)
SETTLE = 3.0  # seconds behind the start of the last worker
WATCHED = 2.0  # seconds, a sample
SHOWN = {"roundhouse-broker": "broker's thread", "roundhouse-pool": "pool's thread"}
REST = "all others"


def section(quick: bool) -> None:
    """The table."""
    rows = []
    for workers in CROWDS[:1] if quick else CROWDS:
        with Stage() as stage:
            child = stage.launch(PYTHON, "-m", "tests.bench.idle", str(workers))
            assert child.stdout is not None
            samples = [json.loads(line) for line in child.stdout]
            if child.wait() or not all(beats for _, beats in samples):
                raise Foul(f"{workers:,} workers can not live: the machine is too busy")
        threads = [median(took.get(name, 0.0) / beats for took, beats in samples) for name in (*SHOWN.values(), REST)]
        whole = median(sum(took.values()) / beats for took, beats in samples)
        pace = median(beats for _, beats in samples) / WATCHED
        cells = map(digits, (*threads, whole, pace))
        rows.append([f"{workers:,}", *cells, f"{whole * workers / 1e6:.1%}"])
    table(
        f"Workers that only live: µs of a processor a worker and heartbeat; medians of {RUNS} × {WATCHED:g} s",
        ["workers", *SHOWN.values(), REST, "all", "heartbeats/s", "of a core"],
        rows,
    )


def spent() -> dict[str, float]:
    """µs of a processor that each thread of this process has used."""
    names = {thread.native_id: SHOWN.get(thread.name, REST) for thread in threading.enumerate()}
    found: dict[str, float] = {}
    for task in Path("/proc/self/task").iterdir():
        name = names.get(int(task.name), REST)
        found[name] = found.get(name, 0.0) + int((task / "schedstat").read_text().split()[0]) / 1000
    return found


def pings(lab: LiveLab) -> int:
    """Of workers, that the broker has read."""
    return sum(times for (_, event), times in lab.table().walked if event.split()[0] == On.PING)


def main(workers: int) -> int:
    """Live for a while."""
    with collecting(), LiveLab(SYSTEMS["roundrobin"], workers=workers) as lab:
        time.sleep(SETTLE)
        for _ in range(RUNS):
            count, before = pings(lab), spent()
            time.sleep(WATCHED)
            after, more = spent(), pings(lab) - count
            print(json.dumps([{name: took - before.get(name, 0.0) for name, took in after.items()}, more]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
