"""What may go wrong, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.sim.explore.faults import apply, faults, spoilt
from engine.sim.explore.model import Model
from engine.sim.explore.moves import DOWN, FAULTS, UP, Move
from engine.sim.explore.turn import Cut, State
from tests.engine.sim.explore.scenes import begun, went


def asked(kind: Any, **more: Any) -> tuple[Model, State]:
    model, state = begun(faults=(kind,), **more)
    return model, went(model, state, "ask")


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_each_kind_can_happen_once(kind: str) -> None:
    model, state = asked(kind)
    assert state.left == 1
    found = faults(model, state)
    assert found and {move.kind for move in found} == {kind}
    for move in found:
        after, wrong = apply(model, state, move)
        assert not wrong and after.left == 0 and after != state


def test_messages_are_lost_doubled_and_spoilt() -> None:
    for kind, n in (("lose", 1), ("duplicate", 3), ("spoil", 2)):
        model, state = asked(kind)
        (at,) = {move.at for move in faults(model, state)}
        before = model.wire(state, at).up
        after, _ = apply(model, state, faults(model, state)[0])
        assert len(model.wire(after, at).up) == n and model.wire(after, at).up[-1] == before[-1]
        assert all(move.how % 2 == UP != DOWN for move in faults(model, state))


def test_who_is_killed_loses_some_of_what_it_sent() -> None:
    model, state = asked("kill")
    assert faults(model, state) == [Move("kill", 1), Move("kill", 2)]  # the broker has no fallback
    state = went(model, state, "take")
    down = next(move for move in model.moves(state) if move.kind == "take" and move.how == DOWN)
    state, _ = model.apply(state, down)
    who = model.wire(state, down.at).seat
    assert [move.how for move in faults(model, state) if move.at == who] == [0, 1]


def test_a_broker_of_a_pair_may_be_killed() -> None:
    model, state = asked("kill", pair=True)
    assert {move.at for move in faults(model, state)} == {0, 1, 2, 3}


def test_who_is_stopped_does_nothing_and_then_goes_on() -> None:
    model, state = asked("freeze")
    state, _ = apply(model, state, Move("freeze", 0))
    assert model.moves(state)[0].kind == "tick"
    for _ in range(200):
        if not model.seat(state, 0).frozen:
            break
        model.horizon = float("inf")
        state, wrong = model.apply(state, model.moves(state)[0])
        assert not wrong
    assert not model.seat(state, 0).frozen


def test_nothing_passes_a_cut_line() -> None:
    model, state = asked("cut")
    client = model.clients[0]
    state, _ = apply(model, state, Move("cut", client))
    assert state.cut == Cut(client, state.now + model.scene.outage)
    assert not [move for move in model.moves(state) if move.kind == "take"]


def test_a_clock_jumps() -> None:
    model, state = asked("clock")
    before = model.seat(state, 1).wake
    state, _ = apply(model, state, Move("clock", 1))
    assert model.seat(state, 1).wake == before - model.scene.outage


def test_ways_to_spoil() -> None:
    message = (b"", b"abcd", b"x")
    found = [spoilt(message, how) for how in range(6)]
    assert found[0] == (b"", b"ab", b"x") and found[3] == (b"", b"abcd", b"")
    assert len(set(found)) == 6 and message not in found
