"""A console on a terminal of its own: its share of a core, and its first picture. ``watched.py`` gives it runs.

The terminal is a pty of 50 lines by 160 columns whose output is read and thrown away; keys are as a user types them.
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

from tests.bench.figures import digits, table
from tests.bench.peers import Foul
from tests.bench.stage import CONSOLE, ROOT, Stage

WORKERS, CROWD = 1_000, 10_000
WINDOW = 100
LINES, COLUMNS = 50, 160
PATIENCE = 60.0  # seconds
PICTURE = 2000  # bytes: before the first picture a few go that ask the terminal what it can
STARTS = 3
STEP = 0.05
APART = 0.1  # seconds without output between two pictures, at least
WATCHED = 1.0  # seconds, a sample of the crowd
SAMPLES = 5


class Terminal:
    """A console on a terminal of its own."""

    def __init__(self, stage: Stage, workers: int, *arguments: str) -> None:
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
            (*CONSOLE, *arguments),
            cwd=ROOT,
            env=environ,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.began, self.first = time.monotonic(), (0.0, 0.0)  # seconds until the first picture: in all, of a processor
        self.drawn = 0  # bytes
        self._pictures: list[float] = []  # when each began to come
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # EIO: the console has left its terminal
            last = 0.0
            while data := os.read(self._master, 65_536):
                before, last = last, time.monotonic()
                if last > before + APART:
                    self._pictures.append(last)
                self.drawn += len(data)
                if self.drawn > PICTURE and not self.first[0]:
                    self.first = time.monotonic() - self.began, sum(psutil.Process(self.child.pid).cpu_times()[:2])

    def hertz(self, since: float) -> float:
        """Pictures a second since a monotonic time; 0 where there were not two."""
        times = [at for at in self._pictures if at >= since]
        return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0

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
def terminal(stage: Stage, workers: int, settle: float, *arguments: str) -> Iterator[Terminal]:
    """A console that has settled."""
    screen = Terminal(stage, workers, *arguments)
    try:
        screen.settle(settle)
        yield screen
    finally:
        screen.close()


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
