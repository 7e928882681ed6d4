"""Any number of seats on one agenda: the same cores as on real sockets, under a virtual clock and seeded faults.

The rules of this file:

- Nothing happens by itself: one seed and the same calls give the same history to the last byte.
- A core meets here what it meets on ``engine.drive``: batches, refused sends that come back at once, wake-ups that
  are early because a deadline has moved, one ``Finished`` for every ``Start``.
- After every event the core that took it is checked, then every invariant of the test.

Faults may be called between runs, or entered beforehand: ``world.after(5.0, world.crash, "w1")``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, NamedTuple

from engine.core import (
    NEVER,
    Cancel,
    Command,
    Core,
    Event,
    Exit,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Seat,
    Send,
    Socket,
    Start,
    Started,
    Store,
    Stored,
    Unsent,
    Unstored,
    Woken,
)
from engine.journal.codec import kept
from engine.parts.store import Memory, Unavailable
from engine.sim.agenda import Agenda
from engine.sim.wire import Change, Host, Link, Port, Wires

NOTES = 10_000  # newest notes that are kept
PAUSE = 2.0  # seconds of not being run that a core is told of, as in the driver
COMMIT = 0.002  # seconds that a store takes
SPINS = 1_000  # wake-ups of one core at one moment: more is a core that asks for the past for ever


class Outcome(NamedTuple):
    """How a task body ends, and after how many seconds."""

    seconds: float
    ok: bool
    result: bytes


class Said(NamedTuple):
    """A note, when (virtual seconds) and by whom."""

    at: float
    name: str
    note: Note


Bodies = Callable[[str, Start], Outcome]
"""Given the seat's name and its command, how the body ends. It is asked once, when the body starts."""

Watcher = Callable[[float, str, Event, list[Command]], None]
"""Told of every event that a core took: virtual time, seat, event as it was given, the commands that came of it."""


def quick(_name: str, _start: Start) -> Outcome:
    """Bodies that succeed after 10 ms with an empty result."""
    return Outcome(0.01, True, b"")


class _Node(Host):
    """A seat that is taken. Its clock shows ``offset + (virtual - since) * rate``."""

    def __init__(self, name: str, core: Core) -> None:
        super().__init__(name)
        self.core = core
        self.alive = True
        self.ports: dict[str, Port] = {}
        self.armed = NEVER  # local time of the wake-up that stands in the agenda
        self.spins, self.spun_at = 0, -1.0
        self.bodies: dict[object, int] = {}  # key → which ending counts
        self.offset, self.since, self.rate = 0.0, 0.0, 1.0
        self.local = 0.0  # the last time that the core was told

    def clock(self, virtual: float) -> float:
        self.local = max(self.local, self.offset + (virtual - self.since) * self.rate)
        return self.local

    def virtual(self, local: float) -> float:
        return self.since + (local - self.offset) / self.rate


