"""``python -m engine.faults.realchild ROLE SYSTEM ENDPOINT OPTIONS [SLOTS FILE]``: a process of a drill that is real.

``ROLE`` is ``broker`` or ``worker``, ``OPTIONS`` JSON. A worker writes each task that it executes to ``FILE``, with the
time. It prints ``ready`` and serves until its stdin ends, so none outlives who started it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.catalogue import SYSTEMS
from engine.core import Seat
from engine.drive.documents import die_with_parent
from engine.labs.live import LiveLab
from engine.parts.store import GLOBAL
from engine.runs.checker import execution
from engine.system import System


def noting(system: System, path: Path) -> System:
    """The system with workers that append to the file what they execute, before it is answered."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(ident: bytes) -> None:
        if len(ident) == GLOBAL:
            os.write(file, execution(ident))

    def worker(*asked: Any, **world: Any) -> Seat:
        seat = system.worker(*asked, **world)
        core: Any = seat.core
        core.executing = note
        return seat

    return replace(system, worker=worker)


def main() -> None:
    """Serve until stdin ends."""
    die_with_parent()  # also where it is stopped and can not see that stdin has ended
    role, name, endpoint, options, *more = sys.argv[1:]
    system, own = SYSTEMS[name], SYSTEMS[name].options(**json.loads(options))
    if role == "broker":
        lab = LiveLab(system, own, bind=(endpoint,), workers=0, client=False)
    else:
        slots, file = int(more[0]), Path(more[1])
        lab = LiveLab(noting(system, file), own, connect=endpoint, workers=1, slots=slots, broker=False, client=False)
    with lab:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
