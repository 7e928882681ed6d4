"""The owners of the tasks that wait: each client owns its own, and may have a share of the backlog, no more (R17).

The rules of this file:

- What waits is counted by client, in tasks and in the bytes that they bring. Slots bound what workers hold.
- A client whose connection ended and that did not come back within ``expiry`` is gone. It is remembered for as long as
  a worker may hold a task of it: what that worker gives back shall not wait either.
- Both are bounded: of too many whose connections ended, the oldest is gone at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from engine.core import NEVER
from engine.parts.inflight import Task
from engine.parts.owners import BYTES, Has, share
from engine.protocols.roundrobin.lanes import KEPT
from engine.protocols.roundrobin.table import size_of


class Owners:
    """Of the tasks that wait. ``backlog``: as many may wait in all. ``held``: seconds that a worker may hold a task."""

    def __init__(self, backlog: int, expiry: float, held: float) -> None:
        self.most = share(backlog)  # tasks of one client
        self.stay = False  # whether the tasks of a client that is gone are done all the same, for a store keeps them
        self._expiry, self._held = expiry, held
        self.waiting: dict[bytes, int] = {}  # tasks by client, never 0
        self._sizes: dict[bytes, int] = {}  # bytes by client, never 0
        self._ended: dict[bytes, float] = {}  # clients whose connection ended → when they are gone, the first one first
        self._gone: dict[bytes, float] = {}  # → when they are forgotten, the first one first

    # ---- what waits ----------------------------------------------------------------------------------------------

    def admit(self, client: bytes, size: int) -> bool:
        """One task more of a client waits, and brings so many bytes; False where that is over its share."""
        mine = self.waiting.get(client, 0)
        if mine >= self.most:
            return False
        if size:
            held = self._sizes.get(client, 0) + size
            if held > BYTES:
                return False
            self._sizes[client] = held
        self.waiting[client] = mine + 1
        return True

    def again(self, task: Task) -> None:
        """A task that was given waits again, whatever the share is."""
        client, size = task.key[0], size_of(task.message)
        self.waiting[client] = self.waiting.get(client, 0) + 1
        if size:
            self._sizes[client] = self._sizes.get(client, 0) + size

    def leave(self, task: Task) -> None:
        """A task waits no longer."""
        client, size = task.key[0], size_of(task.message)
        self.waiting[client] -= 1
        if not self.waiting[client]:
            del self.waiting[client]
        if size:
            self._sizes[client] -= size
            if not self._sizes[client]:
                del self._sizes[client]

    def all(self) -> Iterator[Has]:
        """What each client has waiting."""
        return (Has(client, n, n, self._sizes.get(client, 0)) for client, n in self.waiting.items())

    # ---- who is there --------------------------------------------------------------------------------------------

    def ended(self, client: bytes, now: float) -> None:
        """Its connection ended."""
        if self.stay:
            return
        self._ended.pop(client, None)
        self._ended[client] = max(now + self._expiry, _last(self._ended))
        if len(self._ended) > KEPT:
            self._ended[next(iter(self._ended))] = now

    def back(self, client: bytes) -> None:
        """It has another connection."""
        self._ended.pop(client, None)
        self._gone.pop(client, None)

    def gone(self, client: bytes) -> bool:
        """Whether it did not come back in time."""
        return client in self._gone

    def expire(self, now: float) -> list[bytes]:
        """The clients that have gone since the last call."""
        found: list[bytes] = []
        for client, at in self._ended.items():
            if at > now and len(self._ended) - len(found) <= KEPT:
                break
            found.append(client)
        for client in found:
            del self._ended[client]
            self._gone[client] = max(now + self._held, _last(self._gone))
        while self._gone and (len(self._gone) > KEPT or next(iter(self._gone.values())) <= now):
            del self._gone[next(iter(self._gone))]
        return found

    def wake_at(self) -> float:
        """When the next one is gone, or forgotten."""
        return min(next(iter(self._ended.values()), NEVER), next(iter(self._gone.values()), NEVER))

    def grace(self, seconds: float) -> None:
        """This process was paused: move every deadline."""
        for times in (self._ended, self._gone):
            for client in times:
                times[client] += seconds

    def check(self, waiting: Counter[bytes], sizes: Counter[bytes]) -> None:
        """The counts are those of the tasks that wait, by client."""
        assert self.waiting == waiting and self._sizes == +sizes, "what waits is miscounted"
        assert list(self._ended.values()) == sorted(self._ended.values()), "who ended last is gone first"
        assert len(self._gone) <= KEPT


def _last(times: dict[bytes, float]) -> float:
    """The time of the newest: after a pause that was not as long as it was told, later ones come no earlier."""
    return next(reversed(times.values()), 0.0)
