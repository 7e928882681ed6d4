"""A watchdog of its own process for ``pipeline start``: it outlives the command and the terminal."""

from __future__ import annotations

import os
import time

from engine.drive import locks
from engine.drive.pipeline import TICK, WATCHED, Pipeline
from engine.drive.queueprocesses import search_path
from engine.drive.queueview import tail_of
from engine.errors import Refused
from engine.files import safely

OUTPUT = "watchdog.out"
PATIENCE = 60.0  # seconds until it has to watch


def watchdog(root: str) -> int:
    """The process that watches over this root; 0 where none does, or where its lock does not say."""
    found = locks.owner(f"{root}/{WATCHED}")
    return found.pid if found is not None and found.host == locks.HOST and found.lives() else 0


def detach(made: Pipeline, words: list[str]) -> int:
    """Start a watchdog for a pipeline by a command line; its process, once it watches.

    Raises ``Refused`` with its last words where it does not come to that, and OSError.
    """
    made.prepare()
    path = f"{made.root}/{OUTPUT}"
    out = safely.open_or_create(path, os.O_WRONLY)
    try:
        os.ftruncate(out, 0)
        pid = _spawn(words, out)
    finally:
        os.close(out)
    limit = time.monotonic() + PATIENCE
    while not made.watched() or watchdog(made.root) != pid:
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            said = tail_of(path, 1000).strip().splitlines()
            raise Refused(f"the watchdog has ended: {said[-1] if said else f'it has said nothing in {path}'}")
        if time.monotonic() > limit:
            raise Refused(
                f"the watchdog, process {pid}, does not watch after {PATIENCE:.0f} s; {path} has what it said"
            )
        time.sleep(TICK)
    return pid


def _spawn(words: list[str], out: int) -> int:
    """In a session of its own: neither ^C nor the end of the terminal reaches it."""
    environ = {**os.environ, "PYTHONPATH": search_path()}
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *((os.POSIX_SPAWN_DUP2, out, n) for n in (1, 2))]
    return os.posix_spawn(words[0], words, environ, file_actions=actions, setsid=True)
