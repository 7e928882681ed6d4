"""Recordings of a simulated pipeline of two stages: the same every time, and written in no time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from engine.catalogue import CATALOGUE
from engine.core import Started
from engine.journal.read import read
from engine.journal.write import Journal
from engine.labs.queuereplaylab import QueueReplayLab
from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.explain import number_of, stage_of
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.sim.queues import WATCHDOG, Queues

STAGES = (Stage("parse", 2), Stage("output", 1))
EPOCH = 1000.0
SECONDS = 12.0  # that a recording takes


def sick(stage: str, id: str, attempt: int) -> Any:
    """Of the documents d1 fails once and d2 twice at the first stage."""
    return "failed" if stage == "parse" and (id, attempt) in (("d1", 1), ("d2", 1), ("d2", 2)) else "done"


def write(path: Path, late: Sequence[str] = (), meanwhile: Callable[[Queues], None] = lambda world: None) -> Path:
    """Record eight documents; after 2 s a driver is killed. ``late``: seats that were not heard from the beginning.

    ``meanwhile`` is called after 3 s.
    """
    world = Queues(STAGES, Options(), 7, EPOCH)
    world.fate = sick
    journal = Journal(path, SYSTEM, world.options, lambda note: None, clock=lambda: world.now)
    known: set[str] = set()

    def told(node: str, name: str, now: float, event: Any, commands: Sequence[Any]) -> None:
        if name not in known or (type(event) is Started and number_of(name)):
            known.add(name)
            role, args, about = "", list[Any](), dict[str, Any]()
            if name == WATCHDOG:
                role, args, about = "watchdog", [[list(stage) for stage in STAGES], 1, False], {"root": ""}
            elif number_of(name):
                config = world._config(stage_of(name), number_of(name))
                role, args, about = "driver", [list(astuple(config)), EPOCH], {"pid": 4000 + int(number_of(name))}
            journal.seated(node, name, "" if name in late else role, args, about, now)
        journal.tap(node, name, now, event, list(commands))

    world.watchers.append(told)
    world.watch()
    for number in range(8):
        world.after(number * 0.1, world.feed, f"d{number}", f"text {number}")
    world.after(2.0, lambda: world.kill(min(world.seats)))
    world.after(3.0, meanwhile, world)
    while world.step(SECONDS):
        pass
    for name in sorted(known):
        journal.left(name, name)
    journal.close()
    return path


def opened(path: Path) -> QueueReplayLab:
    """The recording as a lab."""
    return QueueReplayLab(read(path, CATALOGUE), CATALOGUE)
