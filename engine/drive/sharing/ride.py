"""The port of a core that shares its connection, or waits for one: no socket of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from engine.core import Command, Event, Frames, Received, Send, Unsent
from engine.core import Socket as Spec
from engine.drive.hosted import OUTBOX, AnyPort, HostedCore


class Ride:
    """As ``engine.drive.hosted.Port``, for its core. What is sent while nothing can go waits in the outbox."""

    __slots__ = (
        "_way",
        "arrived",
        "batch",
        "fd",
        "fds",
        "heard",
        "held",
        "hosted",
        "line",
        "more",
        "outbox",
        "spec",
        "stands",
        "stirred",
        "told",
    )

    def __init__(self, hosted: HostedCore, spec: Spec, outbox: deque[Frames], stands: bool = False) -> None:
        """``stands``: its core takes its connection for standing."""
        self.hosted, self.spec, self.outbox, self.stands = hosted, spec, outbox, stands
        self.fd, self.fds, self.batch, self.stirred, self.more = -1, (), 1, False, True
        self.held = hosted.held
        self.line: AnyPort = self
        self.told: list[Event] = []  # what its core is to hear next
        self.arrived: list[Frames] = []  # while it is held
        self.heard = 0.0  # when something came for it, or it came to this connection
        self._way: list[Frames] | None = None

    @property
    def rides(self) -> bool:
        """Whether there is a connection for it."""
        return self._way is not None

    def board(self, way: list[Frames], line: AnyPort, now: float) -> None:
        """From now on what it sends goes to ``way``, and what waits too."""
        self._way, self.line, self.heard, self.stands = way, line, now, True
        self.flush()

    def alight(self) -> None:
        """There is no connection any more, and what was sent by it is lost."""
        if self._way is not None:
            self.outbox.clear()
        self._way, self.line, self.stands = None, self, False

    def receive(self) -> list[tuple[HostedCore, Event]]:
        """What became of its connection, and what came for it while it was held."""
        if self.held:
            return []
        events = [(self.hosted, event) for event in self.told]
        self.told.clear()
        if self.arrived:
            events.append((self.hosted, Received(self.arrived, self.spec.name)))
            self.arrived = []
        return events

    def send(self, commands: list[Command], start: int) -> tuple[int, Sequence[Unsent]]:
        """As ``Port.send``."""
        name, key = self.spec.name, self.spec.routing_id
        goes = self._way is not None and not self.held and not self.outbox
        for at in range(start, len(commands)):
            command = commands[at]
            if type(command) is not Send or command.socket != name:
                return at, ()
            if goes:
                assert self._way is not None
                self._way.append([key, *command.frames])
            elif len(self.outbox) < OUTBOX:
                self.outbox.append(command.frames)
            else:
                return at + 1, (Unsent(command.frames, "full", name),)
        return len(commands), ()

    def flush(self) -> None:
        """Send what waits, where that goes."""
        if self._way is not None and not self.held:
            key = self.spec.routing_id
            self._way += [[key, *frames] for frames in self.outbox]
            self.outbox.clear()

    def flushes(self) -> bool:
        """As ``Port.flushes``: whether its line is to be looked at."""
        self.flush()
        return not self.outbox

    def close(self, linger: int = 0) -> None:
        """Drop what waits."""
        self.outbox.clear()
        self.told.clear()
