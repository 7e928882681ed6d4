"""The broker's end of shared connections: which routing ids come by which, for a ROUTER.

The rules of this file:

- A *carrier* is a peer that sent a batch; what is in it comes from its *riders*. Its own routing id names none of them.
- To the core a rider is a peer like any other: ``Connected`` with its first message, ``Disconnected`` with the end of
  its carrier's connection, or when its drive says that it is gone. Both come where they belong among its messages.
- Of two connections by which one id comes the newer is served, wrapped or not, as libzmq does it. ``Connected`` is told
  again then.
- Where peers have keys, a rider speaks under its carrier's: the guard is asked about each id and each inner message.
- What is wrong is handed to the core as the carrier's: its parser knows no such message, and counts it.
- That a rider is gone is answered to its drive with the same word: what it is sent from there on is meant for whoever
  has that id next.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Collection
from typing import Literal

from engine.core import Command, Connected, Disconnected, Event, Frames, Send, Unsent
from engine.drive.links import KEPT, NONE, Links
from engine.drive.security.guard import Guard
from engine.drive.sharing.envelope import MAGIC, unwrap, wrap
from engine.parts.limits import MAX_WORKERS

Run = tuple[list[Event], list[Frames]]
"""What is to be told, and the messages that came behind it."""


class Riders:
    """Of one ROUTER. ``runs``: what came and is still to be handed to the core, in order.

    ``carriers``: by rider. Memory: 2 * MAX_WORKERS riders and as many carriers at most, MAX_WORKERS of one carrier;
    who comes beyond is refused.
    """

    def __init__(self, name: str, links: Links, guard: Guard | None = None) -> None:
        self.runs: deque[Run] = deque()
        self.carriers: dict[bytes, bytes] = {}
        self._riders: dict[bytes, dict[bytes, None]] = {}  # by carrier
        self._ended: list[Event] = []
        self._answers: dict[bytes, list[Frames]] = {}  # by carrier: which ids are gone
        self._name, self._links, self._guard = name, links, guard
        links.met = self._met

    # ---- connections ----------------------------------------------------------------------------------------------

    def told(self, events: list[Event]) -> list[Event]:
        """What became of connections, and what that means for riders."""
        if self._ended:
            events, self._ended = self._ended + events, []
        for event in list(events):
            if type(event) is Disconnected and event.peer in self._riders:
                events += self._end(event.peer)
        return events

    def _met(self, peer: bytes) -> None:
        """It came by a connection of its own that is new."""
        self._leaves(peer)
        if peer in self._riders:
            self._ended += self._end(peer)

    def _end(self, carrier: bytes) -> list[Event]:
        self._answers.pop(carrier, None)
        riders = self._riders.pop(carrier)
        for rider in riders:
            del self.carriers[rider]
        return [Disconnected(self._name, rider) for rider in riders]

    # ---- messages -------------------------------------------------------------------------------------------------

    def take(self, messages: list[Frames]) -> None:
        """Unwrap what came, into ``runs``."""
        run: list[Frames] = []
        self.runs.append(([], run))
        for frames in messages:
            carrier, head = frames[0], frames[1]
            if not head.startswith(MAGIC) or (len(frames) > 2 and carrier not in self._riders):
                run.append(frames)
                continue
            inner = unwrap(frames[1:])
            riders = self._riders.get(carrier)
            if riders is None and len(self._riders) < KEPT:
                riders = {}
            if isinstance(inner, str) or riders is None:
                run.append(frames)
                continue
            self._riders[carrier] = riders
            for message in inner if self._guard is None else self._admitted(carrier, inner, self._guard):
                if len(message) > 1 and message[0] in riders:
                    run.append(message)
                else:
                    run = self._news(message, carrier, riders)

    def _admitted(self, carrier: bytes, inner: list[Frames], guard: Guard) -> list[Frames]:
        """Those that the carrier's key may say, in the name of ids that are not another key's."""
        user, fd = guard.users.get(carrier, b""), self._links.known.get(carrier, NONE)
        mine = [one for one in inner if guard.users.get(one[0]) == user or guard.judge(one[0], user, fd, carrier)]
        return guard.taken(mine)

    def _news(self, message: Frames, carrier: bytes, riders: dict[bytes, None]) -> list[Frames]:
        """A rider that is new by this carrier, or gone; returns the run that goes on."""
        rider = message[0]
        gone = len(message) == 1
        full = not gone and (len(riders) >= MAX_WORKERS or len(self.carriers) >= KEPT)
        if rider in self._riders or full:
            self.runs[-1][1].append([carrier, MAGIC])
            return self.runs[-1][1]
        elsewhere = gone and self.carriers.get(rider, carrier) != carrier
        known = not elsewhere and (self._leaves(rider) or self._links.renounce(rider))
        if gone:
            self._answers.setdefault(carrier, []).append(message)
            return self._tell(Disconnected(self._name, rider)) if known else self.runs[-1][1]
        riders[rider] = None
        self.carriers[rider] = carrier
        run = self._tell(Connected(self._name, rider), apart=known)
        run.append(message)
        return run

    def _leaves(self, rider: bytes) -> bool:
        carrier = self.carriers.pop(rider, None)
        if carrier is not None:
            del self._riders[carrier][rider]
        return carrier is not None

    def _tell(self, event: Event, apart: bool = True) -> list[Frames]:
        """Before what comes next; ``apart``: and behind what came so far."""
        if apart and self.runs[-1][1]:
            self.runs.append(([], []))
        self.runs[-1][0].append(event)
        return self.runs[-1][1]

    # ---- sending --------------------------------------------------------------------------------------------------

    def send(
        self, put: Callable[[Frames], int], commands: list[Command], start: int, cut: Collection[bytes] = ()
    ) -> tuple[int, list[Unsent]]:
        """As ``Port.send``, where there are riders. ``put`` sends one message, and returns errno or 0; who is ``cut``
        is sent nothing.
        """
        unsent: list[Unsent] = []
        wrapped, self._answers = self._answers, {}
        at, end = start, len(commands)
        while at < end:
            command = commands[at]
            if type(command) is not Send or command.socket != self._name:
                break
            at += 1
            frames = command.frames
            carrier = self.carriers.get(frames[0])
            if carrier is not None:
                wrapped.setdefault(carrier, []).append(frames)
            elif error := errno.EHOSTUNREACH if frames[0] in cut else put(frames):
                unsent.append(self._refused(frames, error))
        for carrier, messages in wrapped.items():
            for outer, inner in wrap(messages):
                if error := errno.EHOSTUNREACH if carrier in cut else put([carrier, *outer]):
                    unsent += [self._refused(message, error) for message in inner if len(message) > 1]
                    if error == errno.EAGAIN and (answers := [message for message in inner if len(message) == 1]):
                        self._answers[carrier] = answers
        return at, unsent

    def answers(self, put: Callable[[Frames], int]) -> None:
        """Answer those that said that riders are gone."""
        if self._answers:
            self.send(put, [], 0)

    def _refused(self, frames: Frames, error: int) -> Unsent:
        reason: Literal["unreachable", "full"] = "unreachable" if error == errno.EHOSTUNREACH else "full"
        return Unsent(frames, reason, self._name)
