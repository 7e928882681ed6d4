"""What every trace is: a bounded ring of what was said, explained when somebody looks, and once.

The rules of this file:

- The ring is bounded in messages and in bytes; the oldest go first.
- Who fills it says how a record is explained (``_entries``), and how entries become arrows and a life.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from itertools import islice
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from engine.core import Command, Event
from engine.parts.inflight import TaskKey
from engine.tracing.filter import Filter
from engine.tracing.links import Arrow, Entry, Life, arrows, life

KEPT = 20_000  # messages
BYTES = 64 * 1024 * 1024


class Step(NamedTuple):
    """One record as it was played: what a core was given and what it answered."""

    record: int
    at: float
    node: str
    name: str
    event: Event
    commands: list[Command]


class Record:
    """One message as one end saw it. ``record``: of the journal that is replayed, None while nothing is."""

    __slots__ = ("at", "entries", "number", "record", "size")

    def __init__(self, number: int, at: float, size: int, record: int | None) -> None:
        self.number, self.at, self.size, self.record = number, at, size, record
        self.entries: tuple[Entry, ...] | None = None


R = TypeVar("R", bound=Record)


class Ring(ABC, Generic[R]):
    """What can be asked of a trace, from any thread. ``total``: messages so far."""

    def __init__(self, kept: int = KEPT, most: int = BYTES) -> None:
        """``most``: bytes."""
        self.total = 0
        self._kept, self._most = kept, most
        self._ring: deque[R] = deque()
        self._bytes = 0
        self._lock = Lock()
        self._record: int | None = None  # of the journal, while one is replayed

    def _keep(self, record: R) -> R:
        """Append a record; the caller holds the lock and has counted the message."""
        ring = self._ring
        ring.append(record)
        self._bytes += record.size
        while len(ring) > self._kept or (self._bytes > self._most and len(ring) > 1):
            self._bytes -= ring.popleft().size
        return record

    def step(self, step: Step) -> None:
        """What a replayed record says; fit for ``Replay.seek``'s watch."""
        self._record = step.record
        self.tap(step.node, step.name, step.at, step.event, step.commands)
        self._record = None

    def named(self, peer: bytes, name: str) -> None:
        """The name of a peer outside this process; ignored where nobody is called by a routing id."""

    def cost(self) -> str:
        """What tracing costs, in words; nothing where that is not measured."""
        return ""

    def clear(self) -> None:
        """Forget every message; numbers go on."""
        with self._lock:
            self._ring.clear()
            self._bytes = 0

    # ---- what differs -------------------------------------------------------------------------------------------

    @abstractmethod
    def tap(self, node: str, name: str, now: float, event: Any, commands: Any) -> None:
        """One event of a core and what came of it."""

    @abstractmethod
    def _entries(self, record: R) -> Iterable[Entry]:
        """What a record says."""

    def _arrows(self, entries: Iterable[Entry]) -> list[Arrow]:
        """Entries in the order of their numbers → arrows in the order in which they began."""
        return arrows(entries)

    def _life(self, task: TaskKey, found: list[Arrow]) -> Life:
        """One task's legs among arrows."""
        return life(task, found)

    @property
    def lanes(self) -> tuple[str, ...]:
        """The order of the lanes of a ladder, as far as the trace knows a better one than by roles."""
        return ()

    # ---- who looks ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Messages in the ring."""
        return len(self._ring)

    def entries(self, where: Filter | None = None, limit: int | None = None, before: int | None = None) -> list[Entry]:
        """The newest ``limit`` entries that fit, oldest first; ``before``: with a smaller number than this one."""
        found: list[Entry] = []
        told: dict[tuple[int, int], Entry] = {}
        if where is not None and where.needs_task:
            told = {(end.number, end.part): end for arrow in self.arrows() for end in arrow.ends}
        for record in self._newest(None, before):
            for entry in reversed(self._explained(record)):
                entry = told.get((entry.number, entry.part), entry)
                if where is None or where(entry):
                    found.append(entry)
            if limit is not None and len(found) >= limit:
                break
        found.reverse()
        return found if limit is None else found[-limit:]

    def arrows(self, where: Filter | None = None, limit: int | None = None, before: int | None = None) -> list[Arrow]:
        """Messages on their way, of the newest ``limit`` that the ring holds, and of those what fits at either end."""
        records = list(self._newest(limit, before))
        records.reverse()
        found = self._arrows(entry for record in records for entry in self._explained(record))
        return found if where is None else [arrow for arrow in found if any(map(where, arrow.ends))]

    def entry(self, number: int, part: int = 0) -> Entry | None:
        """One entry; None where it has left the ring."""
        record = next((record for record in self._newest(None, number + 1) if record.number == number), None)
        entries = () if record is None else self._explained(record)
        return entries[part] if part < len(entries) else None

    def follow(self, task: TaskKey) -> Life:
        """One task's way, as far as the ring still knows it."""
        return self._life(task, self.arrows())

    def _newest(self, limit: int | None, before: int | None) -> Iterable[R]:
        with self._lock:
            records = list(self._ring)
        if before is not None and records:
            del records[max(0, before - records[0].number) :]
        return islice(reversed(records), limit)

    def _explained(self, record: R) -> tuple[Entry, ...]:
        if record.entries is None:
            record.entries = tuple(self._entries(record))
        return record.entries
