"""The tasks that wait at a broker: those that were never tried, and before them the suspects.

The rules of this file (numbers are those of README.md):

- What waits is bounded, and so is what waits of one client. (R2, R17)
- What a worker gives back waits again, also beyond the bounds: it was accepted. (R3)
- Each task that waits is counted with its owner as long as it waits.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from itertools import chain

from engine.core import Command
from engine.parts.inflight import Task
from engine.parts.peak import Peak
from engine.parts.suspects import Suspects
from engine.parts.valve import Valve
from engine.protocols.roundrobin.messages import PLAIN
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.owners import Owners
from engine.protocols.roundrobin.table import Worker, is_awaited, size_of

FULL = "the backlog is full: tasks are dropped"
SHARE = "a client's share of the backlog is full: its tasks are dropped"


class Backlog:
    """``fresh``: never tried, oldest first. ``suspects``: tried by workers that were lost."""

    def __init__(self, options: Options) -> None:
        self.fresh: deque[Task] = deque()
        self.aside: dict[bytes, deque[Task]] = {}  # of ``fresh``, what an operator's limit of its client holds up
        self.valve = Valve()
        self.suspects: Suspects[Worker] = Suspects()
        self.owners = Owners(options.max_backlog, options.expiry, options.task_deadline)
        self.peak = Peak()
        self.kept = 0  # tasks that wait in a store alone
        self.over_share = 0  # tasks that were dropped because their client had enough waiting
        self._most = options.max_backlog

    def __len__(self) -> int:
        return self.here + self.kept

    @property
    def here(self) -> int:
        """The tasks that wait, without those in a store alone."""
        return self._count()

    def _count(self) -> int:
        waiting = len(self.fresh) + len(self.suspects.waiting)
        return waiting + sum(map(len, self.aside.values())) if self.aside else waiting

    def mark(self, now: float) -> None:
        """More wait than before."""
        self.peak.mark(self._count(), now)

    def admit(self, client: bytes, size: int) -> str:
        """Why one task more may not wait; empty where it may, and then it is counted: the caller puts it to ``fresh``.

        ``size``: bytes that it brings.
        """
        if self._count() >= self._most:
            return FULL
        mine = self.owners.waiting.get(client, 0)
        if mine < self.owners.most and not size:
            self.owners.waiting[client] = mine + 1
        elif not self.owners.admit(client, size):
            self.over_share += 1
            return SHARE
        return ""

    def next(self, now: float) -> Task | None:
        """The oldest of those that were never tried and may go, which waits no longer."""
        task = self.fresh.popleft() if self.valve.open else self._let(now)
        if task is None:
            return None
        waiting, client = self.owners.waiting, task.key[0]
        if waiting[client] > 1 and len(task.message) == PLAIN:
            waiting[client] -= 1
        else:
            self.owners.leave(task)
        return task

    def _let(self, now: float) -> Task | None:
        if not self.valve.flows(now):
            return None
        for client, line in self.aside.items():
            if self.valve.lets(client, now):
                task = line.popleft()
                if not line:
                    del self.aside[client]
                return task
        while self.fresh:
            task = self.fresh.popleft()
            if task.key[0] not in self.aside and self.valve.lets(task.key[0], now):
                return task
            self.aside.setdefault(task.key[0], deque()).append(task)
        return None

    def limit(self, client: bytes, rate: float | None, now: float, out: list[Command]) -> None:
        """See ``Valve.limit``. What was held up waits before all others again."""
        self.valve.limit(client, rate, now, out)
        for line in reversed(self.aside.values()):
            self.fresh.extendleft(reversed(line))
        self.aside.clear()

    def _line(self, task: Task) -> deque[Task]:
        """Where it waits."""
        if task.attempt:
            return self.suspects.waiting
        held_up = self.aside.get(task.key[0], ())
        return self.aside[task.key[0]] if task in held_up else self.fresh

    def again(self, tasks: list[Task]) -> None:
        """Tasks that a worker gave back wait before all others, in the order in which they were given."""
        for task in tasks:
            self.owners.again(task)
        self.suspects.waiting.extendleft(task for task in reversed(tasks) if task.attempt)
        self.fresh.extendleft(task for task in reversed(tasks) if not task.attempt)

    def load(self, task: Task) -> None:
        """A task of the store waits here, behind all others of its kind."""
        self.owners.again(task)
        (self.suspects.waiting if task.attempt else self.fresh).append(task)

    def remove(self, task: Task) -> None:
        """A task waits no longer, and no worker gets it."""
        line = self._line(task)
        line.remove(task)
        self._tidy()
        self.owners.leave(task)

    def move(self, task: Task, first: bool) -> None:
        """An operator says that a task is the next of its kind, or the last: suspects still go before all others."""
        line = self._line(task)
        line.remove(task)
        (line.appendleft if first else line.append)(task)

    def heads(self) -> list[Task]:
        """The task that is given next."""
        return [line[0] for line in (self.suspects.waiting, self.fresh) if line][:1]

    def withdraw(self, clients: Collection[bytes], gone: bool) -> list[Task]:
        """Take out what waits of these clients; of clients that are ``gone`` only what wants a reply."""
        found: list[Task] = []
        for waiting in (self.suspects.waiting, *self.aside.values(), self.fresh):
            mine = [task for task in waiting if task.key[0] in clients and (is_awaited(task) or not gone)]
            if mine:
                found += mine
                here = set(mine)
                others = [task for task in waiting if task not in here]
                waiting.clear()
                waiting.extend(others)
        self._tidy()
        for task in found:
            self.owners.leave(task)
        return found

    def _tidy(self) -> None:
        for client in [client for client, line in self.aside.items() if not line]:
            del self.aside[client]

    def all(self) -> list[Task]:
        """Those that wait here."""
        return [*self.suspects.waiting, *chain.from_iterable(self.aside.values()), *self.fresh]

    def check(self) -> None:
        """Fresh tasks and suspects are apart, no worker holds any of them, and each is counted with its owner."""
        tasks = self.all()
        assert not self.aside or not self.valve.open, "a task is held up by no limit"
        assert all(self.aside.values()), "an empty line"
        assert all(not task.worker for task in tasks), "a queued task names a holder"
        assert not any(task.attempt for task in self.fresh), "a suspect waits among the others"
        sizes: Counter[bytes] = Counter()
        for task in tasks:
            sizes[task.key[0]] += size_of(task.message)
        self.owners.check(Counter(task.key[0] for task in tasks), sizes)
