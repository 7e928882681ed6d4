"""What a walk comes to, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from console.cli.exploretranscript import toml, transcript
from console.pictures.course import drawn
from console.text import clean
from engine.sim.explore.coverage import Rows
from engine.sim.explore.report import Report
from engine.sim.explore.scene import Fault, Scene
from engine.sim.explore.walk import Progress

SHOWN = 6  # rows that were never walked, of each machine


def in_words(progress: Progress, seconds: float) -> str:
    """How far a walk is."""
    rate = progress.states / seconds if seconds > 0 else 0.0
    return (
        f"{progress.states:,} states, depth {progress.depth}, {rate:,.0f} states a second, "
        f"{progress.frontier:,} to be looked at"
    )


def words(report: Report, sheet: Sheet) -> str:
    """A report for people."""
    progress, scene = report.progress, report.scene
    rows = [f"system    {scene.system.name}", f"scene     {described(scene)}", f"bounds    {bounded(scene)}", ""]
    for found in report.found:
        rows += violated(scene, sheet, "", found.text, found.course.lines)
    rows.append(
        f"walked    {progress.states:,} states, {progress.transitions:,} transitions, depth {progress.depth}, "
        f"in {report.elapsed:.1f} s"
    )
    rows += [line for one in report.coverage for line in covered(one, scene.system.explored.unreached)]
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


class Sheet(NamedTuple):
    """What is printed on: its width in columns, and whether its letters may be any of Unicode."""

    width: int = 100
    unicode: bool = True


def violated(scene: Scene, sheet: Sheet, kind: str, wrong: str, course: Sequence[str]) -> list[str]:
    """What is wrong, its course as a transcript, and as a ladder. ``kind``: of fault, empty for those of the scene."""
    if kind:
        scene = replace(scene, faults=tuple(one for one in get_args(Fault) if one == kind))
    return shown(wrong, transcript(wrong, toml(scene), course), drawn(scene, course, *sheet))


def shown(wrong: str, lines: Sequence[str], ladder: Sequence[str]) -> list[str]:
    """The same, of anything."""
    head = [
        f"violated  {clean(wrong)}",
        "          as a transcript, from where all had joined; tests/transcripts/explore/ takes it",
    ]
    return [*head, "", *lines, "", *map(clean, ladder), ""]


def covered(rows: Rows, unreached: Mapping[tuple[str, str, str], str]) -> list[str]:
    """What was walked of one machine. ``unreached``: the reasons of a system why small scenes never walk a row."""
    lines = [f"rows      {len(rows.walked)} of {len(rows.walked) + len(rows.never)} of {clean(rows.title)}"]
    reasons = Counter(unreached[rows.title, *row] for row in rows.never if (rows.title, *row) in unreached)
    never = [f"{state}: {event}" for state, event in rows.never if (rows.title, state, event) not in unreached]
    if never:
        more = f" and {len(never) - SHOWN} more" if len(never) > SHOWN else ""
        lines.append(f"          never {clean('; '.join(never[:SHOWN]))}{more}")
    if reasons:
        told = "; ".join(f"{times}: {reason}" for reason, times in reasons.most_common())
        lines.append(f"          not in small scenes {told}")
    return lines
