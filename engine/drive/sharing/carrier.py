"""The workers' end of a shared connection: one DEALER, by which the riders of one node send and receive.

The rules of this file:

- Its routing id is one that names nobody. Everything that goes over it is wrapped.
- What riders send within one round of their node's loop goes together: ``receive`` sends it before it looks what came.
- Riders are told what came a few at a time, as many as are quick: what one takes long for keeps no answer of another.
- It is never made anew by libzmq: at the other end might be another broker, which was not asked.
- A rider that begins says first that its id is gone, and so does one that leaves. What comes before the broker has
  answered that is meant for whoever had this id before, and is dropped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import zmq

from engine.core import Command, Connected, Core, Event, Frames, Received, Seat, Send, Unsent
from engine.core import Socket as Spec
from engine.drive.hosted import OUTBOX, HostedCore, Port
from engine.drive.links import ZSocket
from engine.drive.sharing.envelope import unwrap, wrap
from engine.drive.sharing.ride import Ride
from engine.drive.sockets import Context

TAKEN = 16  # messages that are taken at a time


class CarrierOwner(Protocol):
    """Who is told what became of the connection."""

    rides: dict[bytes, Ride]
    """The riders, by routing id."""

    def up(self) -> None: ...
    def down(self) -> None: ...


class _Nobody:
    """What sits there in place of a core."""

    def handle(self, event: Event, now: float) -> list[Command]:
        raise AssertionError(event)

    def wake_at(self) -> float:
        raise AssertionError

    def check(self) -> None: ...
    def snapshot(self, now: float) -> None: ...


class Carrier(Port):
    """``way``: what riders have sent and is to go next. ``heard``: when anything came; ``opened``: since when it is."""

    __slots__ = ("_awaited", "_company", "_due", "heard", "opened", "stands", "way")

    def __init__(self, spec: Spec, context: Context, company: CarrierOwner) -> None:
        """Open it; raises zmq.ZMQError."""
        nobody: Core = _Nobody()
        super().__init__(HostedCore("", Seat(nobody, ()), lambda *_: None), spec, context, lambda port: None)
        self._company = company
        self._awaited: dict[bytes, int] = {}  # ids that are gone, and how often the broker has still to say so
        self.way: list[Frames] = []
        self.heard = self.opened = time.monotonic()
        self.stands = False
        self._due: deque[tuple[HostedCore, Event]] = deque()  # what came, and riders have still to be told

    def _watch(self, socket: ZSocket) -> None:
        socket.set(zmq.RECONNECT_IVL, -1)
        super()._watch(socket)

    def part(self, rider: bytes) -> None:
        """What is under way for this id ends here."""
        self.way.append([rider])
        self._awaited[rider] = self._awaited.get(rider, 0) + 1

    def receive(self) -> list[tuple[HostedCore, Event]]:
        """Send what riders have sent, and take what is there for them."""
        if self.stirred or self.news:
            self.stirred = False
            for event in self.hear():
                self.stands = type(event) is Connected
                if self.stands:
                    self._company.up()
                else:
                    self._company.down()
                if self.socket.closed:
                    return []
        refused = self.put()
        due = self._due
        while not due and (messages := self._receive(self.socket, TAKEN, "dealer")):
            due.extend(self._given(messages))
        if len(due) <= self.batch:
            self._due = deque()
            return refused + list(due)  # none only where nothing more is there: nobody looks again of itself
        return refused + [due.popleft() for _ in range(self.batch)]

    def put(self) -> list[tuple[HostedCore, Event]]:
        """Send what riders have sent; what is refused of it."""
        refused: list[tuple[HostedCore, Event]] = []
        if not self.way:
            return refused
        messages = self.way.copy()
        self.way.clear()  # riders have this list
        for outer, inner in wrap(messages):
            if not super().send([Send(outer, self.spec.name)], 0)[1]:
                continue
            for key, *frames in inner:
                ride = self._company.rides.get(key)
                if ride is not None and frames:
                    refused.append((ride.hosted, Unsent(frames, "full", ride.spec.name)))
        return refused

    def _given(self, messages: list[Frames]) -> list[tuple[HostedCore, Event]]:
        """To each rider its own. What is wrong is handed to one of them, whose core counts it."""
        rides, awaited, now = self._company.rides, self._awaited, time.monotonic()
        given: dict[Ride, list[Frames]] = {}
        for frames in messages:
            inner = unwrap(frames)
            if isinstance(inner, str):
                given.setdefault(next(iter(rides.values())), []).append(frames)
                continue
            for message in inner:
                key = message.pop(0)
                if key in awaited:
                    if not message:
                        self._answered(key)
                elif message and (ride := rides.get(key)) is not None:
                    given.setdefault(ride, []).append(message)
        self.heard = now
        events: list[tuple[HostedCore, Event]] = []
        for ride, some in given.items():
            ride.heard = now
            if not ride.held:
                events.append((ride.hosted, Received(some, ride.spec.name)))
            elif len(ride.arrived) < OUTBOX:
                ride.arrived += some
        return events

    def _answered(self, key: bytes) -> None:
        self._awaited[key] -= 1
        if not self._awaited[key]:
            del self._awaited[key]


Carry = Callable[[Spec, CarrierOwner], Carrier]
