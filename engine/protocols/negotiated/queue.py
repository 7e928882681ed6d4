"""One service at a broker of seed 004: who is ready for it, and what waits for a worker."""

from __future__ import annotations

from collections import deque

from engine.core import NEVER
from engine.parts.inflight import Task
from engine.parts.ready import Ready
from engine.parts.suspects import Suspects


class Queue:
    """``offered``: by how many workers. ``tasks``: those of the service, wherever they are; workers hold ``held``."""

    __slots__ = ("backlog", "held", "offered", "ready", "suspects", "tasks")

    def __init__(self) -> None:
        self.ready: Ready[bytes] = Ready()
        self.backlog: deque[Task] = deque()  # never given
        self.suspects: Suspects[bytes] = Suspects()
        self.held = self.offered = self.tasks = 0

    @property
    def queued(self) -> int:
        """How many tasks wait."""
        return len(self.backlog) + len(self.suspects.waiting)

    @property
    def oldest(self) -> float:
        """When the oldest task of those that wait was accepted, NEVER where none waits."""
        return min((task.accepted for line in (self.suspects.waiting, self.backlog) for task in line), default=NEVER)

    def pop_old(self, before: float) -> list[Task]:
        """Take out what waits since that time or longer, wherever an operator has moved it."""
        gone = []
        for line in (self.suspects.waiting, self.backlog):
            gone += [task for task in line if task.accepted <= before]
            kept = [task for task in line if task.accepted > before]
            line.clear()
            line.extend(kept)
        return gone

    def move(self, task: Task, first: bool) -> None:
        """A task that waits is the next one of its kind, or the last: suspects still go before all others."""
        line = self.suspects.waiting if task.attempt else self.backlog
        line.remove(task)
        (line.appendleft if first else line.append)(task)

    def heads(self) -> list[Task]:
        """The task that is given next."""
        return [line[0] for line in (self.suspects.waiting, self.backlog) if line][:1]
