"""``python -m tests.chaos.fulldisk [SYSTEM …]``: others fill the disk of a broker's store, and empty it again.

What was accepted ends well meanwhile; what comes is refused with the reason, and is taken again when there is room.
It needs the superuser, who mounts a small file system.
"""

from __future__ import annotations

import errno
import signal
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from engine.drive.stores.sqlite import FREE, Sqlite
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.store import Counts
from engine.parts.view import LedgerView
from tests.chaos.children import Children
from tests.chaos.diskqueue import small_disk, why_not
from tests.chaos.durable import PACE, Course
from tests.helpers.processes import until

ROOM = FREE // 1024 + 24 * 1024  # KiB of the file system
TASKS = 300


class Told(NamedTuple):
    """The books of each run's client, what the broker said while the disk was full, and the store's books."""

    accepted: LedgerView  # before the disk was full, answered while it was
    refused: LedgerView
    said: str
    after: LedgerView
    counts: Counts


def fill(path: Path) -> None:
    """Until nothing more goes in."""
    with path.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2


def run(lab: LiveLab, tasks: int) -> None:
    """Begin a run."""
    lab.run(BulkSpec("ping", tasks, in_flight=tasks, timeout=60.0))


def ended(lab: LiveLab) -> LedgerView:
    """Its books at its end."""
    assert lab.wait_run(60.0)
    view = lab.run_view()
    assert view is not None
    return view.ledger


def play(system: str = "roundrobin") -> Told:
    """All of it."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        disk = stack.enter_context(small_disk(folder / "disk", ROOM))
        course = Course(folder, stack.enter_context(Children(folder, {})), 1, False, disk / "tasks.sqlite", system)
        with course.lab() as client:
            until(lambda: client.wait_linked(0.1), "the client's link")
            until(
                lambda: len((course.broker.ask() or {"workers": ()})["workers"]) == len(course.workers), "the workers"
            )
            for _, worker in course.workers:
                worker.signal(signal.SIGSTOP)
            run(client, TASKS)
            until(lambda: _term(course).startswith(f"{TASKS} tasks kept"), "the tasks in the store")
            fill(disk / "filler")
            for _, worker in course.workers:
                worker.signal(signal.SIGCONT)
            accepted = ended(client)
            run(client, TASKS)
            refused, said = ended(client), _term(course)
            (disk / "filler").unlink()
            until(lambda: "tasks kept" in _term(course), "that the store keeps tasks again")
            run(client, TASKS)
            after = ended(client)
        course.broker.kill()
        with closing(Sqlite(course.store)) as store:
            return Told(accepted, refused, said, after, store.counts())


def _shown(course: Course) -> dict[str, Any]:
    return course.broker.ask() or {}


def _term(course: Course) -> str:
    return str(_shown(course).get("terms", {}).get("store", ""))


def main() -> int:
    """Play, and print what was told."""
    if reason := why_not():
        print(f"left out: {reason}")
        return 0
    for system in sys.argv[1:] or PACE:
        print(f"{system}: {play(system)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
