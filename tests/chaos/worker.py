"""``python -m tests.chaos.worker FILE CONNECT SLOTS``: a round robin worker that writes what it executes, and when."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from engine.catalogue import SYSTEMS
from engine.core import Frames
from engine.labs.live import LiveLab
from engine.parts.store import GLOBAL
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.packed import Data
from engine.protocols.roundrobin.worker import Worker
from tests.chaos.history import RECORD


def main() -> None:
    """Serve until a signal comes."""
    path, connect, slots, heartbeat = sys.argv[1:]
    file = os.open(Path(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    before = Worker._answer

    def noted(worker: Worker, task: Frames) -> Data:
        if len(task[1]) == GLOBAL:
            os.write(file, RECORD.pack(time.monotonic(), task[1]))
        return before(worker, task)

    Worker._answer = noted  # type: ignore[method-assign,assignment]
    options = Options(heartbeat=float(heartbeat), expiry=3 * float(heartbeat))
    with LiveLab(
        SYSTEMS["roundrobin"], options, connect=connect, workers=1, slots=int(slots), broker=False, client=False
    ):
        sys.stdin.read()


if __name__ == "__main__":
    main()
