"""The worker over plain TCP, for servers as the original is: the seed's bytes and nothing else.

- Its socket is a STREAM: frames are [connection, bytes], and no bytes tell of a connection or of its end. It opens
  nothing: the server speaks first.
- There are no keep-alives and no ERROR(leaving): the end of the connection is the DISCONNECT, and TCP tells of a peer
  that is gone.
- A server's OK may carry any number (ruling 13).
"""

from __future__ import annotations

from engine.core import NEVER, Command, Frames, Reopen, Send
from engine.protocols.conversation.beats import Sent
from engine.protocols.conversation.header import Decoder
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.machine import Cl, On
from engine.protocols.conversation.worker import Worker


class PlainWorker(Worker):
    """The worker core on one stream socket, ``STREAM``, that connects."""

    plain = True
    _peer = b""  # the connection that stands

    def wake_at(self) -> float:
        """The next built-in task that is due, or the next connection after a conversation that broke."""
        if self.state in (Cl.EXIT0, Cl.EXIT1):
            return NEVER
        return min(self._beat if self._lost else NEVER, self._due[0][0] if self._due else NEVER)

    def _arrived(self, frames: Frames, now: float, out: list[Command]) -> None:
        if self.state == Cl.EXIT1 or self._lost:
            return  # of a conversation that is over, on a connection that will be closed
        peer, chunk = frames
        if chunk and peer == self._peer:
            self._hear(now)
            self._read(chunk, now, out)
        elif not chunk and peer != self._peer:
            self._peer = peer
            self._decoder, self._sent = Decoder(self.options.body_limit), Sent()
        elif not chunk:
            self._peer = b""
            self._begin_anew(On.SILENCE, "the server has closed the connection", now, out)

    def _open(self, now: float, out: list[Command]) -> None:
        """Wait for the server's greeting, after a conversation that broke on a new connection."""
        if self._lost:
            self._lost = self._is_taken = self._broken = False
            self._peer = b""
            out.append(Reopen(STREAM))
        self._beat = NEVER

    def _tick(self, now: float, out: list[Command]) -> None:
        self._answer_due(now, out)
        if self._lost and now >= self._beat:
            self._step(On.BEAT)
            self._open(now, out)

    def _goodbye(self, out: list[Command]) -> None:
        """Nothing: its connection ends."""

    def _send(self, message: bytes, out: list[Command]) -> None:
        out.append(Send([self._peer, message], STREAM))
