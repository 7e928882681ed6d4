"""Walks every interleaving of a small scene, and tells what was covered."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from console.cli import exploreeach, explorequeues
from console.cli.common import settings_of, system_of
from console.cli.explorearguments import EACH, NONE
from console.cli.explorefile import read_scene
from console.cli.explorewords import Sheet, bounded, in_words, violated, walkers, words
from console.cli.signals import Signals
from console.cli.streams import STDOUT, Progress, deliver, result, tell
from engine.catalogue import QUEUES
from engine.core import Note
from engine.errors import Refused
from engine.settings.settings import Flag
from engine.sim.explore.counterexample import Recorder, repeat
from engine.sim.explore.moves import FAULTS
from engine.sim.explore.report import Report, document, explore
from engine.sim.explore.scene import Scene
from engine.sim.explore.walk import Progress as Walked

WIDTH = 100  # columns of a ladder, where no terminal says otherwise


def run(options: Namespace, flags: list[Flag]) -> int:
    """Walk a scene: 0 where everything held, 1 where something did not. Raises Wrong and Refused."""
    clock, line = time.monotonic, Progress("explore")
    queues = settings_of(flags).system if options.scene is None else ""
    scene = None if queues in QUEUES else scene_of(options, flags)
    if options.faults == EACH:
        return each(options, scene, queues, clock)
    with Signals() as signals:
        began = clock()

        def told(progress: Walked) -> str:
            line.line(in_words(progress, clock() - began))
            if signals.wait(0):
                return "a signal"
            return "" if options.parent in (None, os.getppid()) else "the end of the process that wants to know"

        if scene is None:
            return signals.status(explorequeues.run(queues, options, clock, told, sheet()))
        report = explore(scene, clock, told)
        line.clear()
    if options.json != STDOUT:
        result(words(report, sheet()))
    written = options.json is None or deliver(json.dumps(document(report), indent=2) + "\n", options.json)
    if getattr(options, "journal", None) is not None:
        written = keep(report, options) and written
    return signals.status(0 if written and not report.found else 1)


def each(options: Namespace, scene: Scene | None, queues: str, clock: Callable[[], float]) -> int:
    """Walk every kind alone. ``scene``: None where it is one of disk ``queues``."""
    if scene is None:
        name = queues
        head = [f"system    {queues}", f"scene     {explorequeues.SCENE}; each kind alone, once, at any moment"]
        kinds: Sequence[str] = (NONE, *explorequeues.FAULTS)
        shown: exploreeach.Shown = partial(explorequeues.violated, queues, sheet())
    else:
        name, most = scene.system.name, f"each kind alone, {scene.most} at any moment"
        head = [f"system    {name}", f"scene     {walkers(scene)}; {most}", f"bounds    {bounded(scene)}"]
        kinds, shown = exploreeach.BROKERS, partial(violated, scene, sheet())
    unreached = {} if scene is None else scene.system.explored.unreached
    return exploreeach.run(options, head, kinds, name, clock, shown, unreached)


def scene_of(options: Namespace, flags: list[Flag]) -> Scene:
    """What is to be walked: of a file, or the usual scene of a system, with what was asked for besides."""
    if options.scene is not None:
        if any(flag.place == ("system",) for flag in flags):
            raise Refused("explore: a --scene names its own system, so --system is not for it")
        scene = read_scene(options.scene)
    else:
        scene = Scene(system_of(settings_of(flags)))
    given = {name: getattr(options, name) for name in ("depth", "seconds", "states") if getattr(options, name)}
    scene = replace(scene, bounds=replace(scene.bounds, **given))
    if options.faults in (None, EACH):
        return scene
    if not set(options.faults) <= FAULTS:
        raise Refused(f"explore: {', '.join(set(options.faults) - FAULTS)} is for disk queues alone")
    return replace(scene, faults=options.faults)


def sheet() -> Sheet:
    """What results are printed on."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    return Sheet(min(max(width, 60), 160), "utf" in (sys.stdout.encoding or "").lower())


def keep(report: Report, options: Namespace) -> bool:
    """Write the journal of what was found; False where that is not possible, which is told."""
    if not report.found:
        tell(f"--journal {options.journal}: nothing was found wrong, so there is nothing to record")
        return True
    problems: list[Note] = []
    try:
        recorder = Recorder(options.journal, report.scene, problems.append)
    except OSError as error:
        tell(f"--journal {options.journal}: {error.strerror or error}")
        return False
    repeat(report.scene, report.found[0].moves, [recorder])
    recorder.journal.close()
    for note in problems:
        tell(note.text)
    return not recorder.journal.lost
