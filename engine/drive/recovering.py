"""Settles what a dead driver of a pipeline left, once its locks show that neither it nor its commands live."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from engine.core import Note
from engine.drive import disk
from engine.drive.locks import Lock
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Done
from engine.protocols.diskqueue.transitions import recover
from engine.protocols.diskqueue.watchdog import Recovered


class Queues(NamedTuple):
    """The folders of a stage, by its name."""

    stage: str
    src: str
    dst: str


def settle(
    queues: Queues,
    number: str,
    keep: bool,
    foreign: Callable[[], bool],
    say: Callable[[Note], None],
    told: Callable[[Done], None],
) -> Recovered:
    """What became of the documents of driver ``number``, or why they stay as they are.

    ``foreign``: whether it holds any, which is asked where it has no lock of ours. ``say`` gets a note for each
    document, ``told`` what was done for it.
    """
    stage, src, dst = queues
    locks = Lock(src, names.working_lock(number)), Lock(dst, names.writing_lock(number))
    if not os.path.lexists(locks[0].path):
        return Recovered(stage, number, 0, "another program holds them" if foreign() else "")
    settled = False
    try:
        if not locks[0].acquire(create=False) or not locks[1].acquire():
            return Recovered(stage, number, 0, "a process that holds its lock still lives")
        found = disk.run(recover(src, dst, number, keep, time.time()), told)
        settled = not (stuck := [id for id, outcome in found if outcome == "stuck"])
        for id, outcome in found:
            if outcome != "stuck":
                subject = id.encode("utf-8", "surrogateescape")
                say(Note("warn", f"of driver {number}, which died: {outcome}", subject))
        error = f"{src}/{names.kept(stuck[0])} is in the way" if stuck else ""
        return Recovered(stage, number, len(found) - len(stuck), error)
    except (disk.Trouble, OSError) as error:
        return Recovered(stage, number, 0, str(error))
    finally:
        for lock in locks:
            lock.release(remove=settled)
