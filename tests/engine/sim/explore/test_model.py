"""What can happen in a state."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.sim.explore.model import START, Model
from engine.sim.explore.moves import Move
from tests.engine.sim.explore.scenes import begun, scene, went


@pytest.mark.parametrize("name", SYSTEMS)
def test_everybody_has_joined_and_nothing_is_under_way(name: str) -> None:
    model, state = begun(name)
    assert model.names == ["broker", "worker-1", "worker-2", "client"]
    assert model.moves(state) == [Move("ask"), Move("tick")]
    assert state.now < START + 5 and model.horizon == state.now + model.scene.heartbeat
    assert all(model.picture(state, who).joined for who in model.workers)
    again = Model(scene(name)).begin()
    assert again == state and not state.left


def test_a_pair_has_two_brokers() -> None:
    model = Model(scene(pair=True))
    state = model.begin()
    assert model.names[:2] == ["broker", "fallback"] and model.brokers == [0, 1]
    assert [model.picture(state, who).serving for who in model.brokers] == [True, False]


def test_a_task_goes_all_the_way() -> None:
    model, state = begun()
    state = went(model, state, "ask")
    assert {move.kind for move in model.moves(state)} == {"take"}  # the clock waits
    while any(move.kind == "take" for move in model.moves(state)):
        state = went(model, state, "take")
    view = model.picture(state, model.clients[0])
    assert view.run.state == "ended" and view.run.ledger.succeeded == 2


def test_wake_ups_may_overtake_what_is_under_way_where_the_scene_says_so() -> None:
    model, state = begun(late=1, rounds=2)
    state = went(model, state, "ask")
    assert Move("tick") in model.moves(state)
    state = went(model, state, "tick")
    assert state.owed == 1
    while any(move.kind == "wake" for move in model.moves(state)):
        state = went(model, state, "wake")
    assert Move("tick") not in model.moves(state)
    while any(move.kind == "take" for move in model.moves(state)):
        state = went(model, state, "take")
    assert state.owed == 0 and Move("tick") in model.moves(state)


def test_time_ends_at_the_horizon() -> None:
    model, state = begun()
    model.horizon = state.now
    assert Move("tick") not in model.moves(state)


def test_a_client_is_asked_once() -> None:
    model, state = begun()
    assert state.asks == 1
    assert went(model, state, "ask").asks == 0
    assert not [move for move in model.moves(went(model, state, "ask")) if move.kind == "ask"]


def test_what_there_is_not_can_not_happen() -> None:
    model, state = begun()
    with pytest.raises(AssertionError, match="no such move"):
        model.apply(state, Move("kill", 1))


def test_names_of_routing_ids() -> None:
    model, _ = begun()
    assert model.name_of(model.keys[1]) == "worker-1" and model.name_of(b"x") == "x"
