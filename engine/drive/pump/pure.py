"""The pump in Python: what every pump does, and the two loops that do it where nothing native was built.

The loops call pyzmq's backend with plain integer flags: the public wrappers cost three to eight times as much a
message (see docs/performance.md). Every frame that may be a message's last is asked whether more follow, so a short
message of one peer can never swallow the next peer's frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import zmq
from zmq.backend import Frame as _Frame
from zmq.backend import Socket as _Backend

from engine.core import Command, Frames, Send
from engine.drive.links import Links, ZSocket, source_of
from engine.parts.limits import MAX_FRAMES

zmq.Frame = _Frame  # type: ignore[assignment,misc]
"""What pyzmq makes of a frame that it receives, process-wide: the class beneath its public one, whose attribute access
nobody here uses. A frame costs 0.3 µs to receive instead of 0.47 (docs/performance.md)."""

_NOBLOCK = int(zmq.DONTWAIT)
_MORE_NOBLOCK = int(zmq.SNDMORE) | _NOBLOCK
_EAGAIN = int(zmq.EAGAIN)
_UNREACHABLE = int(zmq.EHOSTUNREACH)
_recv = _Backend.recv
_send = _Backend.send


class Judge(Protocol):
    """Says which messages are taken where peers have keys (``engine.drive.security.guard``)."""

    users: dict[bytes, bytes]
    """Peer → the key that it is admitted under."""

    def judge(self, peer: bytes, user: bytes, fd: int) -> bool: ...


class Pump(Protocol):
    """Takes messages from sockets and gives messages to them, on the thread that owns the socket. Never waits.

    Every method raises zmq.ZMQError (zmq.ContextTerminated for ETERM) for what it does not return.
    """

    name: str

    def receive(
        self, socket: ZSocket, limit: int, kind: str, links: Links | None = None, guard: Judge | None = None
    ) -> list[Frames]:
        """Whole messages that are there now: as many as there are, at most ``limit``; fewer where they are large.

        An empty list says that nothing is there. ``kind``: of the socket, as in its ``Spec``. ``links``: those of a
        ROUTER, to be shown who is new. ``guard``: of one whose peers have keys, beside its links; it is asked about a
        peer that is new or comes under another key than before, and what it refuses is left out.

        A message of more than MAX_FRAMES frames is read to its end and cut to MAX_FRAMES + 1, which every parser
        refuses. It has an end: libzmq gives nothing of a message before its last frame is there, so a peer that never
        sends that keeps nobody waiting here. libzmq holds what has come of it, and no option bounds that:
        ``engine.drive.security.intake`` does.
        """

    def send(self, socket: ZSocket, frames: Frames) -> int:
        """Send one message. 0, or the reason in errno: EAGAIN (queue full), EHOSTUNREACH (no such peer)."""

    def send_run(self, socket: ZSocket, commands: Sequence[Command], start: int, name: str) -> tuple[int, int]:
        """Carry out commands from ``start`` on, while they are ``Send`` by the socket called ``name``.

        Returns the place of the first that was not carried out, and 0; or the place behind one that the socket refused,
        and the reason as ``send``. Raises TypeError or IndexError for what is no message.
        """


class Pure:
    """The pump that is always there."""

    name = "pure"

    def receive(
        self, socket: ZSocket, limit: int, kind: str, links: Links | None = None, guard: Judge | None = None
    ) -> list[Frames]:
        """As ``Pump.receive``.

        ROUTER and STREAM put a routing id in front, so their first frame is never the last and need not be asked: a
        tenth of the cost of a message of seven frames, a third of one of two.
        """
        messages: list[Frames] = []
        routed = kind != "dealer"
        fresh = links is not None and bool(links.fresh)
        try:
            while len(messages) < limit:
                if routed:
                    frames = [_recv(socket, _NOBLOCK, True)]
                    frame = _recv(socket, 0, False)
                    if guard is not None and _left_out(guard, socket, frames[0], frame):
                        continue
                    if links is not None and (fresh or frames[0] not in links.known):
                        fresh = links.look(frames[0], source_of(frame))
                else:
                    frames = []
                    frame = _recv(socket, _NOBLOCK, False)
                frames.append(frame.bytes)
                while frame.more:
                    frame = _recv(socket, 0, False)
                    if len(frames) <= MAX_FRAMES:
                        frames.append(frame.bytes)
                messages.append(frames)
        except zmq.Again:
            pass
        return messages

    def send(self, socket: ZSocket, frames: Frames) -> int:
        """As ``Pump.send``."""
        try:
            for frame in frames[:-1]:
                _send(socket, frame, _MORE_NOBLOCK, True, False)
            _send(socket, frames[-1], _NOBLOCK, True, False)
        except zmq.ZMQError as error:
            if error.errno in (_EAGAIN, _UNREACHABLE):
                return error.errno
            raise
        return 0

    def send_run(self, socket: ZSocket, commands: Sequence[Command], start: int, name: str) -> tuple[int, int]:
        """As ``Pump.send_run``."""
        for at in range(start, len(commands)):
            command = commands[at]
            if type(command) is not Send or command.socket != name:
                return at, 0
            error = self.send(socket, command.frames)
            if error:
                return at + 1, error
        return len(commands), 0


def _left_out(guard: Judge, socket: ZSocket, peer: bytes, frame: _Frame) -> bool:
    """Whether the guard refuses a message that begins with this frame; then it is read to its end, whatever happens."""
    good = False
    try:
        user = _user(frame)
        good = guard.users.get(peer) == user or guard.judge(peer, user, source_of(frame))
        return not good
    finally:
        while not good and frame.more:
            frame = _recv(socket, 0, False)


def _user(frame: _Frame) -> bytes:
    """The key of the connection that a frame came by; none of one within the process."""
    try:
        return str(frame.get("User-Id")).encode()
    except zmq.ZMQError:
        return b""
