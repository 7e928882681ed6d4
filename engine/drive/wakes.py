"""When the cores of a node are woken next: of many cores, those that are due at about the same time together.

With thousands of workers on one thread a deadline comes every tenth of a millisecond. Woken one by one, each costs a
turn of this thread and of the one that reads its heartbeat; together their messages go in batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from engine.core import NEVER
from engine.drive.hosted import HostedCore

MANY = 256  # cores from which on they wait for each other,
TOGETHER = 0.005  # seconds at most: no more than a thread waits for the interpreter anyway


class Wakes:
    """Of the cores in ``chairs``, by name. Times: monotonic seconds."""

    def __init__(self, chairs: Mapping[str, HostedCore]) -> None:
        self._chairs = chairs
        self._times: list[float] = []  # a heap
        self._at: dict[float, list[tuple[float, HostedCore]]] = {}  # of each time; its own deadline beside each core

    def put(self, chair: HostedCore, at: float) -> None:
        """It is to be woken at a time that is earlier than those before, which are void."""
        chair.scheduled = at
        time = at if len(self._chairs) <= MANY else (at // TOGETHER + 1) * TOGETHER
        waiting = self._at.get(time)
        if waiting is None:
            self._at[time] = waiting = []
            heappush(self._times, time)
        waiting.append((at, chair))

    def next(self) -> float:
        """No later than somebody is to be woken; NEVER where nobody is."""
        return self._times[0] if self._times else NEVER

    def due(self, now: float) -> tuple[list[HostedCore], float]:
        """Whom to wake now, the earliest first; and by how many seconds that is late."""
        found: list[HostedCore] = []
        late = 0.0
        while self._times and self._times[0] <= now:
            time = heappop(self._times)
            for at, chair in self._at.pop(time):
                if at == chair.scheduled and self._chairs.get(chair.name) is chair:  # else moved, or gone
                    chair.scheduled = NEVER
                    late = max(late, now - time)
                    found.append(chair)
        return found, late
