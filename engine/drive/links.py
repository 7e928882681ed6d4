"""Connections come and go behind a socket's back: its monitor tells, as ``Connected`` and ``Disconnected``.

The rules of this file:

- A DEALER that connects over tcp or ipc has a monitor of its own, of a few events, that its node's selector watches: 18
  KiB and two descriptors each. A socket has one monitor, so where the door stands at a private one, the door tells.
- inproc has no monitor events, and its connections do not break.
- A ROUTER's monitor is the door's. It names descriptors, not peers; each message tells the descriptor that it came by.
  So a peer is looked at when it is new, and everybody is while a connection was accepted that said nothing yet.
- Descriptors are used again. One that the monitor has told to be ended says nothing of a peer any more, and the end of
  one is told when what came by it has been read, or after ``PATIENCE`` batches of others.
- Of two live connections of one id libzmq serves the newer. The older stays open and deaf: neither monitor tells, but
  the next message of that id comes by another descriptor. That is ``Connected`` without a ``Disconnected`` before.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import count

import zmq
from zmq.backend import Frame

from engine.core import Connected, Disconnected, Event
from engine.core import Socket as Spec
from engine.drive.security.intake import Unfinished
from engine.drive.security.watched import GROWN
from engine.parts.limits import MAX_WORKERS

ZSocket = zmq.Socket[bytes]

KEPT = 2 * MAX_WORKERS  # peers whose descriptor is known, the oldest forgotten first
LOOKS = 50_000  # messages that are looked at for connections that say nothing
PATIENCE = 32  # batches that may come before the end of a connection is told

FAILED = (
    int(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL),
    int(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL),
    int(zmq.EVENT_HANDSHAKE_FAILED_AUTH),
)
"""Events of a monitor: a handshake has failed."""

_MASK = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | sum(FAILED)
_EVENT = struct.Struct("=Hi")
_SRCFD = int(zmq.SRCFD)
NONE = -1  # the descriptor of who comes over inproc
_numbers = count(1)


def source_of(frame: Frame) -> int:
    """The descriptor that a received frame came by; -1 of one that came over inproc."""
    try:
        return int(frame.get(_SRCFD))
    except zmq.ZMQError:
        return NONE


class Calls:
    """The connections that a DEALER makes, from what its monitor tells. ``down``: the last one ended, and no other is
    made yet. libzmq tells that before it drops what is sent by it.
    """

    def __init__(self, name: str) -> None:
        self.down = False
        self._name, self._up = name, 0

    def hear(self, event: int) -> list[Event]:
        """What one event of the monitor is to the core."""
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self._up += 1
            self.down = False
            return [Connected(self._name)]
        if event == zmq.EVENT_DISCONNECTED and self._up:  # else it ended before its handshake did
            self._up -= 1
            self.down = not self._up
            return [Disconnected(self._name)]
        return []


class Monitor:
    """A DEALER's monitor. Made before the socket connects; ``fd`` is for a selector."""

    def __init__(self, context: zmq.Context[ZSocket], socket: ZSocket) -> None:
        self._watched = socket
        address = f"inproc://link-{next(_numbers)}-{id(socket)}"
        socket.monitor(address, int(_MASK))
        self._socket = context.socket(zmq.PAIR)
        self._socket.set(zmq.RCVHWM, 0)  # a full monitor blocks libzmq's own thread
        self._socket.connect(address)
        self.fd = int(self._socket.get(zmq.FD))

    def read(self) -> list[tuple[int, int]]:
        """Every event that has come since, with its value."""
        told: list[tuple[int, int]] = []
        try:
            while True:
                told.append(_EVENT.unpack(self._socket.recv_multipart(zmq.DONTWAIT)[0]))
        except zmq.Again:
            return told

    def close(self) -> None:
        """Before the socket that it watches: libzmq would wait for somebody to take what it tells."""
        if not self._watched.closed:
            self._watched.disable_monitor()
        self._socket.close(0)


class Links:
    """The connections of a ROUTER that binds: which peer came by which. ``told`` is what its core is to hear next.
    ``cut`` is called with the descriptor of one by which a message without an end comes, and how much has come of it.
    """

    def __init__(self, name: str, cut: Callable[[int, int], None] = lambda fd, size: None) -> None:
        self.known: dict[bytes, int] = {}  # peer → descriptor
        self.fresh: set[int] = set()  # nothing came by them since they were accepted, or took in much
        self.unfinished = Unfinished(cut)  # those that took in much
        self.told: list[Event] = []
        self.met: Callable[[bytes], object] = id  # is told of a peer that came by a connection that is new
        self._name = name
        self._standing: dict[int, bytes] = {}  # descriptor → peer, empty while that is not known
        self._ended: list[int] = []
        self._looks = self._patience = 0

    def hear(self, event: int, fd: int) -> None:
        """One event of the monitor."""
        if event == zmq.EVENT_ACCEPTED:
            if fd in self._ended:
                self.settle()
            self._standing[fd] = b""
            self.unfinished.ended(fd)  # one before of that number
            self.fresh.add(fd)
            self._looks = LOOKS
        elif event == GROWN:
            self.unfinished.grown(fd, len(self._standing), fd in self.fresh)
            if fd in self.unfinished:
                self.fresh.add(fd)
        elif event == zmq.EVENT_DISCONNECTED:
            self.fresh.discard(fd)
            self.unfinished.ended(fd)
            self._ended.append(fd)
            self._patience = PATIENCE

    def look(self, peer: bytes, fd: int) -> bool:
        """A message of a peer that is not known, or of anybody while a connection is fresh. ``fd``: the descriptor that
        it came by, -1 for none. Returns whether a connection is fresh.
        """
        if self.fresh:
            self._looks -= 1
            self.fresh.discard(fd)
            self.unfinished.came(fd)
            if not self._looks:
                self.fresh = {fd for fd in self.fresh if fd in self.unfinished}
        before = self.known.get(peer)
        # Not where another peer had this descriptor: that its connection has ended is still to be told.
        if before != fd and (fd == NONE or self._standing.get(fd) == b""):
            self._met(peer, fd, before)
        return bool(self.fresh)

    def _met(self, peer: bytes, fd: int, before: int | None) -> None:
        """A peer has come by another descriptor than ``before``."""
        self.met(peer)
        self.known[peer] = fd
        if len(self.known) > KEPT:
            self._forget(self.known.pop(next(iter(self.known))))
        if before is not None:
            self._forget(before)
        if fd == NONE:
            return
        self._standing[fd] = peer
        self.told.append(Connected(self._name, peer))

    def renounce(self, peer: bytes) -> bool:
        """Forget the connection of this peer; whether there was one."""
        fd = self.known.pop(peer, None)
        if fd is not None:
            self._forget(fd)
        return fd is not None

    def _forget(self, fd: int) -> None:
        """Whose end is of no interest any more."""
        if fd in self._standing:
            self._standing[fd] = b""

    def drained(self, empty: bool) -> None:
        """A batch was read; ``empty``: there is no more."""
        if self.unfinished.accused:
            self.fresh.difference_update(self.unfinished.judge(empty))
        if self._ended:
            self._patience -= 1
            if empty or not self._patience:
                self.settle()

    def settle(self) -> None:
        """Tell whose connections have ended."""
        for fd in self._ended:
            peer = self._standing.pop(fd, b"")
            if peer:
                del self.known[peer]
                self.told.append(Disconnected(self._name, peer))
        self._ended.clear()


def outer(spec: Spec) -> bool:
    """Whether a socket is a DEALER that connects where connections can break."""
    return spec.kind == "dealer" and any(not at.startswith("inproc://") for at in spec.connect)
