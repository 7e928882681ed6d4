"""A walk from beginning to end: what was covered, what was found wrong, as a value and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from engine.sim.explore.counterexample import Course, repeat
from engine.sim.explore.coverage import Coverage, Rows
from engine.sim.explore.model import Model
from engine.sim.explore.moves import Move
from engine.sim.explore.scene import Scene
from engine.sim.explore.walk import Progress, Tell, Walk

SCHEMA = "roundhouse.explore/1"


class Found(NamedTuple):
    """A violation. ``course``: on exact cores, from the moment at which all had joined."""

    text: str
    moves: tuple[Move, ...]
    course: Course


class Report(NamedTuple):
    """``bound``: what ended the walk early; empty where it did not."""

    scene: Scene
    progress: Progress
    bound: str
    coverage: tuple[Rows, ...]
    found: tuple[Found, ...]
    elapsed: float  # seconds

    @property
    def complete(self) -> bool:
        """Whether every state within the scene's bounds was walked."""
        return not self.bound and not self.found


def explore(scene: Scene, clock: Callable[[], float], tell: Tell = lambda progress: "") -> Report:
    """Walk a scene. ``clock``: seconds, of any beginning. What is wrong only in the walk raises RuntimeError."""
    began = clock()
    limit = scene.bounds.seconds

    def told(progress: Progress) -> str:
        return tell(progress) or (f"{limit:g} seconds" if clock() - began >= limit else "")

    model = Model(scene)
    coverage = Coverage(model)
    walked = Walk(model, told).run()
    found: tuple[Found, ...] = ()
    if walked.violation is not None:
        course = repeat(scene, walked.violation.moves)
        if not course.wrong:
            raise RuntimeError(f"not so on exact cores: {walked.violation.text}")
        found = (Found(course.wrong, walked.violation.moves, course),)
    return Report(scene, walked.progress, walked.bound, tuple(coverage.rows()), found, clock() - began)


def document(report: Report) -> dict[str, Any]:
    """The report for programs."""
    scene = report.scene
    shown = {
        "name": scene.name,
        "workers": scene.workers,
        "clients": scene.clients,
        "tasks": scene.tasks,
        "slots": scene.slots,
        "kind": scene.kind,
        "pair": scene.pair,
        "faults": list(scene.faults),
        "most": scene.most if scene.faults else 0,
        "outage": scene.outage,
        "options": asdict(scene.settings),
        "bounds": asdict(scene.bounds),
    }
    return {
        "schema": SCHEMA,
        "system": scene.system.name,
        "scene": shown,
        "states": report.progress.states,
        "transitions": report.progress.transitions,
        "depth": report.progress.depth,
        "complete": report.complete,
        "bound": report.bound,
        "violations": [{"text": one.text, "course": list(one.course.lines)} for one in report.found],
        "coverage": listed(report.coverage),
        "elapsed_s": round(report.elapsed, 3),
    }


def listed(coverage: Iterable[Rows]) -> list[dict[str, Any]]:
    """The rows that were walked, and those that never were, for programs."""
    return [
        {"machine": rows.title, "walked": list(map(list, rows.walked)), "never": list(map(list, rows.never))}
        for rows in coverage
    ]
