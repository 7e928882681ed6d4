"""The walk through all states of a scene, breadth first: the first counterexample is one of the shortest.

The rules of this file:

- A state is known by the numbers of its parts, exactly: two states are never taken for one by chance.
- The walk ends when nothing new is found (complete), at a violation, or at a bound: states, depth, seconds. Which, is
  said.
- ``tell`` is the only way to the world outside: it is told how far the walk is, and may end it.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from engine.sim.explore.faults import apply
from engine.sim.explore.liveness import Courses, stranded
from engine.sim.explore.model import Model
from engine.sim.explore.moves import FAULTS, Move
from engine.sim.explore.reduction import everything
from engine.sim.explore.turn import State

KEPT = 60_000  # parts that may hold their pickles, before those that are not needed are let go
TOLD = 250  # states between two looks at the clock
TOLD_OF_ENDS = 10  # ends, each of which takes a whole course


class Progress(NamedTuple):
    """How far a walk is. ``depth``: moves from the beginning; ``frontier``: states that were not looked at yet;
    ``layers``: how many states there are at each depth, from 0 on.
    """

    states: int
    transitions: int
    depth: int
    frontier: int
    layers: tuple[int, ...] = ()


class Violation(NamedTuple):
    """What is wrong, and the moves that lead there from the beginning."""

    text: str
    moves: tuple[Move, ...]


class Walked(NamedTuple):
    """What a walk came to. ``bound``: what ended it; empty where it is complete or found a violation."""

    progress: Progress
    bound: str
    violation: Violation | None

    @property
    def complete(self) -> bool:
        """Whether every state within the bounds of the scene was walked."""
        return not self.bound and self.violation is None


Tell = Callable[[Progress], str]
"""Told now and then how far a walk is; answers why it is to end, nothing where it goes on."""


class Walk:
    """One walk."""

    def __init__(self, model: Model, tell: Tell = lambda progress: "") -> None:
        self.model = model
        self._tell = tell
        self._index: dict[bytes, int] = {}
        self._parent, self._by = array("q"), array("H")
        self._starts, self._follows = array("Q", [0]), array("I")  # what follows each state without a fault
        self._times: dict[float, int] = {}
        self._cuts: dict[object, int] = {}
        self._alike: list[int] = []  # by the number of a seat: the number of those that are alike
        self._kinds: dict[object, int] = {}
        self._transitions = self._depth = self._frontier = 0
        self._layers = [1]
        self.ends: list[tuple[int, State]] = []  # where the bound on virtual time ends the walk

    def run(self) -> Walked:
        """Walk until the end, a bound, or the first violation."""
        begin = self.model.begin()
        self._number(begin, -1, 0)
        layer: deque[State] = deque([begin])
        number, why, wrong = 0, "", None
        while layer and not why and wrong is None:
            after: deque[State] = deque()
            self._layers.append(0)
            for left, state in enumerate(layer):
                wrong = self._expand(state, number, after)
                number += 1
                self._frontier = len(layer) - left - 1 + len(after)
                self._layers[-1] = len(after)
                why = self._bound(number)
                if wrong is not None or why:
                    break
            layer = after
            self._depth += bool(layer)
            if self.model.parts.kept > KEPT:
                self.model.parts.let_go(self._needed(layer))
        if wrong is None and not why:
            wrong, why = self._dead_end()
        return Walked(self.progress, "" if wrong is not None else why, wrong)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        layers = self._layers if self._layers[-1] else self._layers[:-1]
        return Progress(len(self._index), self._transitions, self._depth, self._frontier, tuple(layers))

    def _bound(self, number: int) -> str:
        bounds = self.model.scene.bounds
        if len(self._index) >= bounds.states:
            return f"{bounds.states:,} states"
        if self._depth >= bounds.depth:
            return f"a depth of {bounds.depth:,} moves"
        return "" if number % TOLD else self._tell(self.progress)

    def _expand(self, state: State, number: int, after: deque[State]) -> Violation | None:
        moves = everything(self.model, state)
        if not moves:
            self.ends.append((number, state))
        known = self._index
        for which, move in enumerate(moves):
            following, wrong = apply(self.model, state, move)
            self._transitions += 1
            if wrong:
                return Violation(wrong, (*self.way(number), move))
            before = len(known)
            found = self._number(following, number, which)
            if move.kind not in FAULTS:
                self._follows.append(found)
            if len(known) > before:
                after.append(following)
        self._starts.append(len(self._follows))
        return None

    def _dead_end(self) -> tuple[Violation | None, str]:
        """Of a complete walk: a state from which it does not go on as it has to; or why that was not looked for."""
        courses = Courses(self.model, self.key)
        good = bytearray(len(self._index))
        for looked, (number, state) in enumerate(self.ends, 1):
            wrong = courses.wrong(state)
            if wrong:
                return Violation(wrong, self.way(number)), ""
            why = "" if looked % TOLD_OF_ENDS else self._tell(self.progress)
            if why:
                return None, why
            good[number] = True
        number = stranded(self._starts, self._follows, good)
        return (None if number < 0 else Violation("time never goes on from here", self.way(number))), ""

    # ---- states -----------------------------------------------------------------------------------------------------

    def _number(self, state: State, parent: int, which: int) -> int:
        key = self.key(state)
        number = self._index.setdefault(key, len(self._index))
        if number == len(self._parent):
            self._parent.append(parent)
            self._by.append(which)
        return number

    def key(self, state: State) -> bytes:
        """What a state is known by."""
        now, left, owed, asks, cut, seats, wires = state
        time = self._times.setdefault(now, len(self._times))
        told = 0 if cut is None else self._cuts.setdefault(cut, len(self._cuts) + 1)
        alike = self._alike if len(self._alike) == len(self.model.world.seats.values) else self._likened()
        kinds = [alike[number] for number in seats]
        return array("I", (time, left << 16 | owed << 8 | asks, told, *kinds, *wires)).tobytes()

    def _likened(self) -> list[int]:
        """By the number of a seat, the number of all those that are taken for the same."""
        exact = self.model.scene.exact
        for seat in self.model.world.seats.values[len(self._alike) :]:
            kind: object = seat
            if seat.part is not None and not exact:
                kind = (seat.part.shape, seat.part.wake, *seat[1:])
            self._alike.append(self._kinds.setdefault(kind, len(self._kinds)))
        return self._alike

    def _needed(self, layer: deque[State]) -> set[int]:
        model = self.model
        held = {number for _, state in self.ends for number in state.seats}
        held.update(number for state in layer for number in state.seats)
        parts = [model.world.seats.values[number].part for number in held]
        return {part.number for part in (*parts, *model.fresh) if part is not None}

    def way(self, number: int) -> tuple[Move, ...]:
        """The moves from the beginning to a state."""
        places = []
        while number > 0:
            places.append(self._by[number])
            number = self._parent[number]
        moves, state = [], self.model.begin()
        for place in reversed(places):
            move = everything(self.model, state)[place]
            moves.append(move)
            state, _ = apply(self.model, state, move)
        return tuple(moves)
