"""The walk finds everything, and says where it stopped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from engine.catalogue import SYSTEMS
from engine.sim.explore import walk as walks
from engine.sim.explore.coverage import Coverage, Rows
from engine.sim.explore.model import Model
from engine.sim.explore.scene import Bounds, Fault, Scene
from engine.sim.explore.walk import Progress, Walk
from tests.engine.sim.explore.scenes import FIRST, SMALL, scene
from tests.helpers.examples import SLOW

TIMED = (
    ("roundrobin", 2, ""),
    ("conversation", 2, ""),
    ("pingpong", 2, ""),
    ("negotiated", 2, ""),
)
"""System, rounds and what goes wrong, where times tell states apart that are taken for the same else."""

IGNORING = tuple(name for name, system in SYSTEMS.items() if system.explored.ignored)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_small_scene_of_each_system_is_complete_and_holds(name: str) -> None:
    found = Walk(Model(scene(name))).run()
    assert found.complete and found.violation is None and found.progress.frontier == 0
    assert found.progress.transitions > found.progress.states > 300
    layers = found.progress.layers
    assert (layers[0], sum(layers), len(layers)) == (1, found.progress.states, found.progress.depth + 1)
    if SLOW or name == SMALL:
        assert Walk(Model(scene(name))).run() == found  # and the next time it is the same


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_small_scene_with_one_fault_of_any_kind_is_complete_and_holds(name: str) -> None:
    kinds: Any = [kind for kind in get_args(Fault) if kind != "drain"]  # the only worker would get nothing any more
    if not SLOW:
        kinds = kinds[:: 1 + (name == FIRST)]
    found = Walk(Model(scene(name, workers=1, tasks=1, faults=tuple(kinds)))).run()
    assert found.complete and found.violation is None and found.progress.states > 3_000


def test_bounds_end_it_and_are_said() -> None:
    usual = scene()
    for bounds, why in ((Bounds(depth=3), "a depth of 3 moves"), (Bounds(states=50), "50 states")):
        found = Walk(Model(replace(usual, bounds=bounds))).run()
        assert (found.bound, found.complete) == (why, False)
    told: list[Progress] = []

    def enough(progress: Progress) -> str:
        told.append(progress)
        return "enough"

    found = Walk(Model(scene("roundrobin")), enough).run()
    assert found.bound == "enough" and len(told) == 1 and told[0].states >= walks.TOLD


def test_the_look_at_the_ends_can_be_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "TOLD", 10**9)
    monkeypatch.setattr(walks, "TOLD_OF_ENDS", 1)
    found = Walk(Model(scene(workers=1)), lambda progress: "enough").run()
    assert found.bound == "enough" and not found.complete and found.progress.frontier == 0


def test_what_is_let_go_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    small = scene(workers=1, faults=("lose",))
    usual = Walk(Model(small)).run()
    monkeypatch.setattr(walks, "KEPT", 5)
    assert Walk(Model(small)).run() == usual


def gone_through(usual: Scene) -> tuple[int, set[bytes], list[Rows], set[Any]]:
    """States; what all cores went through but for their times; rows; and the clients' books at the ends."""
    model = Model(usual)
    coverage, walk = Coverage(model), Walk(model)
    assert walk.run().complete
    pictures = [model.picture(state, who) for _, state in walk.ends for who in model.clients]
    books = {view.run and view.run.ledger for view in pictures}
    return walk.progress.states, model.parts.shapes, coverage.rows(), books


@pytest.mark.parametrize(("name", "rounds", "fault"), TIMED)
def test_states_that_differ_in_times_alone_lead_to_the_same(name: str, rounds: int, fault: str) -> None:
    usual = scene(name, rounds, workers=1, faults=(fault,) if fault else ())
    if usual.system.lane:
        usual = replace(usual, options=replace(usual.settings, **{usual.system.lane: True}))
    fewer, shapes, *found = gone_through(usual)
    more, all_shapes, *all_found = gone_through(replace(usual, exact=True))
    assert fewer < more and found == all_found
    assert shapes <= all_shapes and (name == "negotiated" or shapes == all_shapes)  # docs/explore.md, what is left out


@pytest.mark.parametrize("name", IGNORING)
def test_what_a_system_ignores_changes_nothing_that_is_found(name: str) -> None:
    usual = scene(name, workers=1, faults=("leave",))
    said = usual.system.explored
    fewer, _, *found = gone_through(usual)
    all_ = replace(usual.system, explored=said._replace(ignored={}, unordered={}))
    more, _, *all_found = gone_through(replace(usual, system=all_))
    assert fewer < more and found == all_found


def test_the_way_to_a_state_leads_there() -> None:
    walk = Walk(model := Model(scene()))
    walk.run()
    number, end = walk.ends[-1]
    state = model.begin()
    for move in walk.way(number):
        state, wrong = model.apply(state, move)
        assert not wrong
    assert state == end
