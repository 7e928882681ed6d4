"""What the console costs: throughput with it on screen and without, its share of a core, and its first picture.

The console runs on a terminal of its own (a pty of 50 lines by 160 columns) whose output is read and thrown away. It is
given ``:bulkping N`` as a user types it; without it the same run is given on the command line. Everything is in one
process both times, with 1,000 workers, and both figures come from the run's own record.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import psutil

from tests.bench.figures import RUNS, Contend, Run, digits, ranking, ranking_head, rounds, table
from tests.bench.peers import Foul
from tests.bench.stage import CONSOLE, ROOT, Stage, run_of

WORKERS, CROWD = 1_000, 10_000
WINDOW = 100
LINES, COLUMNS = 50, 160
PATIENCE = 60.0  # seconds
PICTURE = 2000  # bytes: before the first picture a few go that ask the terminal what it can
STARTS = 3
STEP = 0.05
WATCHED = 1.0  # seconds, a sample of the crowd
SAMPLES = 5


class Terminal:
    """A console on a terminal of its own."""

    def __init__(self, stage: Stage, workers: int) -> None:
        self.runs = stage.folder / "roundhouse" / "runs"
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        environ = stage.environ | {
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "ROUNDHOUSE_POOL_WORKERS": str(workers),
            "ROUNDHOUSE_RUN_IN_FLIGHT": str(WINDOW),
        }
        self.child = subprocess.Popen(
            CONSOLE, cwd=ROOT, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.began, self.first = time.monotonic(), (0.0, 0.0)  # seconds until the first picture: in all, of a processor
        self.drawn = 0  # bytes
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # EIO: the console has left its terminal
            while data := os.read(self._master, 65_536):
                self.drawn += len(data)
                if self.drawn > PICTURE and not self.first[0]:
                    self.first = time.monotonic() - self.began, sum(psutil.Process(self.child.pid).cpu_times()[:2])

    def type(self, keys: str) -> None:
        """Keys, as if they were typed."""
        os.write(self._master, keys.encode())

    def settle(self, seconds: float) -> None:
        """Wait until something was drawn, and so long again."""
        until = time.monotonic() + PATIENCE
        while not self.drawn:
            if time.monotonic() > until or self.child.poll() is not None:
                raise Foul("the console draws nothing")
            time.sleep(STEP)
        time.sleep(seconds)

    def bulkping(self, n: int) -> dict[str, Any]:
        """Give the run and wait for its record."""
        before = set(self.runs.glob("*.json"))
        self.type(f":bulkping {n}\r")
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for path in set(self.runs.glob("*.json")) - before:
                record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
                return record
            time.sleep(STEP)
        raise Foul("the console's run was not kept")

    def close(self) -> None:
        """Leave, and make sure of it."""
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self._reader.join()
        os.close(self._master)


@contextlib.contextmanager
def terminal(stage: Stage, workers: int, settle: float) -> Iterator[Terminal]:
    """A console that has settled."""
    screen = Terminal(stage, workers)
    try:
        screen.settle(settle)
        yield screen
    finally:
        screen.close()


def on_and_off(quick: bool) -> None:
    """The table of throughput."""
    hertz: list[float] = []
    runs, settle = (3, 2.0) if quick else (RUNS, 3.0)
    with Stage() as stage:

        def on(n: int) -> Run:
            with terminal(stage, WORKERS, settle) as screen:
                record = screen.bulkping(n)
            observer = record["observer"] or {}
            hertz.append(observer.get("refresh_hz") or 0.0)
            return run_of(record)

        contenders: dict[str, Contend] = {
            "console": on,
            "no screen": lambda n: stage.bulkping(n, WINDOW, settings={"pool_workers": str(WORKERS)}),
        }
        found = rounds(contenders, 0.5 if quick else 2.0, 2000, runs)
    table(
        f"Console on and off: {WORKERS:,} workers, window {WINDOW}; medians of {runs}",
        ranking_head(("no screen",), ()),
        ranking(found, ("no screen",), ()),
    )
    if any(hertz):
        print(f"  drawn {median(hertz):.1f} times a second during the runs")


def crowd(workers: int, settle: float) -> None:
    """The console's own thread, and its process, with so many workers that do nothing but live."""
    with Stage() as stage, terminal(stage, workers, settle) as screen:
        process = psutil.Process(screen.child.pid)
        before = screen.drawn
        samples = [_sample(process) for _ in range(SAMPLES)]
        drawn = (screen.drawn - before) / SAMPLES / WATCHED
    table(
        f"Console with {workers:,} workers on screen, idle; shares of a core, medians of {SAMPLES} × {WATCHED:g} s",
        ["", "share"],
        [
            ["the console's thread", f"{median(own for own, _ in samples):.1%}"],
            ["all threads (heartbeats of all workers, both ends)", f"{median(of_all for _, of_all in samples):.1%}"],
        ],
    )
    print(f"  {drawn / 1024:.1f} KiB/s drawn")


def first_picture(crowds: tuple[int, ...]) -> None:
    """From the start of the process to its first picture."""
    rows = []
    for workers in crowds:
        taken = []
        with Stage() as stage:
            for _ in range(STARTS):
                with terminal(stage, workers, 0.0) as screen:
                    until = time.monotonic() + PATIENCE
                    while not screen.first[0] and time.monotonic() < until:
                        time.sleep(STEP)
                    taken.append(screen.first)
        took, spent = (median(one[place] for one in taken) for place in (0, 1))
        rows.append([f"{workers:,}", digits(took), digits(spent)])
    table("Console: from its start to its first picture", ["workers", "s", "of a processor, s"], rows)


def _sample(process: psutil.Process) -> tuple[float, float]:
    """Shares of a core over a moment: the main thread's, all threads'."""

    def spent() -> tuple[float, float]:
        threads = {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
        return threads[process.pid], sum(threads.values())

    (own, of_all), start = spent(), time.monotonic()
    time.sleep(WATCHED)
    (own_after, all_after), took = spent(), time.monotonic() - start
    return (own_after - own) / took, (all_after - of_all) / took


def section(quick: bool) -> None:
    """All tables."""
    on_and_off(quick)
    first_picture((10, WORKERS) if quick else (10, CROWD))
    if quick:
        crowd(WORKERS, 2.0)
    else:
        crowd(CROWD, 10.0)
