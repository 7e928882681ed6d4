"""Small cores for tests that need somebody on the other side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.core import MAIN, NEVER, Command, Event, Frames, Ordered, Received, Seat, Send, Socket


class Probe:
    """Sends what it is ordered to (an order is a list of frames, or any command) and keeps every event that it got."""

    def __init__(self, answer: Callable[[Frames], Frames | None] = lambda _frames: None) -> None:
        self.events: list[tuple[float, Event]] = []
        self._answer = answer

    def handle(self, event: Event, now: float) -> list[Command]:
        self.events.append((now, event))
        match event:
            case Ordered(list() as frames):
                return [Send(frames)]
            case Ordered(order):
                return [order]  # type: ignore[list-item]
            case Received(messages):
                return [Send(reply) for frames in messages if (reply := self._answer(frames)) is not None]
        return []

    def wake_at(self) -> float:
        return NEVER

    def check(self) -> None:
        pass

    def snapshot(self, now: float) -> Any:
        return (now, len(self.events))

    @property
    def got(self) -> list[Frames]:
        """Every message that it received."""
        return [frames for _, event in self.events if isinstance(event, Received) for frames in event.messages]

    def of(self, kind: type[Event]) -> list[Event]:
        """Every event of one kind."""
        return [event for _, event in self.events if isinstance(event, kind)]


def router(core: Any, endpoint: str, name: str = MAIN) -> Seat:
    """A seat with one bound ROUTER."""
    return Seat(core, (Socket("router", bind=(endpoint,), name=name),))


def dealer(core: Any, endpoint: str, routing_id: bytes = b"") -> Seat:
    """A seat with one connected DEALER."""
    return Seat(core, (Socket("dealer", connect=(endpoint,), routing_id=routing_id),))
