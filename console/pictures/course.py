"""A course that the model checker found, as a ladder: the same arrows as on the screens.

The rules of this file:

- A course is played again on exact cores, and a trace listens. Nothing is drawn of what came before it.
- Notes in a peer's lane say what went wrong there, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.core import Note, Woken
from engine.parts.explain import Role
from engine.sim.explore.counterexample import Took, Watcher, moves_of, node_of, played
from engine.sim.explore.documents import DST, SRC, Documents, happened, in_words, seat
from engine.sim.explore.moves import FAULTS, Move
from engine.sim.explore.scene import Scene
from engine.tracing.ladder import ladder, text
from engine.tracing.operations import RECOVERY, Operations
from engine.tracing.ring import Ring
from engine.tracing.trace import Trace

MOST = 200  # arrows that are drawn


class _Drawn(Watcher):
    """Gives a trace all that happens."""

    def __init__(self, scene: Scene) -> None:
        self.trace = Trace(scene.system)
        self._roles: dict[str, Role] = {}
        self.now, self.last = 0.0, ""

    def seated(self, name: str, role: Role, args: list[Any], world: dict[str, Any], seat: Any) -> None:
        self._roles[name] = role
        core = getattr(seat.core, "core", seat.core)  # without its witness
        self.trace.seated(node_of(name, role), name, role, replace(seat, core=core))

    def began(self) -> None:
        self.trace.clear()

    def moved(self, name: str, at: float, move: Move, words: str) -> None:
        self.now, self.last = at, name or self.last
        if move.kind in FAULTS:
            self.note(Note("warn", words))

    def took(self, took: Took) -> None:
        self.trace.tap(node_of(took.name, self._roles[took.name]), took.name, self.now, took.event, took.commands)

    def left(self, name: str) -> None:
        self.trace.left(node_of(name, self._roles.pop(name)), name)

    def note(self, note: Note, about: str = "") -> None:
        """A note in the lane of who is concerned, of the broker where that is nobody who is there."""
        name = next((name for name in (about, self.last) if name in self._roles), next(iter(self._roles)))
        self.trace.tap(node_of(name, self._roles[name]), name, self.now, Woken(), [note])


def drawn(scene: Scene, lines: Sequence[str], width: int, unicode: bool = True) -> list[str]:
    """The ladder of a course, at most ``MOST`` arrows of it; lines of at most ``width`` columns."""
    watcher = _Drawn(scene)
    course = played(scene, lines, [watcher])
    if course.wrong:
        watcher.note(Note("bad", course.wrong), course.wrong.partition(":")[0])
    return _drawn(watcher.trace, width, unicode)


def drawn_documents(model: Documents, lines: Sequence[str], width: int, unicode: bool = True) -> list[str]:
    """The ladder of a course of disk queues; its times are numbers of moves."""
    trace = Operations((SRC, DST))
    for number, one in enumerate(happened(model, moves_of(lines))):
        name = seat(model, one.who, RECOVERY)
        if one.kind != "act":
            trace.tap(name, name, number, Woken(), [Note("warn", in_words(model, (one.kind, one.who)))])
        for event, commands in one.spoken:
            trace.tap(name, name, number, event, commands)
        if one.wrong:
            trace.tap(name, name, number, Woken(), [Note("bad", one.wrong)])
    return _drawn(trace, width, unicode)


def _drawn(trace: Ring[Any], width: int, unicode: bool) -> list[str]:
    arrows = trace.arrows()
    found = text(ladder(arrows[:MOST], order=trace.lanes), width, unicode)
    return [*found, f"and {len(arrows) - MOST:,} arrows more"] if len(arrows) > MOST else found
