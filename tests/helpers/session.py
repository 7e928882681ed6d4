"""A session of one system in virtual time: its messages are noted, or one role is told more than was sent."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from engine.core import Command, Event, Exit, Frames, Received, Seat, Socket
from engine.parts.bulk import BulkSpec
from engine.sim.world import World
from engine.system import System
from tests.helpers.mutator import Mutator

ENDPOINT = "tcp://127.0.0.1:20000"  # of a simulated network; tcp, so that a broker binds all that it can
SECOND = "tcp://127.0.0.1:21000"
WORKERS = 2
AT_ONCE = 10  # wrong messages with a right one
KNOWN = 50  # peers in whose name something wrong is said
STRANGERS = tuple(b"stranger-%d" % i for i in range(5))
Corpus = dict[tuple[str, str], list[Frames]]
"""By seat and socket: what came in there, without the routing id of a ROUTER."""


class Tampered:
    """A core that is told some messages more with everything that it is told."""

    def __init__(self, seat: Seat, tell: Callable[[str, bytes], Frames], random: Random) -> None:
        self._core, self._tell, self._random = seat.core, tell, random
        self._kinds = {socket.name: socket.kind for socket in seat.sockets}
        self._known: dict[str, list[bytes]] = {name: list(STRANGERS) for name in self._kinds}
        self.left = 0  # messages that are still to be told
        self.told = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        """The event; where messages came, wrong ones on every socket, of peers that are known there and strangers."""
        done = self._core.handle(event, now)
        if isinstance(event, Received) and self._kinds[event.socket] != "dealer":
            known = self._known[event.socket]
            known += [peer for frames in event.messages if (peer := frames[0]) not in known][: KNOWN - len(known)]
        if isinstance(event, Received) and self.left and not any(isinstance(command, Exit) for command in done):
            for socket in self._kinds:
                done += self._core.handle(Received([self._wrong(socket) for _ in range(AT_ONCE)], socket), now)
        return done

    def _wrong(self, socket: str) -> Frames:
        self.left = max(0, self.left - 1)
        self.told += 1
        sender = self._random.choice(self._known[socket])
        wrong = self._tell(socket, sender)
        return {"dealer": wrong, "router": [sender, *wrong], "stream": [sender, b"".join(wrong)]}[self._kinds[socket]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


class Session:
    """A broker (of a pair, where ``pair`` is set: both), two workers and a client."""

    def __init__(self, system: System, seed: int, pair: bool = False, began: float = 0.0) -> None:
        self.system, self.pair = system, pair
        self.random = Random(seed)
        self.options = system.options()
        if pair:
            assert system.paired is not None
            self.options = system.paired(self.options, ENDPOINT, SECOND)
        self.world = World(seed)
        self.tampered: Tampered | None = None
        self._clock: dict[str, Any] = {"wall_offset": began} if system.wall else {}
        self.peers = (*(f"worker-{n}" for n in range(WORKERS)), "client")
        self.brokers = ("broker", "fallback") if pair else ("broker",)

    def seat(self, name: str) -> Seat:
        """Of anybody here."""
        if name in self.peers:
            return self.peer(name)
        return self._made("broker", (ENDPOINT if name == "broker" else SECOND,))

    def peer(self, name: str, again: bool = False) -> Seat:
        """A worker or the client, with another id where it comes ``again``."""
        nonce = 10 + self.peers.index(name) + (100 if again else 0)
        return self._made("client", ENDPOINT, nonce) if name == "client" else self._made("worker", ENDPOINT, nonce, 3)

    def _made(self, role: str, *args: Any) -> Seat:
        seat: Seat = getattr(self.system, role)(self.options, *args, **self._clock)
        return seat

    @property
    def sockets(self) -> tuple[Socket, ...]:
        """The broker's."""
        return self.seat("broker").sockets

    @property
    def told(self) -> int:
        """Wrong messages so far."""
        return self.tampered.told if self.tampered is not None else 0

    def open(self, tampered: str = "", tell: Callable[[str, bytes], Frames] | None = None) -> None:
        """Seat everybody; one of them is tampered with."""
        for name in (*self.brokers, *self.peers):
            seat = self.seat(name)
            if name == tampered:
                assert tell is not None
                self.tampered = Tampered(seat, tell, self.random)
                seat = Seat(self.tampered, seat.sockets)
            self.world.add(name, seat)

    def bulk(self, name: str = "client", **more: Any) -> None:
        """Order a run of a client: pings, or data."""
        self.world.order(name, BulkSpec(**{"kind": "ping", "n": 100, "in_flight": 7, **more}))


def corpus_of(system: System, began: float = 0.0) -> Corpus:
    """What every socket of every role hears in a session without faults, each message once."""
    found: Corpus = {}
    for pair in (False, True) if system.paired is not None else (False,):
        session = Session(system, 1, pair, began)
        kinds: dict[tuple[str, str], Socket] = {}

        def note(_at: float, name: str, event: Event, _done: list[Command], kinds: Any = kinds) -> None:
            if isinstance(event, Received):
                routed = kinds[name, event.socket].kind != "dealer"
                for frames in event.messages:
                    heard = found.setdefault((name, event.socket), [])
                    if (plain := list(frames[1:] if routed else frames)) not in heard:
                        heard.append(plain)

        for name in (*session.brokers, *session.peers):
            kinds |= {(name, socket.name): socket for socket in session.seat(name).sockets}
        session.world.watchers.append(note)
        session.open()
        session.world.run_for(5.0)
        session.bulk(n=20)
        session.world.run_for(5.0)
        session.bulk(kind="data", n=10, size=2000)
        session.world.run_for(10.0)
    for frames in found.values():
        del frames[200:]
    return found


def mutators(system: System, corpus: Corpus, random: Random) -> Callable[[str, str], Mutator]:
    """One for each socket of each role, whose spoilt messages are the right ones there or of any other place."""
    everything = [frames for heard in corpus.values() for frames in heard]
    everything += [list(frames) for _, frames in (*system.garbage, *system.overclaims)]
    made: dict[tuple[str, str], Mutator] = {}

    def of(name: str, socket: str) -> Mutator:
        if (name, socket) not in made:
            made[name, socket] = Mutator(corpus.get((name, socket), []) * 3 + everything, random)
        return made[name, socket]

    return of


def said_by(system: System, name: str, seconds: float, began: float = 0.0) -> tuple[str, list[Frames]]:
    """The broker's socket to which a peer speaks, and what it says there in its first seconds."""
    session = Session(system, 1, began=began)
    key = session.seat(name).sockets[0].routing_id
    heard: list[tuple[str, Frames]] = []

    def note(_at: float, seat: str, event: Event, _done: list[Command]) -> None:
        if seat == "broker" and isinstance(event, Received):
            heard.extend((event.socket, list(frames[1:])) for frames in event.messages if frames[0] == key)

    session.world.watchers.append(note)
    session.open()
    session.world.run_for(seconds)
    return heard[0][0], [frames for _, frames in heard]
