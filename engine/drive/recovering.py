"""Settles what a dead driver of a pipeline left, once its locks show that neither it nor its commands live."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from engine.core import Note
from engine.drive import disk
from engine.drive.inheriting import take_over
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Done
from engine.protocols.diskqueue.pipeline import Stage, Survey, source
from engine.protocols.diskqueue.transitions import recover
from engine.protocols.diskqueue.watchdog import Looked, Recovered


class Queues(NamedTuple):
    """The folders of a stage, by its name."""

    stage: str
    src: str
    dst: str


def looked(stages: tuple[Stage, ...], surveys: Mapping[str, Survey]) -> Looked:
    """Which stages are done, and who holds documents; ``surveys`` are of all queues by name."""
    done: set[str] = set()
    holders: set[tuple[str, str]] = set()
    for index, stage in enumerate(stages):
        before, after = surveys[source(stages, index)], surveys[stage.name]
        if before.counts.done and not before.counts.live and after.counts.done:
            done.add(stage.name)
        holders |= {(stage.name, held.number) for held in before.held if held.state == "working"}
        holders |= {(stage.name, held.number) for held in after.held if held.state == "writing"}
        holders |= {(stage.name, number) for number in before.locks}
    return Looked(frozenset(done), tuple(sorted(holders)))


def settle(
    queues: Queues,
    number: str,
    keep: bool,
    foreign: Callable[[], bool],
    say: Callable[[Note], None],
    told: Callable[[Done], None],
    word: bool = False,
) -> Recovered:
    """What became of the documents of driver ``number``, or why they stay as they are.

    ``foreign``: whether it holds any, which is asked where it has no lock of ours. ``say`` gets a note for each
    document, ``told`` what was done for it. ``word``: an operator says that the driver is dead.
    """
    stage, src, dst = queues
    taken = take_over(src, dst, number, word, published=True)
    if taken.locks is None:
        held = taken.error == "exists" or foreign()
        return Recovered(stage, number, 0, taken.text if held else "", held and taken.doubt)
    settled = False
    try:
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
        for lock in taken.locks:
            lock.release(remove=settled)
