"""The peers of a private socket over plain TCP, which has no handshake that could be refused.

The first message of a connection is an empty one, which libzmq makes of it together with a routing id that no peer
chooses and that no other connection gets. So the user at the other end is looked up there, before anything is answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import zmq
from zmq.backend import Socket as _Backend

from engine.core import Frames, Note
from engine.drive.security.descriptors import hang_up
from engine.drive.security.strangers import PEER, Strangers

JUDGED = 100_000  # peers that are remembered

_NOBLOCK = int(zmq.DONTWAIT)
_SRCFD = int(zmq.SRCFD)
_recv = _Backend.recv


class Streams:
    """Takes the messages of one socket. ``say`` is told of strangers, in these ``words``."""

    def __init__(self, strangers: Strangers, say: Callable[[Note], None], words: str = PEER) -> None:
        self._strangers, self._say, self._words = strangers, say, words
        self._judged: dict[bytes, bool] = {}  # whether a peer is admitted, until its connection ends

    def receive(self, socket: zmq.Socket[bytes], limit: int, kind: str) -> list[Frames]:
        """As ``engine.drive.sockets.receive``, without those of strangers, who are cut off."""
        messages: list[Frames] = []
        try:
            for _ in range(limit):
                peer = _recv(socket, _NOBLOCK, True)
                frame = _recv(socket, 0, False)
                if self._admitted(peer, frame):
                    messages.append([peer, frame.bytes])
        except zmq.Again:
            pass
        if self._strangers.untold and (note := self._strangers.note(time.monotonic())) is not None:
            self._say(note)
        return messages

    def _admitted(self, peer: bytes, frame: zmq.Frame) -> bool:
        judged = self._judged.get(peer)
        if judged is not None:
            if not frame.bytes:  # the end of it
                del self._judged[peer]
            return judged
        if len(self._judged) >= JUDGED:
            self._judged.clear()  # ends are not always told; who is there yet is judged anew
        fd = int(frame.get(_SRCFD))
        judged = self._judged[peer] = self._strangers.admits(fd, self._words)
        if not judged:
            hang_up(fd, self._strangers.name)
        return judged
