"""Wires behave as sockets do."""

from __future__ import annotations

from engine.core import MAIN, Ordered, Started
from engine.parts.orders import Drain
from engine.sim.explore.model import Model
from engine.sim.explore.moves import DOWN, UP, Move
from engine.sim.explore.turn import State, Turn, is_told
from tests.engine.sim.explore.scenes import begun, went


def turn_of(model: Model, state: State) -> Turn:
    return Turn(model.world, state)


def places(turn: Turn, who: int) -> list[int]:
    return [at for at, wire in enumerate(turn.wires) if wire.seat == who]


def test_the_end_of_a_peer_is_heard_behind_what_it_sent() -> None:
    model, state = begun()
    state = went(model, state, "ask")
    client = model.clients[0]
    turn = turn_of(model, state)
    sent = turn.wires[places(turn, client)[0]].up
    assert len(sent) == 2
    turn.leave(client)
    assert turn.wires[places(turn, client)[0]].up == (*sent, None) and turn.seat(client).part is None
    turn = turn_of(model, state)
    turn.leave(client, lost=1)
    assert turn.wires[places(turn, client)[0]].up == (sent[0], None)


def test_a_broker_that_ends_is_heard_and_its_peers_connect_again() -> None:
    model, state = begun()
    turn = turn_of(model, state)
    turn.leave(0)
    assert all(wire.down == (None,) and not wire.up for wire in turn.wires)
    worker = model.workers[0]
    turn.take(places(turn, worker)[0], up=False)
    (at,) = places(turn, worker)
    assert not turn.wires[at].stands
    assert not [move for move in model.moves(turn.state()) if move.kind == "connect"]  # nobody is there
    turn.enter(0, model.renewed(0), Started())
    (at,) = places(turn, worker)
    assert Move("connect", at) in model.moves(turn.state())
    turn.connect(at)
    assert turn.wires[at].stands and turn.wires[at].far == 0 and not turn.wrong


def test_the_newer_of_two_connections_of_one_id_is_heard() -> None:
    model, state = begun()
    turn = turn_of(model, state)
    worker = model.workers[0]
    (at,) = places(turn, worker)
    wire = turn.wires[at]
    turn.wires.append(wire._replace(stands=False, far=-1, port="", known=False))
    turn.connect(len(turn.wires) - 1)
    assert turn.wires[at].deaf and turn.wires[-1].stands and not turn.wires[-1].deaf
    state = turn.state()
    assert not [move for move in model.moves(state) if move == Move("take", at, UP)]


def test_a_message_to_somebody_who_is_gone_is_refused_once_that_is_known() -> None:
    model, state = begun()
    worker = model.workers[0]
    turn = turn_of(model, state)
    turn.leave(worker)
    (at,) = places(turn, worker)
    turn.take(at, up=True)
    assert not places(turn, worker) and not turn.wrong
    turn.give(0, Ordered(Drain(model.keys[worker])))  # its goodbye can not be sent
    assert not places(turn, worker) and not turn.wrong
    assert model.keys[worker] not in [row.key for row in model.picture(turn.state(), 0).workers if row.state == "ready"]


def test_inproc_tells_nothing() -> None:
    model, state = begun()
    wire = model.wire(state, 0)
    assert is_told(wire) and not is_told(wire._replace(endpoint="inproc://x"))


def test_ways_of_a_wire() -> None:
    model, state = begun()
    state = went(model, state, "ask", "take")
    found = [move for move in model.moves(state) if move.kind == "take"]
    assert {move.how for move in found} == {UP, DOWN}
    assert model.wire(state, found[0].at).socket == MAIN
