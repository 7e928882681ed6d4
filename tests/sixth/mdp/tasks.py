"""The broker's tasks: what is out and until when, and how each one ended. What waits stands in its service.

The rules of this file:

- A task is accepted once and ends once. Between the two it waits at its service or is with exactly one worker.
- Its client owns it, and may have a share of all that waits.
- A delivery has a deadline, by the kind of its task; a worker holds one task, so deadlines are kept by worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from engine.core import NEVER
from engine.parts.inflight import InFlight, Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs, sampled
from engine.parts.limits import MAX_BACKLOG, MAX_HELD
from engine.parts.liveness import Liveness
from engine.parts.owners import Owners
from engine.parts.view import LedgerView
from tests.sixth.mdp.messages import kind_of
from tests.sixth.mdp.options import Options


class Tasks:
    """Every task of one broker. Times are monotonic seconds, workers are routing ids."""

    def __init__(self, options: Options) -> None:
        self.owners: Owners[bytes] = Owners(options.max_backlog, MAX_BACKLOG, NEVER)  # a client's silence says nothing
        self.out = InFlight()
        self.legs = BrokerLegs()
        self.redelivered = 0
        self.size = 0  # bytes of all bodies
        self._attempts = options.max_deliveries
        self._open: dict[TaskKey, Task] = {}  # accepted and not ended
        self._ledger = Ledger()
        self._probes = Liveness(options.probe_deadline)  # workers with a ping or data task, since it was given
        self._jobs = Liveness(options.task_deadline)  # workers with any other

    def get(self, key: TaskKey) -> Task | None:
        """A task that was accepted and has not ended."""
        return self._open.get(key)

    def excess(self, client: bytes, size: int, idle: bool) -> str:
        """Why one more task of this client has no room; empty where it has. ``idle``: it would not wait."""
        if self.size + size > MAX_HELD:
            return f"requests of {self.size} bytes are held"
        return self.owners.excess(client, 0 if idle else 1, size)

    def accept(self, key: TaskKey, service: bytes, body: list[bytes], now: float) -> Task:
        """Take in a new task, which is to wait."""
        self._ledger.sent += 1
        task = self._open[key] = Task(key, kind_of(body), [service, *body], now)
        self.owners.add(*key, 1, _size(task), now)
        self.size += _size(task)
        return task

    def give(self, task: Task, worker: bytes, now: float) -> None:
        """A task waits no longer: a worker that holds none has it."""
        self.owners.wait(task.key[0], -1)
        self.out.give(task, worker, now)
        self._watch(task).heard(worker, now)

    def done(self, task: Task, now: float) -> None:
        """A worker has answered."""
        self._untie(task)
        self._end(task)
        self._ledger.succeeded += 1
        if sampled(task.key[1]):
            self.legs.note(*task.key, task.accepted, task.given, now)

    def retry(self, task: Task, never_left: bool = False) -> bool:
        """A delivery came to nothing. True: the task waits again; False: it has failed for good."""
        self._untie(task)
        task.attempt -= never_left
        if task.attempt < self._attempts:
            self.redelivered += not never_left
            self.owners.wait(task.key[0], 1)
            return True
        self._end(task)
        self._ledger.fail("undeliverable")
        return False

    def withdraw(self, task: Task) -> None:
        """A task that waited is not to be done any more."""
        self.owners.wait(task.key[0], -1)
        self._end(task)
        self._ledger.fail("withdrawn")

    def overdue(self, now: float) -> list[bytes]:
        """Workers whose task is past its deadline."""
        return [*self._probes.expired(now), *self._jobs.expired(now)]

    def grace(self, seconds: float) -> None:
        """Move every deadline."""
        self._probes.grace(seconds)
        self._jobs.grace(seconds)

    def wake_at(self) -> float:
        """No later than the next deadline."""
        return min(self._probes.wake_at(), self._jobs.wake_at())

    def ledger(self, waiting: int) -> LedgerView:
        """The ledger, with what waits and what is out as it is."""
        return self._ledger.view(self.out.count, waiting)

    def check(self, waiting: Iterable[Task]) -> None:
        """Every open task is in one place, one to a worker, with a deadline; the ledger balances."""
        waiting = list(waiting)
        out = self.out.all()
        self.out.check()
        assert self.ledger(len(waiting)).balanced, "the ledger does not balance"
        places = [task.key for task in (*out, *waiting)]
        assert len(places) == len(set(places)) and set(places) == set(self._open), "a task is lost or in two places"
        assert len(out) == len({task.worker for task in out}), "a worker holds two tasks"
        assert all(task.worker in self._watch(task) for task in out), "a task has no deadline"
        assert len(self._probes) + len(self._jobs) == len(out)
        sizes: Counter[bytes] = Counter()
        for task in (*out, *waiting):
            sizes[task.key[0]] += _size(task)
        assert self.size == sizes.total()
        self.owners.check(Counter(task.key[0] for task in waiting), sizes, Counter(key[0] for key in places))

    def _watch(self, task: Task) -> Liveness:
        return self._jobs if task.kind == "job" else self._probes

    def _untie(self, task: Task) -> None:
        self.out.take(task.worker, task.key)
        self._watch(task).forget(task.worker)

    def _end(self, task: Task) -> None:
        del self._open[task.key]
        self.owners.end(*task.key, _size(task))
        self.size -= _size(task)


def _size(task: Task) -> int:
    return sum(map(len, task.message))
