"""A peer that says what it was told to say, word for word, and answers nothing."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core import NEVER, Command, Event, Frames, Seat, Send, Socket, Started

EVERY = 0.05  # seconds between two of its messages


class Rogue:
    """A core without a protocol. ``messages``: frames as they go on a DEALER."""

    def __init__(self, messages: Sequence[Frames]) -> None:
        self._messages = messages
        self.sent = 0
        self._next = NEVER

    def handle(self, event: Event, now: float) -> list[Command]:
        """One message each time it is due; whatever comes is ignored."""
        if isinstance(event, Started):
            self._next = now
        if now < self._next:
            return []
        frames = self._messages[self.sent].copy()
        self.sent += 1
        self._next = now + EVERY if self.sent < len(self._messages) else NEVER
        return [Send(frames)]

    def wake_at(self) -> float:
        """When the next message is due."""
        return self._next

    def check(self) -> None:
        """It has said no more than there is to say."""
        assert self.sent <= len(self._messages)

    def snapshot(self, now: float) -> tuple[float, int]:
        """The time, and how many messages it has sent."""
        return now, self.sent


def rogue(messages: Sequence[Frames], endpoint: str, routing_id: bytes) -> Seat:
    """The seat of one on a DEALER."""
    return Seat(Rogue(messages), (Socket("dealer", connect=(endpoint,), routing_id=routing_id),))
