"""What may go wrong at any moment: each kind, in each way in which it can.

The rules of this file:

- The first message of a wire is lost, comes twice, or is spoilt: a later one is the first some moves on.
- Who is killed loses none of what it has sent, or some of the last of it, up to all.
- Whose deed a fault is, is told by ``seat_of``: all it touches is that seat, its own clock and its wires.
"""

from __future__ import annotations

from engine.core import Ordered, Started
from engine.parts.orders import Drain, Leave
from engine.sim.explore.model import Model
from engine.sim.explore.moves import DOWN, FAULTS, UP, Move
from engine.sim.explore.seats import Message, Seat, Wire
from engine.sim.explore.turn import Cut, State, Turn

WAYS = 3  # in which one frame is spoilt


def faults(model: Model, state: State) -> list[Move]:
    """Everything that may go wrong now."""
    found: list[Move] = []
    for kind in model.scene.faults:
        if kind in ("lose", "duplicate", "spoil"):
            found += _noise(model, state, kind)
        elif kind in ("kill", "restart"):
            found += _ends(model, state, kind)
        else:
            found += _others(model, state, kind)
    return found


def apply(model: Model, state: State, move: Move) -> tuple[State, str]:
    """The next state after any move, and what is wrong with it; empty for nothing."""
    if move.kind not in FAULTS:
        return model.apply(state, move)
    turn = Turn(model.world, state)
    strike(model, turn, move)
    return model.done(turn)


def strike(model: Model, turn: Turn, move: Move) -> None:
    """Let something go wrong."""
    turn.left -= 1
    kind, at, how = move
    match kind:
        case "lose" | "duplicate" | "spoil":
            _spoil(turn, kind, at, how)
        case "kill":
            turn.leave(at, how)
            model.told_gone(at, False)
        case "restart":
            turn.leave(at, how)
            model.told_gone(at, True)
            turn.enter(at, model.renewed(at), Started())
        case "freeze":
            turn.put(at, turn.seat(at)._replace(frozen=turn.now + model.scene.outage))
        case "cut":
            turn.cut = Cut(at, turn.now + model.scene.outage)
        case "clock":
            seat = turn.seat(at)
            turn.put(at, seat._replace(offset=seat.offset + model.scene.outage))
        case "leave":
            turn.give(at, Ordered(Leave()))
        case "drain":
            turn.give(at, Ordered(Drain(model.keys[how])))
        case _:
            raise AssertionError(f"no such move: {move}")


def _noise(model: Model, state: State, kind: str) -> list[Move]:
    """``how``: the way of the wire, and behind it what becomes of the message."""
    found = []
    for at in range(len(state.wires)):
        wire = model.wire(state, at)
        if not wire.stands:
            continue
        for way, queue in ((UP, wire.up), (DOWN, wire.down)):
            if queue and queue[0] is not None and not (way == UP and wire.deaf):
                ways = [way + 2 * n for n in range(_ways(queue[0]))] if kind == "spoil" else [way]
                found += [Move(kind, at, how) for how in ways]
    return found


def _ends(model: Model, state: State, kind: str) -> list[Move]:
    """``how``: how many of the last messages on each wire are lost with it."""
    several = len(model.brokers) > 1
    mortal = [*model.workers, *(model.brokers if several or kind == "restart" else ())]
    found = []
    for who in mortal:
        if model.seat(state, who).part is None:
            continue
        under_way = 0
        for at in range(len(state.wires)):
            wire = model.wire(state, at)
            if wire.stands and who in (wire.seat, wire.far):
                under_way = max(under_way, len(wire.up if wire.seat == who else wire.down))
        found += [Move(kind, who, lost) for lost in range(under_way + 1)]
    return found


def _others(model: Model, state: State, kind: str) -> list[Move]:
    alive = [who for who in range(len(state.seats)) if _runs(model.seat(state, who))]
    workers = [who for who in model.workers if who in alive]
    if kind == "leave":
        return [Move(kind, who) for who in workers]
    if kind == "drain":
        return [Move(kind, who, worker) for who in model.brokers[:1] if who in alive for worker in model.workers]
    if kind == "cut":
        return [Move(kind, who) for who in (*model.workers, *model.clients) if who in alive]
    return [Move(kind, who) for who in (*model.brokers, *model.workers) if who in alive]


def _runs(seat: Seat) -> bool:
    return seat.part is not None and not seat.frozen


def _ways(message: Message) -> int:
    return WAYS * sum(map(bool, message))


def _spoil(turn: Turn, kind: str, at: int, how: int) -> None:
    wire = turn.wires[at]
    way, queue = (UP, wire.up) if how % 2 == UP else (DOWN, wire.down)
    first = queue[0]
    assert first is not None
    rest: tuple[Message | None, ...]
    match kind:
        case "lose":
            rest = queue[1:]
        case "duplicate":
            rest = (first, *queue)
        case _:
            rest = (spoilt(first, how // 2), *queue[1:])
    turn.wires[at] = _with(wire, way, rest)


def _with(wire: Wire, way: int, queue: tuple[Message | None, ...]) -> Wire:
    return wire._replace(up=queue) if way == UP else wire._replace(down=queue)


def spoilt(message: Message, how: int) -> Message:
    """One frame that holds something is cut in half, or its first or last bit is wrong."""
    full = [place for place, frame in enumerate(message) if frame]
    place, way = full[how // WAYS], how % WAYS
    frame = message[place]
    if way == 0:
        wrong = frame[: len(frame) // 2]
    elif way == 1:
        wrong = bytes([frame[0] ^ 0x80]) + frame[1:]
    else:
        wrong = frame[:-1] + bytes([frame[-1] ^ 1])
    return (*message[:place], wrong, *message[place + 1 :])
