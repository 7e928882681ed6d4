"""What can happen next in a state, and what comes of it.

The rules of this file:

- What can happen: the first message of any wire arrives, a connection is made, a core whose deadline has come is
  woken, a task body ends, a client is told what to ask, and the clock goes on to the next deadline. Anything may come
  first.
- Nothing takes time but waiting: the clock stands while a core's deadline has come. It goes on while something is under
  way ``Bounds.late`` times at most, until all of it has arrived.
- A fault may happen at any moment, as long as ``left`` says that one may.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.core import NEVER, Ordered, Paused, Started, Woken
from engine.core import Seat as Seated
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Role
from engine.sim.explore.fingerprint import Copier
from engine.sim.explore.moves import DOWN, UP, Move
from engine.sim.explore.properties import LOOSE, Constant, Observed, Rules
from engine.sim.explore.scene import Scene
from engine.sim.explore.seats import Part, Parts, Seat, Wire
from engine.sim.explore.turn import State, Turn, World

BEGAN = 1_780_000_000.0  # wall clock at virtual time 0
START = 1024.0  # virtual time at which everybody opens
PAUSE = 2.0  # seconds of not being run that a core is told of, as in the driver
OPENING = 2_000  # moves within which everybody has joined
SECOND = 10  # how far the port of a second broker is from the first's


def settled(scene: Scene) -> tuple[Any, list[str]]:
    """The options of all cores, and where brokers are bound."""
    system, first = scene.system, scene.system.endpoint
    if not scene.pair:
        return scene.settings, [first]
    assert system.paired is not None, f"{system.name} knows no pairs"
    host, _, port = first.rpartition(":")
    second = f"{host}:{int(port) + SECOND}"
    return system.paired(scene.settings, first, second), [first, second]


class Model:
    """A scene that can be walked. ``names``: of the seats, brokers first."""

    def __init__(self, scene: Scene, parts: Parts | None = None) -> None:
        self.scene = scene
        self.options, self.endpoints = settled(scene)
        explored = scene.system.explored
        loose = LOOSE if scene.faults else {}
        self.copier = Copier(self.options, {**explored.ignored, **loose}, explored.unordered)
        self.parts = Parts(self.copier, self.asked) if parts is None else parts
        self.world = World(self.parts)
        self.shared = parts is None
        self._rules = Constant(None)
        self.made: list[tuple[str, Role, list[Any], dict[str, Any]]] = []  # name, role, arguments of the maker
        self.seats: list[Seated] = []  # as they were made
        self.fresh: list[Part] = []
        self._seat_all()
        self.brokers = [who for who, place in enumerate(self.world.places) if place.role == "broker"]
        self.workers = [who for who, place in enumerate(self.world.places) if place.role == "worker"]
        self.clients = [who for who, place in enumerate(self.world.places) if place.role == "client"]
        self.names = [place.name for place in self.world.places]
        self.keys = [next(iter(place.sockets.values())).routing_id for place in self.world.places]
        keys, own = tuple(self.keys[who] for who in self.workers), scene.system.explored
        twice = "duplicate" in scene.faults
        self._rules.value = Rules(scene.system.explain, not scene.faults, not scene.pair, twice, keys, own)
        self.horizon = NEVER
        self.opening: list[Move] = []

    # ---- the beginning ----------------------------------------------------------------------------------------------

    def _seat_all(self) -> None:
        scene = self.scene
        for name, endpoint in zip(("broker", "fallback"), self.endpoints, strict=False):
            self._make(name, "broker", [[endpoint]])
        for number in range(1, scene.workers + 1):
            self._make(f"worker-{number}", "worker", [self.endpoints[0], number, scene.slots])
        for number in range(1, scene.clients + 1):
            name = "client" if number == 1 else f"client-{number}"
            self._make(name, "client", [self.endpoints[0], 100 + number])

    def _make(self, name: str, role: Role, args: list[Any]) -> None:
        world: dict[str, Any] = {"wall_offset": BEGAN} if self.scene.system.wall else {}
        if world and role != "broker":
            world["saved"] = None
        self.made.append((name, role, args, world))
        seat = self._seated(role, args, world)
        self.world.sit(name, role, seat.sockets)
        self.seats.append(seat)
        self.fresh.append(self.parts.part(seat.core))

    def renewed(self, who: int) -> Part:
        """A core that knows nothing, in place of one that is gone."""
        if self.shared:
            return self.fresh[who]
        _, role, args, world = self.made[who]
        self.seats[who] = self._seated(role, args, world)
        return self.parts.part(self.seats[who].core)

    def _seated(self, role: Role, args: list[Any], world: dict[str, Any]) -> Seated:
        """A core as its maker makes it; a broker's with a witness."""
        seat: Seated = getattr(self.scene.system, role)(self.options, *args, **world)
        return seat if role != "broker" else replace(seat, core=Observed(seat.core, self._rules))

    def asked(self, core: Any) -> str:
        """What a system finds wrong with its broker; empty for nothing."""
        return self.scene.system.explored.wrong(core.core) if type(core) is Observed else ""

    def told_gone(self, who: int, again: bool) -> None:
        """Tell whoever watches."""
        if self.world.gone is not None:
            self.world.gone(who, again)

    def begin(self) -> State:
        """Everybody has joined and nothing is under way; the horizon counts from here."""
        places = self.world.places
        empty = tuple([self.world.seats.number(Seat(None))] * len(places))
        turn = Turn(self.world, State(START, 0, 0, 0, None, empty, ()))
        for who in range(len(places)):
            turn.enter(who, self.fresh[who], Started())
        state, self.opening = turn.state(), []
        for _ in range(OPENING):
            moves = self.moves(state)
            if moves[0].kind == "tick" and self._joined(state):
                break
            self.opening.append(moves[0])
            state, wrong = self.apply(state, moves[0])
            assert not wrong, wrong
        else:
            raise AssertionError("not everybody has joined")
        self.horizon = state.now + self.scene.bounds.rounds * self.scene.heartbeat
        return state._replace(left=self.scene.most if self.scene.faults else 0, asks=(1 << len(self.clients)) - 1)

    def _joined(self, state: State) -> bool:
        workers = (self.picture(state, who) for who in self.workers)
        clients = (self.picture(state, who) for who in self.clients)
        return all(view.joined for view in workers) and all(view.linked for view in clients)

    def seat(self, state: State, who: int) -> Seat:
        """A seat of a state."""
        return self.world.seats.values[state.seats[who]]

    def wire(self, state: State, at: int) -> Wire:
        """A wire of a state."""
        return self.world.wires.values[state.wires[at]]

    def doubled(self, state: State) -> str:
        """Of a pair: what is wrong where both brokers serve; empty for nothing. One that is stopped serves nobody."""
        if len(self.brokers) < 2:
            return ""
        seats = [self.seat(state, who) for who in self.brokers]
        pictures = [self.parts.picture(one.part, state.now) for one in seats if one.part is not None and not one.frozen]
        return "both brokers of the pair serve" if sum(view.serving for view in pictures) > 1 else ""

    def name_of(self, key: bytes) -> str:
        """Whose routing id that was at first."""
        return self.names[self.keys.index(key)] if key in self.keys else key.decode("latin-1")

    def picture(self, state: State, who: int) -> Any:
        """What a core shows; None where it is gone."""
        part = self.seat(state, who).part
        return None if part is None else self.parts.picture(part, state.now)

    # ---- what can happen --------------------------------------------------------------------------------------------

    def moves(self, state: State) -> list[Move]:
        """Everything that can happen next, but for faults; in an order that is fair where the first is always taken."""
        seats = [self.world.seats.values[number] for number in state.seats]
        found: list[Move] = []
        cut = -1 if state.cut is None else state.cut.seat
        for at, number in enumerate(state.wires):
            wire = self.world.wires.values[number]
            if wire.seat == cut:
                continue
            if not wire.stands:
                far, _ = self.world.bound.get(wire.endpoint, (-1, ""))
                if far >= 0 and seats[far].part is not None and not seats[far].frozen and not seats[wire.seat].frozen:
                    found.append(Move("connect", at))
                continue
            if wire.up and not wire.deaf and not seats[wire.far].frozen:
                found.append(Move("take", at, UP))
            if wire.down and not seats[wire.seat].frozen:
                found.append(Move("take", at, DOWN))
        busy = bool(found)
        now, due, after = state.now, False, NEVER if state.cut is None else state.cut.until
        for who, seat in enumerate(seats):
            if seat.part is None:
                continue
            if seat.frozen:
                after = min(after, seat.frozen)
                continue
            wake = seat.part.wake - seat.offset
            if wake <= now:
                found.append(Move("wake", who))
                due = True
            elif wake < after:
                after = wake
            found += [Move("end", who, which) for which in range(len(seat.bodies))]
        for which, who in enumerate(self.clients):
            if state.asks >> which & 1 and seats[who].part is not None and not seats[who].frozen:
                found.append(Move("ask", which))
        if not due and after <= self.horizon and (not busy or state.owed < self.scene.bounds.late):
            found.append(Move("tick"))
        return found

    # ---- what comes of it -------------------------------------------------------------------------------------------

    def apply(self, state: State, move: Move) -> tuple[State, str]:
        """The next state, and what is wrong with it; empty for nothing."""
        turn = Turn(self.world, state)
        match move:
            case Move("take", at, way):
                turn.take(at, way == UP)
            case Move("connect", at):
                turn.connect(at)
            case Move("wake", who):
                turn.give(who, Woken())
            case Move("end", who, which):
                turn.finish(who, which)
            case Move("ask", which):
                turn.asks &= ~(1 << which)
                turn.give(self.clients[which], Ordered(self._spec()))
            case Move("tick"):
                self._tick(turn)
            case _:
                raise AssertionError(f"no such move: {move}")
        return self.done(turn)

    def done(self, turn: Turn) -> tuple[State, str]:
        """The state after a move, and what is wrong with it."""
        if turn.owed and not self._busy(turn):
            turn.owed = 0
        state = turn.state()
        return state, turn.wrong or self.doubled(state)

    def _spec(self) -> BulkSpec:
        """What a client is to ask for: all of it at once."""
        scene = self.scene
        return BulkSpec(scene.kind, scene.tasks, 16 if scene.kind == "data" else 0, scene.tasks)

    def _tick(self, turn: Turn) -> None:
        """To the next deadline; who was stopped until then goes on, and a line that was cut is whole again."""
        seats = [turn.seat(who) for who in range(len(turn.seats))]
        times = [seat.frozen or seat.wake for seat in seats if seat.part is not None]
        if turn.cut is not None:
            times.append(turn.cut.until)
        turn.owed += self._busy(turn)
        turn.now = min(times)
        if turn.cut is not None and turn.cut.until <= turn.now:
            turn.cut = None
        for who, seat in enumerate(seats):
            if seat.frozen and seat.frozen <= turn.now:
                turn.put(who, seat._replace(frozen=0.0))
                if self.scene.outage >= PAUSE:
                    turn.give(who, Paused(self.scene.outage))

    def _busy(self, turn: Turn) -> bool:
        """Whether something is under way to somebody who can take it."""
        cut = -1 if turn.cut is None else turn.cut.seat
        for wire in turn.wires:
            if wire.seat == cut:
                continue
            if not wire.stands:
                far, _ = self.world.bound.get(wire.endpoint, (-1, ""))
                if far >= 0 and turn.seat(far).part is not None:
                    return True
            elif (wire.up and not wire.deaf and not turn.seat(wire.far).frozen) or (
                wire.down and not turn.seat(wire.seat).frozen
            ):
                return True
        return False
