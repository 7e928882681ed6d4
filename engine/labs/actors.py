"""The actors of a sandbox: the seats of one system in a simulated world, and who watches them.

The rules of this file:

- Seats are ``broker``, ``client``, ``worker-N`` and ``twin-N``; with a second broker in the options also ``fallback``.
  Workers sit at the node ``pool``, everybody else at one of their own name; a core of no system is a ``stranger``.
- Does what a driver does: notes become events, what cores save is kept as long as the sandbox lives, and journal, taps
  and traces are shown every event.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from engine.core import Command, Event, Exit, Note, Save, Seat
from engine.drive.node import Tap
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.write import Journal
from engine.labs.brokers import inner
from engine.labs.virtualclock import VirtualClock
from engine.parts.explain import Role
from engine.parts.plain import called
from engine.parts.promise import Observation
from engine.parts.view import BrokerView, ClientView
from engine.sim.world import World
from engine.system import System
from engine.tracing.trace import Trace

NONCES = 1_000_000  # of whom there is nobody else in a sandbox


class Actors(VirtualClock):
    """``began``: wall clock at virtual time 0."""

    def __init__(self, system: System, options: Any, seed: int, began: float) -> None:
        super().__init__()
        self.system = system
        self.options = system.options() if options is None else options
        self.endpoints: tuple[str, ...] = (system.endpoint,)  # the workers' first, the client's last
        if system.orders is not None and system.paired is None:  # a pair is found where others find it too
            self.endpoints = (system.endpoint, inner(system))
        self.began = began
        self.world = World(seed)
        self.feed = Feed()
        self.taps: tuple[Tap, ...] = ()  # told what each seat's own clock shows; replace it whole
        self._traces: list[Trace] = []
        self._journal: Journal | None = None
        self._random = Random(seed)
        self._nonces: set[int] = set()
        self._saved: bytes | None = None
        self._seats: dict[str, Seat] = {}  # by name, whoever sits or sat there last
        self._nodes: dict[str, str] = {}
        self._made: dict[str, tuple[Role, list[Any]]] = {}  # what its maker was given
        self.world.watchers.append(self._watch)

    # ---- watching ---------------------------------------------------------------------------------------------------

    def attach(self, trace: Trace) -> None:
        """Attach a trace: it is told the seats, and shown all events from now on."""
        for name in self.world.names:
            self._announce(trace, name)
        self._traces.append(trace)
        self.taps = (*self.taps, trace.tap)

    def detach(self, trace: Trace) -> None:
        """Detach a trace."""
        self._traces.remove(trace)
        self.taps = tuple(tap for tap in self.taps if tap != trace.tap)

    def sight(self) -> Observation:
        """The observation of this moment, for promises."""
        serving = tuple(name for name in self._brokers() if self._serves(name))
        broker: BrokerView | None = self._snapshot(serving[0]) if serving else None
        client = self.client_view() if "client" in self.world.names else None
        return Observation(self.now, broker, client, serving)

    def client_view(self) -> ClientView:
        """The client as it is now. Refused where it has left."""
        if "client" not in self.world.names:
            raise Refused("the client has left")
        view: ClientView = self._snapshot("client")
        return view

    # ---- who is here ------------------------------------------------------------------------------------------------

    def server(self) -> str:
        """The seat of the broker that serves; where none does, of the first that lives. Refused where all are dead."""
        alive = self._brokers()
        if not alive:
            raise Refused("no broker is alive")
        return next(filter(self._serves, alive), alive[0])

    def workers(self) -> dict[str, bytes]:
        """The routing ids of the living workers, twins among them, by seat."""
        return {name: self.key(name) for name in self.world.names if self._nodes[name] == "pool"}

    def key(self, name: str) -> bytes:
        """The routing id of a seat that was ever taken, as its core has renamed it. KeyError for another."""
        sockets = self.world.sockets(name) if name in self.world.names else self._seats[name].sockets
        return sockets[0].routing_id

    def order(self, name: str, order: object) -> None:
        """Give an order to one core, which takes it when time goes on; ignored if the core is gone."""
        if name in self.world.names:
            self.world.order(name, order)

    def kill(self, name: str) -> None:
        """End a seat as if its process had died. KeyError for one that is dead."""
        self.world.crash(name)
        if self._journal is not None:
            self._journal.left(self._nodes[name], name)
        for trace in self._traces:
            trace.left(self._nodes[name], name)

    def restart(self, name: str) -> None:
        """Kill a seat and start it again with an empty memory."""
        if name in self.world.names:
            self.kill(name)
        self._seat(name, *self._made[name])

    def twin(self, name: str) -> str:
        """Seat one more worker under the routing id of another; returns its seat."""
        other = f"twin-{sum(seat.startswith('twin-') for seat in self._made) + 1}"
        self._seat(other, *self._made[name])
        return other

    def add(self, name: str, seat: Seat, node: str = "stranger") -> None:
        """Seat a core, of no system where no node is named."""
        self._nodes[name], self._seats[name] = node, seat
        for trace in self._traces:
            self._announce(trace, name)
        self.world.add(name, seat)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _brokers(self) -> list[str]:
        return [name for name in ("broker", "fallback") if name in self.world.names]

    def _serves(self, name: str) -> bool:
        """A broker without a second always does; of a pair, one that is stopped does not."""
        return not self.system.fallback(self.options) or (self.world.core(name).serving and not self.world.frozen(name))

    def _snapshot(self, name: str) -> Any:
        return self.world.core(name).snapshot(self.world.clock(name))

    def _seat(self, name: str, role: Role, args: list[Any]) -> None:
        self.add(name, self._make(name, role, args), "pool" if role == "worker" else name)

    def _make(self, name: str, role: Role, args: list[Any]) -> Seat:
        world: dict[str, Any] = {"wall_offset": self.began} if self.system.wall else {}
        if world and role != "broker":
            world["saved"] = self._saved
        self._made[name] = (role, args)
        if self._journal is not None:
            self._journal.seated("pool" if role == "worker" else name, name, role, args, world)
        seat: Seat = getattr(self.system, role)(self.options, *args, **world)
        return seat

    def _announce(self, trace: Trace, name: str) -> None:
        role = self._made[name][0] if name in self._made else "worker"  # a stranger speaks as workers do
        trace.seated(self._nodes[name], name, role, self._seats[name])

    def _nonce(self) -> int:
        while (nonce := self._random.randint(1, NONCES)) in self._nonces:
            pass
        self._nonces.add(nonce)
        return nonce

    def _record(self, path: Path) -> None:
        """Keep a journal from now on. Raises Refused where none can be written."""
        try:
            self._journal = Journal(path, self.system, self.options, self._say, clock=lambda: self.now)
        except OSError as error:
            raise Refused(f"no journal can be written there: {error}") from None

    def _watch(self, _at: float, name: str, event: Event, commands: list[Command]) -> None:
        """One event of one core, as the world tells it."""
        node = self._nodes[name]
        now = self.world.clock(name)
        if self._journal is not None:
            self._journal.tap(node, name, now, event, commands)
        for tap in self.taps:
            tap(node, name, now, event, commands)
        for command in commands:
            match command:
                case Note():
                    self._say(command, node)
                case Exit(reason, failed) if failed or node != "pool":  # who leaves the broker is told of by the broker
                    self._say(Note("bad" if failed else "info", f"{called(name)} left: {reason}"), node)
                case Save(_, content):
                    self._saved = content
