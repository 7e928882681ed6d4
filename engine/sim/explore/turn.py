"""One move, carried out: events to cores, and their commands on seats and wires.

The rules of this file:

- Sockets behave as in ``engine.sim.wire``: a wire keeps the order of its messages; of two wires of one routing id the
  newer is heard, the older is deaf and not told; a close is heard behind everything that was sent; whoever connected
  tries again. Only the times that connecting takes are nobody's, and no queue is ever full.
- A refused send comes back to its core at once, before anything else happens.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from engine.core import (
    Cancel,
    Command,
    Connected,
    Disconnected,
    Event,
    Exit,
    Finished,
    Received,
    Reopen,
    Send,
    Socket,
    Start,
    Unsent,
)
from engine.parts.explain import Role
from engine.sim.explore.seats import Kept, Message, Part, Parts, Seat, Wire

Watch = Callable[[float, int, Event, Sequence[Command]], None]
"""Told of every event of every core: its own clock, whose, the event, and the commands that came of it."""

Gone = Callable[[int, bool], None]
"""Told who is gone without a word, and whether it begins anew."""


class Cut(NamedTuple):
    """Nothing passes between a peer and its broker until then."""

    seat: int
    until: float


class State(NamedTuple):
    """Everything that there is at one moment. ``seats`` and ``wires``: numbers of what the world keeps."""

    now: float
    left: int  # faults that may still happen
    owed: int  # wake-ups that came while something was under way
    asks: int  # clients that were not told yet what to ask, a bit each
    cut: Cut | None
    seats: tuple[int, ...]
    wires: tuple[int, ...]


class Place(NamedTuple):
    """What is fixed for a seat: its name and its sockets."""

    name: str
    role: Role
    sockets: dict[str, Socket]


class World:
    """What all states of a scene have in common."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.places: list[Place] = []
        self.bound: dict[str, tuple[int, str]] = {}  # endpoint → whose, and which socket
        self.seats: Kept[Seat] = Kept()
        self.wires: Kept[Wire] = Kept()
        self.watch: Watch | None = None
        self.gone: Gone | None = None

    def sit(self, name: str, role: Role, sockets: Sequence[Socket]) -> int:
        """Give a seat its place; returns its number."""
        self.places.append(Place(name, role, {socket.name: socket for socket in sockets}))
        who = len(self.places) - 1
        for socket in sockets:
            assert len(socket.connect) < 2, "the model knows sockets of one connection"
            self.bound.update(dict.fromkeys(socket.bind, (who, socket.name)))
        return who


def is_told(wire: Wire) -> bool:
    """Whether cores hear of its coming and going: inproc tells nothing."""
    return not wire.endpoint.startswith("inproc://")


def _place(wire: Wire) -> tuple[int, str]:
    return wire.seat, wire.socket


