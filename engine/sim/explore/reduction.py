"""Orders that make no difference are walked once (partial-order reduction).

What a worker or client does changes its own core, takes from the head of what is under way to it, and adds to the tail
of what is under way from it. Everybody else adds to the tail of the first and takes from the head of the second, so
both orders lead to the same state. The clock waits for it (where ``Bounds.late`` is 0), so nothing that can come before
it could change or prevent it, but for faults. So it is enough to walk, of one such peer, all that it can do now and all
that may befall it: each course of events begins, up to the order of independent ones, with one of these. (A source set
in the words of Abdulla, Aronis, Jonsson and Sagonas, 2014.)

A peer counts only while something is under way to it: else what comes next could be an arrival that is not there yet.
And it counts only while it is connected, and no fault of a kind may come that empties what is under way to it or holds
it back: a cut, or the end of a broker. What each core goes through is the same with and without; a test compares.
"""

from __future__ import annotations

from engine.sim.explore.faults import faults
from engine.sim.explore.model import Model
from engine.sim.explore.moves import DOWN, Move
from engine.sim.explore.turn import State

ALONE = ("leave", "clock", "freeze", "kill", "restart", "cut")
"""Faults that ``Move.at`` says the seat of."""


def everything(model: Model, state: State) -> list[Move]:
    """What can happen next and what may go wrong, but for orders that make no difference."""
    found = model.moves(state)
    return reduced(model, state, found + faults(model, state) if state.left and found else found)


def is_sound(model: Model, state: State) -> bool:
    """Whether there may be less than all orders from this state on."""
    scene = model.scene
    if not scene.reduce or scene.bounds.late:
        return False
    reaching = {"cut", "restart"} | ({"kill"} if len(model.brokers) > 1 else set())
    return not (state.left and reaching.intersection(scene.faults))


def reduced(model: Model, state: State, moves: list[Move]) -> list[Move]:
    """Of all moves those of one peer, where that is enough."""
    if len(moves) < 2 or not is_sound(model, state):
        return moves
    connecting = {wire.seat for wire in (model.wire(state, at) for at in range(len(state.wires))) if not wire.stands}
    for move in moves:
        who = _peer(model, state, move)
        if who is not None and who not in connecting and move.kind == "take":
            return [other for other in moves if _peer(model, state, other) == who]
    return moves


def _peer(model: Model, state: State, move: Move) -> int | None:
    """The worker or client that a move is of, or is done to; None for what touches a broker."""
    kind, at, how = move
    if kind in ("take", "lose", "duplicate", "spoil"):
        who = model.wire(state, at).seat if how % 2 == DOWN else -1
    elif kind == "ask":
        who = model.clients[at]
    elif kind in ("wake", "end", *ALONE):
        who = at
    else:
        return None
    return who if who >= 0 and who not in model.brokers else None
