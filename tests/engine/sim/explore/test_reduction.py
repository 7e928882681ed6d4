"""Fewer orders, and the same states of every core and the same ends."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.sim.explore.model import Model
from engine.sim.explore.reduction import everything, is_sound
from engine.sim.explore.walk import Walk
from tests.engine.sim.explore.scenes import begun, scene, went


def walked(name: str, **more: Any) -> tuple[int, set[bytes], set[bytes]]:
    """States, fingerprints of all cores, and the states at the end by what stands in them."""
    model = Model(scene(name, exact=True, **more))
    walk = Walk(model)
    assert walk.run().complete
    ends = set()
    for _, state in walk.ends:
        cores = [model.seat(state, who).part for who in range(len(model.names))]
        prints = [b"" if part is None else model.copier.fingerprint(model.parts.core(part)) for part in cores]
        ends.add(b"".join(prints))
    return walk.progress.states, model.parts.prints, ends


@pytest.mark.parametrize("name", SYSTEMS)
def test_all_that_cores_go_through_is_the_same_with_and_without(name: str) -> None:
    fewer, cores, ends = walked(name)
    more, all_cores, all_ends = walked(name, reduce=False)
    assert fewer < more and cores == all_cores and ends == all_ends


@pytest.mark.parametrize("kind", ["kill", "lose", "leave"])
def test_also_where_something_goes_wrong(kind: str) -> None:
    fewer, cores, ends = walked("negotiated", workers=1, tasks=1, faults=(kind,))
    more, all_cores, all_ends = walked("negotiated", workers=1, tasks=1, faults=(kind,), reduce=False)
    assert fewer < more and cores == all_cores and ends == all_ends


def test_where_it_is_not_sound_all_orders_are_walked() -> None:
    for more in ({"late": 1}, {"reduce": False}, {"faults": ("cut",)}, {"faults": ("restart",)}):
        assert not is_sound(*begun(**more))
    for kind in ("kill", "lose", "freeze"):
        assert is_sound(*begun(faults=(kind,)))
    assert not is_sound(*begun(pair=True, faults=("kill",)))


def test_of_what_is_under_way_to_peers_one_goes_first() -> None:
    model, state = begun()
    state = went(model, state, "ask", "take", "take")
    assert everything(model, state) == model.moves(state)  # both wait for the broker
    state = went(model, model.begin(), "ask", "take")
    assert [move.kind for move in model.moves(state)] == ["take", "take"] and len(everything(model, state)) == 1