class Turn:
    """A state that is being changed. ``wrong``: what a core or a check found, in words; empty for nothing."""

    def __init__(self, world: World, state: State) -> None:
        self._world, self._all = world, world.wires.values
        self.now, self.left, self.owed, self.asks, self.cut = state[:5]
        self.seats, self.wires = list(state.seats), [self._all[number] for number in state.wires]
        self.wrong = ""
        self._plugged = False

    def state(self) -> State:
        """What came of it."""
        number = self._world.wires.number
        if self._plugged:
            self.wires.sort(key=_place)  # whoever opened first
        wires = tuple([number(wire) for wire in self.wires])
        return State(self.now, self.left, self.owed, self.asks, self.cut, tuple(self.seats), wires)

    # ---- cores ------------------------------------------------------------------------------------------------------

    def seat(self, who: int) -> Seat:
        """A seat as it is now."""
        return self._world.seats.values[self.seats[who]]

    def put(self, who: int, seat: Seat) -> None:
        """Change a seat."""
        self.seats[who] = self._world.seats.number(seat)

    def give(self, who: int, *events: Event) -> None:
        """Events to a core, one after the other."""
        waiting = list(events)
        parts, watch = self._world.parts, self._world.watch
        while waiting:
            event = waiting.pop(0)
            seat = self.seat(who)
            if seat.part is None:
                return
            step = parts.step(seat.part, event, self.now + seat.offset)
            if watch is not None:
                watch(self.now + seat.offset, who, event, step.commands)
            if step.wrong:
                self.wrong = self.wrong or f"{self._world.places[who].name}: {step.wrong}"
            self.put(who, seat._replace(part=step.part))
            waiting = self._perform(who, step.commands) + waiting

    def finish(self, who: int, which: int) -> None:
        """A task body ends."""
        seat = self.seat(who)
        key, ok = seat.bodies[which]
        self.put(who, seat._replace(bodies=seat.bodies[:which] + seat.bodies[which + 1 :]))
        self.give(who, Finished(key, ok, b""))

    def _perform(self, who: int, commands: Sequence[Command]) -> list[Event]:
        refused: list[Event] = []
        for command in commands:
            match command:
                case Send(frames, socket):
                    if not self._send(who, tuple(frames), socket):
                        refused.append(Unsent(frames, "unreachable", socket))
                case Start(key):
                    self._body(who, key, True)
                case Cancel(key):
                    if any(one == key for one, _ in self.seat(who).bodies):
                        self._body(who, key, False)
                case Reopen(socket, routing_id, endpoint):
                    self._reopen(who, socket, routing_id, endpoint)
                case Exit():
                    self.leave(who)
                    return []
        return refused

    def _body(self, who: int, key: Hashable, ok: bool) -> None:
        seat = self.seat(who)
        others = tuple(body for body in seat.bodies if body[0] != key)
        self.put(who, seat._replace(bodies=(*others, (key, ok))))

    # ---- sending ----------------------------------------------------------------------------------------------------

    def _send(self, who: int, frames: Message, socket: str) -> bool:
        if self._world.places[who].sockets[socket].kind == "dealer":
            at = self._own(who, socket)
            wire = self.wires[at]
            if not wire.deaf and wire.down[-1:] != (None,):
                self.wires[at] = wire._replace(up=(*wire.up, frames))
            return True
        for at, wire in enumerate(self.wires):
            if wire.stands and wire.far == who and wire.port == socket and wire.key == frames[0] and not wire.deaf:
                if wire.down[-1:] == (None,):
                    continue
                if wire.up[-1:] != (None,):
                    self.wires[at] = wire._replace(down=(*wire.down, frames[1:]))
                return True
        return False

    def _own(self, who: int, socket: str) -> int:
        """Where the wire of a peer's socket is that it has not closed."""
        for at, wire in enumerate(self.wires):
            if wire.seat == who and wire.socket == socket and wire.up[-1:] != (None,):
                return at
        raise AssertionError(f"{self._world.places[who].name} has no connection, made or in the making")

    # ---- arriving ---------------------------------------------------------------------------------------------------

    def take(self, at: int, up: bool) -> None:
        """What is first on a wire arrives."""
        wire = self.wires[at]
        if up:
            message, rest = wire.up[0], wire.up[1:]
            if message is None:
                del self.wires[at]
                if wire.known:
                    self.give(wire.far, Disconnected(wire.port, wire.key))
                return
            news = not wire.known and is_told(wire)
            self.wires[at] = wire._replace(up=rest, known=wire.known or news)
            told: list[Event] = [Connected(wire.port, wire.key)] if news else []
            self.give(wire.far, *told, Received([[wire.key, *message]], wire.port))
            return
        message, rest = wire.down[0], wire.down[1:]
        if message is None:
            del self.wires[at]
            self.plug(wire.seat, wire.socket, wire.key, wire.endpoint)
            if is_told(wire):
                self.give(wire.seat, Disconnected(wire.socket))
            return
        self.wires[at] = wire._replace(down=rest)
        self.give(wire.seat, Received([list(message)], wire.socket))

    # ---- connections ------------------------------------------------------------------------------------------------

    def plug(self, who: int, socket: str, key: bytes, endpoint: str) -> None:
        """A peer's socket begins to connect."""
        self._plugged = True
        self.wires.append(Wire(who, socket, endpoint, key))

    def connect(self, at: int) -> None:
        """A connection that a peer asked for stands now."""
        wire = self.wires[at]
        far, port = self._world.bound[wire.endpoint]
        self.wires[at] = wire = wire._replace(stands=True, far=far, port=port)
        for other, older in enumerate(self.wires):
            if other != at and older.stands and (older.far, older.port, older.key) == (far, port, wire.key):
                if older.down[-1:] == (None,) or older.deaf:
                    continue
                if older.up[-1:] == (None,):
                    del self.wires[other]
                else:
                    self.wires[other] = older._replace(deaf=True, up=())
                break
        if is_told(wire):
            self.give(wire.seat, Connected(wire.socket))

    def _reopen(self, who: int, socket: str, routing_id: bytes | None, endpoint: str | None) -> None:
        at = self._own(who, socket)
        wire = self.wires[at]
        self._close(at)
        self.plug(who, socket, wire.key if routing_id is None else routing_id, endpoint or wire.endpoint)

    def _close(self, at: int) -> None:
        """The peer's side ends; the broker hears of it behind everything that was sent."""
        wire = self.wires[at]
        if wire.stands and not wire.deaf and wire.down[-1:] != (None,):
            self.wires[at] = wire._replace(up=(*wire.up, None), down=())
        else:
            del self.wires[at]

    def leave(self, who: int, lost: int = 0) -> None:
        """A process is gone. ``lost``: so many of the last messages on each of its wires never left it."""
        self.put(who, Seat(None))
        for at in reversed(range(len(self.wires))):
            wire = self.wires[at]
            if wire.seat == who and wire.up[-1:] != (None,):
                if wire.stands:
                    self.wires[at] = wire._replace(up=wire.up[: max(0, len(wire.up) - lost)])
                self._close(at)
            elif wire.stands and wire.far == who and wire.down[-1:] != (None,):
                if wire.up[-1:] == (None,):
                    del self.wires[at]
                else:
                    down = wire.down[: max(0, len(wire.down) - lost)]
                    self.wires[at] = wire._replace(up=(), down=(*down, None), known=False)

    def enter(self, who: int, part: Part, event: Event) -> None:
        """A process begins: its sockets open, its core starts."""
        self.put(who, Seat(part))
        for name, socket in self._world.places[who].sockets.items():
            for endpoint in socket.connect:
                self.plug(who, name, socket.routing_id, endpoint)
        self.give(who, event)
