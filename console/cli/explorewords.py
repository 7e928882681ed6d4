"""What a walk comes to, in words."""

from __future__ import annotations

from collections.abc import Sequence

from console.text import clean
from engine.sim.explore.coverage import Rows
from engine.sim.explore.report import Report
from engine.sim.explore.scene import Scene
from engine.sim.explore.walk import Progress

SHOWN = 6  # rows that were never walked, of each machine


def in_words(progress: Progress, seconds: float) -> str:
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
        rows += [f"violated  {clean(found.text)}"]
        rows += [
            f"          after {len(found.moves)} moves, from where all had joined:",
            *indented(found.course.lines),
            "",
        ]
    rows.append(
        f"walked    {progress.states:,} states, {progress.transitions:,} transitions, depth {progress.depth}, "
        f"in {report.elapsed:.1f} s"
    )
    rows += [line for one in report.coverage for line in covered(one)]
    how = "complete within these bounds" if report.complete else f"bounded: ended by {report.bound}"
    if report.found:
        how = "ended by a violation"
    rows += ["", f"verdict   {'VIOLATED' if report.found else 'held'}, {how}"]
    return "\n".join(rows) + "\n"


def walkers(scene: Scene) -> str:
    """Who is there."""
    pair = "a pair of brokers, " if scene.pair else ""
    return (
        f"{pair}{_some(scene.workers, 'worker')} of {_some(scene.slots, 'slot')}, {_some(scene.clients, 'client')}, "
        f"{_some(scene.tasks, 'task')} each"
    )


def described(scene: Scene) -> str:
    """Who is there, and what may go wrong."""
    most = f"; {scene.most} of {', '.join(scene.faults)} at any moment" if scene.faults else "; nothing goes wrong"
    return f"{walkers(scene)}{most}"


def bounded(scene: Scene) -> str:
    """The bounds, in words."""
    bounds = scene.bounds
    late = _some(bounds.late, "wake-up") if bounds.late else "no wake-up"
    span = f"{_some(bounds.rounds, 'heartbeat round')} of {scene.heartbeat:g} s after all have joined"
    return f"{span}; {late} may overtake what is under way"


def _some(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def indented(lines: Sequence[str]) -> list[str]:
    """Lines of a course, below what is violated."""
    return [f"          {clean(line)}" for line in lines]


def covered(rows: Rows) -> list[str]:
    """What was walked of one machine."""
    found = [f"rows      {len(rows.walked)} of {len(rows.walked) + len(rows.never)} of {clean(rows.title)}"]
    never = [f"{state}: {event}" for state, event in rows.never]
    shown = "; ".join(never[:SHOWN]) + (f" and {len(never) - SHOWN} more" if len(never) > SHOWN else "")
    return [*found, f"          never {clean(shown)}"] if never else found
