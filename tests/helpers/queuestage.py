"""A standing pipeline in the middle of its work."""

from __future__ import annotations

from engine.labs.queuesandbox import QueueSandbox


def busy(stage: QueueSandbox, of: str = "parse") -> str:
    """The number of a driver that is at work on a document, some seconds after the beginning."""
    stage.advance(max(0.0, 3.0 - stage.now))
    while True:
        numbers: list[str] = [n for n, seat in stage.world.seats.items() if seat.stage == of and seat.driver.writes]
        if numbers:
            return numbers[0]
        assert stage.step()