class World:
    """Seats by name, and what befalls them. ``queue`` and ``outbox`` bound messages on a connection and before one."""

    def __init__(
        self, seed: int = 0, *, bodies: Bodies = quick, checks: bool = True, queue: int = 1_000, outbox: int = 1_000
    ) -> None:
        self.notes: deque[Said] = deque(maxlen=NOTES)
        self.exits: dict[str, Exit] = {}
        self.invariants: list[Callable[[World], None]] = []
        self.watchers: list[Watcher] = []
        self.checks = checks
        self.stores: dict[str, Memory] = {}  # by the seat that has asked for one; they outlive its core
        self.acting = ""  # the seat that an event is given to, or was last
        self._bodies = bodies
        self._agenda = Agenda()
        self._wires = Wires(self._agenda, Random(seed), self._deliver, self._change, queue, outbox)
        self._nodes: dict[str, _Node] = {}
        self._tickets = count()

    # ---- seats --------------------------------------------------------------------------------------------------

    def add(self, name: str, seat: Seat) -> None:
        """Open a seat's sockets and start its core, now. A name that is alive is the test's own mistake and raises."""
        assert name not in self._nodes, f"{name} is alive"
        node = self._nodes[name] = _Node(name, seat.core)
        self.exits.pop(name, None)
        if name in self.stores:
            self.stores[name].reopen()
        for spec in seat.sockets:
            node.ports[spec.name] = self._wires.plug(node, spec)
        self.after(0.0, self._give, node, Started())

    def restart(self, name: str, seat: Seat) -> None:
        """Put a new core under the name of one that crashed, left or still lives (which then crashes)."""
        if name in self._nodes:
            self.crash(name)
        self.add(name, seat)

    def order(self, name: str, order: object) -> None:
        """Hand an order to a core when the world runs next."""
        self.after(0.0, self._give, self._nodes[name], Ordered(order))

    def core(self, name: str) -> Any:
        """The core of a living seat; KeyError for another."""
        return self._nodes[name].core

    def sockets(self, name: str) -> tuple[Socket, ...]:
        """What a living seat has open now: it may have been opened anew, elsewhere or under another id."""
        return tuple(port.spec for port in self._nodes[name].ports.values())

    def clock(self, name: str) -> float:
        """What the clock of a living seat shows now; KeyError for another."""
        return self._nodes[name].clock(self.now)

    def frozen(self, name: str) -> bool:
        """Whether a living seat is stopped; KeyError for another."""
        return self._nodes[name].frozen

    @property
    def names(self) -> tuple[str, ...]:
        """The living seats, in the order in which they were added."""
        return tuple(self._nodes)

    def picture(self, name: str) -> Any:
        """A snapshot of a living seat, by its own clock; KeyError for another."""
        node = self._nodes[name]
        return node.core.snapshot(node.clock(self.now))

    @property
    def pictures(self) -> dict[str, Any]:
        """A snapshot of every living seat, by its own clock."""
        return {name: self.picture(name) for name in self._nodes}

    # ---- time ---------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Virtual seconds since the world began."""
        return self._agenda.now

    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        """Enter a call into the agenda."""
        self._agenda.after(seconds, act, *args)

    def step(self, until: float) -> bool:
        """Let one thing happen, if it does by ``until``; False, with the clock there, where nothing does."""
        return self._agenda.step(until)

    def run(self, until: float) -> None:
        """Let everything happen up to and at ``until`` (virtual seconds)."""
        while self.step(until):
            pass

    def run_for(self, seconds: float) -> None:
        """Let so many virtual seconds pass."""
        self.run(self.now + seconds)

    def run_until(self, predicate: Callable[[World], bool], limit: float) -> bool:
        """Run until the predicate holds; False if it does not within ``limit`` virtual seconds."""
        end = self.now + limit
        while not predicate(self):
            if not self._agenda.step(end):
                return predicate(self)
        return True

    # ---- faults -------------------------------------------------------------------------------------------------

    def link(self, link: Link, a: str | None = None, b: str | None = None) -> None:
        """From now on messages between two seats, or between all that have no link of their own, meet this."""
        if a is None or b is None:
            self._wires.link = link
        else:
            self._wires.links[frozenset((a, b))] = link

    def cut(self, a: str, b: str) -> None:
        """Let nothing pass between two seats; connections stand, and what is sent waits for ``heal``."""
        self._wires.cut(a, b)

    def heal(self, a: str, b: str) -> None:
        """End a cut; what waited arrives."""
        self._wires.heal(a, b)

    def reset(self, a: str, b: str) -> None:
        """Break the connections between two seats; what was under way is lost, whoever connected tries again."""
        self._wires.reset(a, b)

    def crash(self, name: str) -> None:
        """The process is gone with its state; what it sent last may be lost. KeyError if it is not alive."""
        self._close(self._nodes[name], crashed=True)

    def freeze(self, name: str, seconds: float) -> None:
        """Stop a process for so long (SIGSTOP). Thawed, it is told from ``PAUSE`` seconds on, then gets all at once."""
        node = self._nodes[name]
        if not node.frozen:
            node.frozen = True
            self.after(seconds, self._thaw, node, seconds)

    def skew(self, name: str, jump: float = 0.0, rate: float = 1.0) -> None:
        """Move a seat's clock forward by ``jump`` seconds, and let it run at ``rate`` of the true speed."""
        assert jump >= 0.0 and rate > 0.0, "a monotonic clock does not go backwards"
        node = self._nodes[name]
        node.offset, node.since, node.rate = node.clock(self.now) + jump, self.now, rate
        node.armed = NEVER
        self._arm(node)

    def _thaw(self, node: _Node, seconds: float) -> None:
        if not node.alive:
            return
        node.frozen = False
        if seconds >= PAUSE:
            self._handle(node, Paused(seconds))
        later, node.later = node.later, []
        for act in later:
            act()

    # ---- events -------------------------------------------------------------------------------------------------

    def _deliver(self, port: Port, messages: list[Frames]) -> None:
        node = port.host
        assert isinstance(node, _Node)
        self._handle(node, Received(messages, port.spec.name))

    def _change(self, port: Port, change: Change) -> None:
        node = port.host
        assert isinstance(node, _Node)
        self._handle(node, change)

    def _give(self, node: _Node, event: Event) -> None:
        if node.frozen:
            node.later.append(lambda: self._give(node, event))
        elif node.alive:
            self._handle(node, event)

    def _handle(self, node: _Node, event: Event) -> None:
        events = [event]
        while events and node.alive:
            event = events.pop(0)
            self.acting = node.name
            shown = kept(event) if self.watchers else event
            commands = node.core.handle(event, node.clock(self.now))
            for watcher in self.watchers:
                watcher(self.now, node.name, shown, commands)
            events = self._perform(node, commands) + events
            if self.checks:
                node.core.check()
            for invariant in self.invariants:
                invariant(self)
        if node.alive:
            self._arm(node)

    def _arm(self, node: _Node) -> None:
        """Enter a wake-up unless an earlier one stands; that one then comes early, as it does in the driver."""
        at = node.core.wake_at()
        if at < node.armed:
            node.armed = at
            self._agenda.at(node.virtual(at), self._wake, node, at)

    def _wake(self, node: _Node, at: float) -> None:
        if at != node.armed or not node.alive:
            return
        if node.frozen:
            node.later.append(lambda: self._wake(node, at))
            return
        node.spins = node.spins + 1 if node.spun_at == self.now else 0
        node.spun_at = self.now
        assert node.spins < SPINS, f"{node.name} asks again and again to be woken at {at}"
        node.armed = NEVER
        node.local = max(node.local, at)  # a skewed clock may read a hair less than its own deadline
        self._handle(node, Woken())

    # ---- commands -----------------------------------------------------------------------------------------------

    def _perform(self, node: _Node, commands: list[Command]) -> list[Event]:
        """Carry out commands in order; returns what refused sends give."""
        refused: list[Event] = []
        for command in commands:
            match command:
                case Send(frames, socket):
                    reason = self._wires.send(node.ports[socket], frames)
                    if reason is not None:
                        refused.append(Unsent(frames, reason, socket))
                case Note():
                    self.notes.append(Said(self.now, node.name, command))
                case Start(key):
                    assert key not in node.bodies, f"{node.name} started {key!r} twice"
                    self._begin(node, key, self._bodies(node.name, command))
                case Cancel(key):
                    if key in node.bodies:  # else its Finished is given already
                        self._begin(node, key, Outcome(0.0, False, b""))
                case Reopen(socket, routing_id, endpoint):
                    self._reopen(node, socket, routing_id, endpoint)
                case Store():
                    self._store(node, command)
                case Exit():
                    self.exits[node.name] = command
                    self._close(node)
                    return []
        return refused

    def _store(self, node: _Node, command: Store) -> None:
        """Its store has it at once; whoever crashes before the answer does not hear of it."""
        store = self.stores.setdefault(node.name, Memory())
        answer: Stored | Unstored
        try:
            answer = store.perform([command])[0]
        except Unavailable as why:
            answer = Unstored(command.number, str(why))
        self.after(COMMIT, self._give, node, answer)

    def _begin(self, node: _Node, key: object, outcome: Outcome) -> None:
        ticket = node.bodies[key] = next(self._tickets)
        self.after(outcome.seconds, self._finish, node, key, ticket, outcome)

    def _finish(self, node: _Node, key: object, ticket: int, outcome: Outcome) -> None:
        if node.bodies.get(key) == ticket:  # else it was cancelled meanwhile
            del node.bodies[key]
            self._give(node, Finished(key, outcome.ok, outcome.result))

    def _reopen(self, node: _Node, socket: str, routing_id: bytes | None, endpoint: str | None) -> None:
        port = node.ports[socket]
        spec = port.spec
        if routing_id is not None:
            spec = replace(spec, routing_id=routing_id)
        if endpoint is not None:
            spec = replace(spec, connect=(endpoint,))
        self._wires.unplug(port)
        node.ports[socket] = self._wires.plug(node, spec)

    def _close(self, node: _Node, crashed: bool = False) -> None:
        node.alive = False
        del self._nodes[node.name]
        for port in node.ports.values():
            self._wires.unplug(port, crashed)
