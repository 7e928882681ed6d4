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
    """Of the cores in ``cores``, by name. Times: monotonic seconds."""

    def __init__(self, cores: Mapping[str, HostedCore]) -> None:
        self._hosted = cores
        self._times: list[float] = []  # a heap
        self._at: dict[float, list[tuple[float, HostedCore]]] = {}  # of each time; its own deadline beside each core

    def put(self, hosted: HostedCore, at: float) -> None:
        """It is to be woken at a time that is earlier than those before, which are void."""
        hosted.scheduled = at
        time = at if len(self._hosted) <= MANY else (at // TOGETHER + 1) * TOGETHER
        waiting = self._at.get(time)
        if waiting is None:
            self._at[time] = waiting = []
            heappush(self._times, time)
        waiting.append((at, hosted))

    def next(self) -> float:
        """No later than somebody is to be woken; NEVER where nobody is."""
        return self._times[0] if self._times else NEVER

    def due(self, now: float) -> tuple[list[HostedCore], float]:
        """Whom to wake now, the earliest first; and by how many seconds that is late."""
        found: list[HostedCore] = []
        late = 0.0
        while self._times and self._times[0] <= now:
            time = heappop(self._times)
            for at, hosted in self._at.pop(time):
                if at == hosted.scheduled and self._hosted.get(hosted.name) is hosted:  # else moved, or gone
                    hosted.scheduled = NEVER
                    late = max(late, now - time)
                    found.append(hosted)
        return found, late
