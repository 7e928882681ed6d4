"""Small scenes, and walks of them."""

from __future__ import annotations

import inspect
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from engine.catalogue import SYSTEMS
from engine.sim.explore.fingerprint import IGNORED, UNORDERED
from engine.sim.explore.model import Model
from engine.sim.explore.moves import Move
from engine.sim.explore.scene import Bounds, Scene
from engine.sim.explore.turn import State

FIRST, SMALL = next(iter(SYSTEMS)), "negotiated"


def scene(name: str = SMALL, rounds: int = 1, late: int = 0, **more: Any) -> Scene:
    """The usual scene of a system, with a bound of its own."""
    return Scene(SYSTEMS[name], bounds=Bounds(rounds=rounds, late=late), **more)


def begun(name: str = SMALL, **more: Any) -> tuple[Model, State]:
    """A model, and where everybody has joined."""
    model = Model(scene(name, **more))
    return model, model.begin()


def went(model: Model, state: State, *kinds: str) -> State:
    """Do the first move of each of these kinds."""
    for kind in kinds:
        move: Move = next(move for move in model.moves(state) if move.kind == kind)
        state, wrong = model.apply(state, move)
        assert not wrong
    return state


def fields_are_there(name: str) -> None:
    """Each field that a system or the model checker itself names is one of that class."""
    explored = SYSTEMS[name].explored
    parts = {"liveness": "parts", "bulk": "parts", "runner": "parts", "inflight": "parts", "properties": "sim.explore"}
    for one, fields in chain(*[each.items() for each in (IGNORED, UNORDERED, explored.ignored, explored.unordered)]):
        file, _, made = one.partition(".")
        module = import_module(f"engine.{parts.get(file, f'protocols.{name}')}.{file}")
        above = [base for base in getattr(module, made).__mro__ if base is not object]
        source = "".join(Path(inspect.getfile(base)).read_text(encoding="utf-8") for base in above)
        for field in fields:
            assert f"self.{field}" in source, (one, field)
