"""The second socket of a control: over tcp, for peers with keys. A viewer looks, an operator gives orders as well.

It belongs to the control's thread, as the first one does. This file knows which words only look.
"""

from __future__ import annotations

from collections.abc import Callable

import zmq

from engine.core import MAIN, Frames
from engine.core import Socket as Spec
from engine.drive.links import Links
from engine.drive.security.curve import Curve
from engine.drive.security.guard import Guard
from engine.drive.sockets import Context, open_socket, receiver

ROLES = ("viewer", "operator")
LOOKS = ("hello", "status", "look", "tap", "jobs", "tasks", "pair", "clock", "legs", "minutes")
"""What a viewer may ask."""


class Keyed:
    """Listens at ``endpoint``. ``post`` has something done on the control's thread."""

    def __init__(
        self, context: Context, endpoint: str, curve: Curve, post: Callable[[Callable[[], None]], None]
    ) -> None:
        """Raises zmq.ZMQError where it can not listen there."""
        spec = Spec("router", bind=(endpoint,), roles=ROLES)
        self._links = Links(MAIN, self._cut_off)
        self._guard = Guard(spec, [endpoint], curve.ring, self._links, context.door.say)
        self._context = context
        self.socket = open_socket(context, spec, lambda event, fd: post(lambda: self._hear(event, fd)), curve=curve)
        self._receive = receiver(context, spec, self._links, self._guard)
        self._ring = curve.ring

    def receive(self) -> list[Frames]:
        """The next messages of peers that may ask something."""
        messages = self._receive(self.socket, 100, "router")
        self._links.drained(not messages)
        self._links.told.clear()
        return self._guard.taken(messages)

    def refusal(self, peer: bytes, word: str) -> str:
        """Why this peer may not ask that; empty where it may."""
        key = self._ring.key(self._guard.users.get(peer, b"").decode())
        if key is not None and (key.role == "operator" or word in LOOKS):
            return ""
        whose = key.words if key is not None else "a key that is not authorized"
        return f"{word}: {whose} may look, and give no orders: that takes an operator's key"

    def giver(self, peer: bytes) -> tuple[str, str]:
        """The sender of an order: the name of its key in our list, and its address."""
        key = self._ring.key(self._guard.users.get(peer, b"").decode())
        return (key.words if key is not None else "a key that is not authorized"), "over tcp"

    def reaches(self, peer: bytes) -> bool:
        """Whether this peer may be sent something."""
        return peer not in self._guard.cut

    def _hear(self, event: int, fd: int) -> None:
        self._links.hear(event, fd)
        self._guard.hear(event, fd)
        self._links.told.clear()

    def _cut_off(self, fd: int, size: int) -> None:
        self._context.door.cut_off(bytes(self.socket.get(zmq.ZAP_DOMAIN)), fd, size)
