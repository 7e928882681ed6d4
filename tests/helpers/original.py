"""A worker of the original round robin, as measured: it knows its commands only some time after it registered."""

from __future__ import annotations

from engine.core import NEVER, Command, Event, Frames, Received, Seat, Send, Socket, Started
from engine.protocols.roundrobin import messages as wire

INSTALLS = 0.005  # seconds from REGISTER's answer until it knows its commands


class OriginalWorker:
    """A core. ``dropped``: tasks that came too early, which it neither answers nor says INCREMENT for."""

    def __init__(self, slots: int) -> None:
        self.slots, self.done, self.dropped = slots, 0, 0
        self._knows_at = NEVER

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; heartbeats are answered at any time."""
        out: list[Command] = []
        match event:
            case Started():
                out.append(Send(wire.link_ping(bytes(8))))
            case Received(messages):
                for frames in messages:
                    out += self._take(frames, now)
            case _:
                pass
        return out

    def _take(self, frames: Frames, now: float) -> list[Command]:
        match wire.at_peer(frames):
            case wire.LINK_PING:
                return [Send(wire.link_pong(frames[3]))]
            case wire.LINK_PONG:
                return [Send(wire.register(b"reg1", self.slots))]
            case wire.JOINED:
                self._knows_at = now + INSTALLS
            case wire.TASK if now < self._knows_at:
                self.dropped += 1
            case wire.TASK:
                self.done += 1
                return [Send(wire.reply(frames[-1], frames[3])), Send(wire.increment(b"inc1"))]
        return []

    def wake_at(self) -> float:
        """It waits for messages alone."""
        return NEVER

    def check(self) -> None:
        """It keeps no invariant."""

    def snapshot(self, now: float) -> OriginalWorker:
        """Itself."""
        return self


def original(endpoint: str, nonce: int, slots: int = 10) -> Seat:
    """A seat for one."""
    name = f"{endpoint}:{nonce}".encode()
    return Seat(OriginalWorker(slots), (Socket("dealer", connect=(endpoint,), routing_id=name),))
