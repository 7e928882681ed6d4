"""The wall clock's distance from monotonic time, read when it is needed: the wall clock may be set at any moment."""

from __future__ import annotations

import time

from engine.core import Event, Ordered, Started
from engine.parts.orders import ClockSet

STEP = 0.1  # seconds by which the wall clock must have moved before a core is told
APART = 0.01  # seconds between our own readings after which they say nothing: this thread was not run meanwhile


def wall_offset() -> float:
    """Seconds from monotonic to wall time."""
    return time.time() - time.monotonic()


class WallClock:
    """What one core knows of the wall clock. ``offset``: seconds from monotonic to wall time, as it was made."""

    def __init__(self, offset: float) -> None:
        self.offset = offset

    def before(self, event: Event) -> list[Event]:
        """This event; ``ClockSet`` comes before it where the wall clock was set or the machine was asleep meanwhile."""
        began = time.monotonic()
        offset = wall_offset()
        moved = abs(offset - self.offset) >= STEP and time.monotonic() - began <= APART
        if not moved or type(event) is Started:
            return [event]
        self.offset = offset
        return [Ordered(ClockSet(offset)), event]
