"""Walks every interleaving of a small scene, and tells what was covered."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from dataclasses import replace

from console.cli import explorequeues
from console.cli.common import settings_of, system_of
from console.cli.explorefile import read_scene
from console.cli.signals import Signals
from console.cli.streams import STDOUT, Progress, deliver, result, tell
from console.text import clean
from engine.catalogue import QUEUES
from engine.core import Note
from engine.errors import Refused
from engine.settings import Flag
from engine.sim.explore.counterexample import Recorder, repeat
from engine.sim.explore.coverage import Rows
from engine.sim.explore.moves import FAULTS
from engine.sim.explore.report import Found, Report, document, explore
from engine.sim.explore.scene import Scene
from engine.sim.explore.walk import Progress as Walked

SHOWN = 6  # rows that were never walked, of each machine


def run(options: Namespace, flags: list[Flag]) -> int:
    """Walk a scene: 0 where everything held, 1 where something did not. Raises Wrong and Refused."""
    clock, line = time.monotonic, Progress("explore")
    queues = settings_of(flags).system if options.scene is None else ""
    scene = None if queues in QUEUES else scene_of(options, flags)
    with Signals() as signals:
        began = clock()

        def told(progress: Walked) -> str:
            line.line(in_words(progress, clock() - began))
            return "a signal" if signals.wait(0) else ""

        if scene is None:
            return signals.status(explorequeues.run(queues, options, clock, told))
        report = explore(scene, clock, told)
        line.clear()
    if options.json != STDOUT:
        result(words(report))
    written = options.json is None or deliver(json.dumps(document(report), indent=2) + "\n", options.json)
    if getattr(options, "journal", None) is not None:
        written = keep(report, options) and written
    return signals.status(0 if written and not report.found else 1)


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
    if options.faults and not set(options.faults) <= FAULTS:
        raise Refused(f"explore: {', '.join(set(options.faults) - FAULTS)} is for disk queues alone")
    return scene if options.faults is None else replace(scene, faults=options.faults)


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


def in_words(progress: Walked, seconds: float) -> str:
    """How far a walk is."""
    rate = progress.states / seconds if seconds > 0 else 0.0
    return (
        f"{progress.states:,} states, depth {progress.depth}, {rate:,.0f} states a second, "
        f"{progress.frontier:,} to be looked at"
    )


def words(report: Report) -> str:
    """A report for people."""
    progress, scene = report.progress, report.scene
    rows = [f"system    {scene.system.name}", f"scene     {described(scene)}", f"bounds    {bounded(scene)}", ""]
    for found in report.found:
        rows += _violation(found)
    rows.append(
        f"walked    {progress.states:,} states, {progress.transitions:,} transitions, depth {progress.depth}, "
        f"in {report.elapsed:.1f} s"
    )
    rows += [line for one in report.coverage for line in _coverage(one)]
    how = "complete within these bounds" if report.complete else f"bounded: ended by {report.bound}"
    if report.found:
        how = "ended by a violation"
    rows += ["", f"verdict   {'VIOLATED' if report.found else 'held'}, {how}"]
    return "\n".join(rows) + "\n"


def described(scene: Scene) -> str:
    """Who is there, and what may go wrong."""
    who = (
        f"{_some(scene.workers, 'worker')} of {_some(scene.slots, 'slot')}, {_some(scene.clients, 'client')}, "
        f"{_some(scene.tasks, 'task')} each"
    )
    pair = "a pair of brokers, " if scene.pair else ""
    most = f"; {scene.most} of {', '.join(scene.faults)} at any moment" if scene.faults else "; nothing goes wrong"
    return f"{pair}{who}{most}"


def bounded(scene: Scene) -> str:
    """The bounds, in words."""
    bounds = scene.bounds
    late = _some(bounds.late, "wake-up") if bounds.late else "no wake-up"
    span = f"{_some(bounds.rounds, 'heartbeat round')} of {scene.heartbeat:g} s after all have joined"
    return f"{span}; {late} may overtake what is under way"


def _some(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _violation(found: Found) -> list[str]:
    rows = [f"violated  {clean(found.text)}", f"          after {len(found.moves)} moves, from where all had joined:"]
    return [*rows, *(f"          {clean(line)}" for line in found.course.lines), ""]


def _coverage(rows: Rows) -> list[str]:
    found = [f"rows      {len(rows.walked)} of {len(rows.walked) + len(rows.never)} of {clean(rows.title)}"]
    never = [f"{state}: {event}" for state, event in rows.never]
    shown = "; ".join(never[:SHOWN]) + (f" and {len(never) - SHOWN} more" if len(never) > SHOWN else "")
    return [*found, f"          never {clean(shown)}"] if never else found
