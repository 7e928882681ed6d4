"""The clients that send tasks to a broker, and the oldest tasks, as an operator is shown them.

The rules of this file:

- Per task only two figures of its client change: how many it sent, and when it was heard last. All else is read from
  the tasks that are under way, in one pass, when a picture is made.
- A picture of many tasks holds for longer, so that making it takes about one hundredth of the broker's time at most.
- The table is bounded: when there are too many clients, the oldest is forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from engine.core import NEVER
from engine.parts.inflight import Task

KEPT = 4096  # clients that are counted
CLIENTS = 256  # that are shown, those first that have most under way
OLDEST = 500  # tasks that are shown
PACE = 2e-5  # seconds that a picture holds, a task


class ClientRow(NamedTuple):
    """One client at a broker. Times are monotonic seconds of the broker."""

    key: bytes  # its routing id
    sent: int  # tasks so far
    heard: float  # when the last one came
    waiting: int  # of them, those that no worker has
    in_flight: int  # and those that one has
    oldest: float  # when the oldest of both came; NEVER where it has none


class Underway(NamedTuple):
    """One task that has not ended, or the tasks of one kind that wait together."""

    client: bytes
    id: bytes
    kind: str
    accepted: float  # monotonic seconds
    attempt: int  # deliveries so far
    worker: bytes  # who has it; empty while it waits
    tasks: int = 1
    next: bool = False  # whether it is given before all others that wait


Look = Callable[[], tuple[Collection[Task], Collection[Underway], Collection[Task]]]
"""All tasks that are under way, oldest first; those that wait may be told in crowds, and have no record then.

Last those that are given next, where they have an order that an operator may change.
"""

Shown = tuple[tuple[ClientRow, ...], tuple[Underway, ...]]


MOVED = {True: "waits before the others now", False: "waits behind the others now"}
"""How an operator is told of ``Move``, by its ``first``."""

_NOBODY: list[Any] = [0, 0.0]


class Callers:
    """The clients of one broker. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.known: dict[bytes, list[Any]] = {}  # tasks so far, and when the last one came; a fast broker adds itself
        self._shown: Shown = ((), ())
        self._until = -NEVER

    def sent(self, client: bytes, tasks: int, now: float) -> None:
        """A client sent so many tasks."""
        one = self.known.get(client)
        if one is not None:
            one[0] += tasks
            one[1] = now
            return
        self.known[client] = [tasks, now]
        if len(self.known) > KEPT:
            del self.known[next(iter(self.known))]

    def view(self, look: Look, now: float) -> Shown:
        """The clients, and the oldest tasks."""
        if now < self._until:
            return self._shown
        tasks, crowds, heads = look()
        first = {task.key for task in heads}
        self._until = now + (len(tasks) + len(crowds)) * PACE
        waiting = Counter[bytes]()
        held = Counter[bytes]()
        since: dict[bytes, float] = {}
        for task in tasks:
            client = task.key[0]
            if client not in since:
                since[client] = task.accepted
            if task.worker:
                held[client] += 1
            else:
                waiting[client] += 1
        for crowd in crowds:
            waiting[crowd.client] += crowd.tasks
            since[crowd.client] = min(crowd.accepted, since.get(crowd.client, NEVER))
        rows = (
            ClientRow(key, sent, heard, waiting[key], held[key], since.get(key, NEVER))
            for key, (sent, heard) in {**dict.fromkeys(since, _NOBODY), **self.known}.items()
        )
        most = nlargest(CLIENTS, rows, key=lambda row: (row.waiting + row.in_flight, row.heard))
        oldest = sorted(
            (*(_shown(task, task.key in first) for task in islice(tasks, OLDEST)), *crowds), key=attrgetter("accepted")
        )
        self._shown = tuple(most), tuple(oldest[:OLDEST])
        return self._shown


def _shown(task: Task, first: bool) -> Underway:
    return Underway(*task.key, task.kind, task.accepted, task.attempt, task.worker, next=first)
