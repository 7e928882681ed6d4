"""A core that sits on a node: its open sockets, its task bodies, its next deadline."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import zmq

from engine.core import NEVER, Core, Frames, Seat
from engine.core import Socket as Spec
from engine.drive.jobs import Jobs
from engine.drive.sockets import Receive, ZSocket, receive


class Port:
    """One open socket of one core."""

    __slots__ = ("batch", "chair", "fd", "outbox", "receive", "socket", "spec")

    def __init__(self, chair: Chair, spec: Spec, socket: ZSocket, receive: Receive = receive) -> None:
        self.chair, self.spec, self.socket, self.receive = chair, spec, socket, receive
        self.fd = int(socket.get(zmq.FD))
        self.outbox: deque[Frames] = deque()
        self.batch = 1  # messages that are taken at a time


class Chair:
    """One core that sits on the node."""

    __slots__ = ("core", "jobs", "name", "ports", "routes", "scheduled", "signature")

    def __init__(self, name: str, core: Core, done: Callable[[object, bool, bytes], None]) -> None:
        self.name, self.core = name, core
        self.ports: dict[str, Port] = {}
        self.scheduled = NEVER  # the earliest time in the agenda for this chair
        self.jobs = Jobs(done)  # costs nothing before the first body
        self.routes = False  # whether all its sockets are ROUTERs
        self.signature = b""  # its routing id, where it is one of many on its node

    def seat(self) -> Seat:
        """The core and its sockets as they are now: some may have been opened anew, elsewhere or under another id."""
        return Seat(self.core, tuple(port.spec for port in self.ports.values()))
