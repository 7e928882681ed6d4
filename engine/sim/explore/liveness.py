"""Whether all tasks end and all slots come back, from every state, once nothing more goes wrong.

The rules of this file:

- A state is settled when no client waits for anything, every broker's books are empty and every worker that it counts
  on has all its slots free. Where no worker is left but those that were drained, tasks may wait.
- Where the bound on virtual time ends the walk, one fair course goes on from there until the state is settled, for
  ``PATIENCE`` seconds at most. All other states have to lead to such a one: that is looked for backwards, from the end
  of the walk, over all moves that are no faults.
- A course of one state is the course of all that it passes through, so each is followed once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from engine.core import NEVER
from engine.parts.plain import several
from engine.sim.explore.model import Model
from engine.sim.explore.moves import Move
from engine.sim.explore.turn import State

PATIENCE = 300.0  # virtual seconds
MOST = 20_000  # moves of one course

HARMLESS = frozenset({"kill", "leave", "drain", "duplicate"})
"""Faults that cost no task: the others take what was said away from somebody, and a client may time out."""


Told = Callable[[State, Move], None]


class Courses:
    """Fair courses to the end. ``key(state)``: what a state is known by. ``told``: of every move, before it is done."""

    def __init__(self, model: Model, key: Callable[[State], bytes], told: Told = lambda state, move: None) -> None:
        self._model, self._key, self._told = model, key, told
        self._ends: dict[bytes, str] = {}  # state → what is wrong with the end of its course, empty for nothing

    def wrong(self, state: State) -> str:
        """What is wrong with how it goes on from a state; empty for nothing."""
        model = self._model
        horizon, model.horizon = model.horizon, NEVER
        passed: list[bytes] = []
        state = state._replace(left=0)
        until = state.now + PATIENCE
        try:
            while True:
                key = self._key(state)
                found = self._ends.get(key)
                if found is not None:
                    break
                passed.append(key)
                if self.is_settled(state):
                    found = self._judge(state)
                    break
                moves = model.moves(state)
                if not moves or state.now > until or len(passed) > MOST:
                    found = self._stuck(state)
                    break
                self._told(state, moves[0])
                state, found = model.apply(state, moves[0])
                if found:
                    break
        finally:
            model.horizon = horizon
        self._ends.update(dict.fromkeys(passed, found))
        return found

    def is_settled(self, state: State) -> bool:
        """Whether nothing is to come."""
        return not state.asks and not self._open(state)

    def _open(self, state: State) -> str:
        """What is still to come, in words."""
        model = self._model
        for who in model.clients:
            view = model.picture(state, who)
            if view is not None and view.run is not None and view.run.state != "ended":
                return f"{several(view.run.ledger.in_flight, 'task')} of {model.names[who]} without an end"
        for who in model.brokers:
            view = model.picture(state, who)
            if view is None or not view.serving:
                continue
            if (view.backlog and self._served(state)) or view.in_flight:
                return f"{several(view.backlog + view.in_flight, 'task')} left at {model.names[who]}"
            for row in view.workers:
                if row.state != "lost" and (row.in_flight or (row.free < row.slots and row.state != "drain")):
                    return f"of {row.slots} slots of {model.name_of(row.key)} {row.slots - row.free} do not come back"
        return ""

    def _served(self, state: State) -> bool:
        """Whether a worker is left that could take what waits. One that was drained is there, and takes nothing."""
        model = self._model
        alive = [who for who in model.workers if model.seat(state, who).part is not None]
        if "drain" not in model.scene.faults:
            return bool(alive)
        views = [view for who in model.brokers if (view := model.picture(state, who)) is not None and view.serving]
        takes = {model.name_of(row.key) for view in views for row in view.workers if row.state not in ("drain", "lost")}
        return any(model.names[who] in takes or not model.picture(state, who).joined for who in alive)

    def _stuck(self, state: State) -> str:
        return f"{self._open(state) or 'the clients are never asked'}: {PATIENCE:g} s after the last fault"

    def _judge(self, state: State) -> str:
        """Whether all that was asked for has come, where nothing happened that may cost a task."""
        model = self._model
        if not HARMLESS.issuperset(model.scene.faults) or not self._served(state):
            return ""
        for who in model.clients:
            view = model.picture(state, who)
            ledger: Any = None if view is None or view.run is None else view.run.ledger
            if ledger is not None and ledger.succeeded != model.scene.tasks:
                failed = ", ".join(f"{n} {kind}" for kind, n in ledger.failed)
                tasks = several(model.scene.tasks, "task")
                return f"{ledger.succeeded} of {tasks} of {model.names[who]} succeeded ({failed})"
        return ""


def stranded(starts: array[int], follows: array[int], good: bytearray) -> int:
    """The first state from which no good one is reached, -1 for none. ``good`` is completed.

    ``follows[starts[i]:starts[i + 1]]``: the states that follow state i without a fault.
    """
    changed = True
    while changed:
        changed = False
        for number in range(len(starts) - 2, -1, -1):
            if not good[number] and any(good[other] for other in follows[starts[number] : starts[number + 1]]):
                good[number] = changed = True
    return good.find(0)
