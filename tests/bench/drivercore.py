"""Processor time that a driver's core takes for a document, with a disk that says yes to everything: ``N``.

``PYTHONPATH=TREE python -P tests/bench/drivercore.py 20000`` measures the core of any tree, so that two can take turns.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from engine.core import Exit, Start, Started
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.operations import Done, Entry, List, Processed


def main() -> None:
    """One listing of N documents, each processed and published."""
    n = int(sys.argv[1])
    entries = tuple(Entry(f"doc-{i:06}.ready", i, 220) for i in range(n))
    done, looks = (Entry("done", 0, 0),), -1
    core: Any = Driver(DriverConfig("src", "dst", "1", "copy", 0, 0))
    event: Any = Started()
    began = time.process_time()
    while True:
        command = core.handle(event, 0.0)[-1]
        match command:
            case Start():
                event = Processed("done")
            case List():
                looks += 1  # the first two see to what an earlier driver left
                event = Done(command, entries=((), (), entries)[looks] if looks < 3 else done, still=True)
            case Exit():
                break
            case _:
                event = Done(command)
    used = time.process_time() - began
    assert core.snapshot(0.0).published == n
    sys.stdout.write(f"{used / n * 1e6:.1f} µs of a core for each document\n")


if __name__ == "__main__":
    main()
