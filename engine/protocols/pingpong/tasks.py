"""The broker's tasks: what waits, what is out and until when, and how each one ended.

The rules of this file:

- A task is accepted once and ends once. Between the two it waits in the backlog or is with exactly one worker.
- Its client owns it: what waits of a client is withdrawn when that is gone, or an operator says so.
- A delivery has a deadline, by the kind of its task; a worker holds one task, so deadlines are kept by worker.
- A delivery that came to nothing puts the task at the head of the backlog, until its attempts are used up.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable

from engine.core import NEVER, Leased
from engine.parts.inflight import InFlight, Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs, sampled
from engine.parts.limits import MAX_BACKLOG
from engine.parts.liveness import Liveness
from engine.parts.owners import Owners
from engine.parts.peak import Peak
from engine.parts.store import AGAIN
from engine.parts.valve import Valve
from engine.parts.view import LedgerView
from engine.protocols.pingpong.messages import kind_of
from engine.protocols.pingpong.options import Options

SILENCE = 2  # times WORKER_EXPIRE_SECONDS, and a client is gone; it opens its socket anew before


class Tasks:
    """Every task of one broker. Times are monotonic seconds, workers are routing ids."""

    def __init__(self, options: Options) -> None:
        self.backlog: deque[Task] = deque()
        self.size = 0  # bytes of all jobs
        self.legs = BrokerLegs()
        self.owners: Owners[bytes] = Owners(options.max_backlog, MAX_BACKLOG, SILENCE * options.worker_expiry)
        self.peak = Peak()
        self.valve: Valve | None = None  # None while nothing is limited
        self.redelivered = 0
        self.kept = 0  # tasks that wait in a store, and stand in no other place
        self._attempts = options.max_deliveries
        self._out = InFlight()
        self._open: dict[TaskKey, Task] = {}  # accepted and not ended
        self._ledger = Ledger()
        self._probes = Liveness(options.probe_deadline)  # workers with a ping or data task, since it was given
        self._jobs = Liveness(options.task_deadline)  # workers with any other

    def __len__(self) -> int:
        return len(self.backlog) + self.kept

    def get(self, key: TaskKey) -> Task | None:
        """A task that was accepted and has not ended."""
        return self._open.get(key)

    @property
    def in_flight(self) -> int:
        """How many tasks workers hold."""
        return self._out.count

    def accept(self, key: TaskKey, job: bytes, now: float) -> None:
        """Take in a new task, at the end of the backlog."""
        self._ledger.sent += 1
        self._enter(key, job, now)

    def _enter(self, key: TaskKey, job: bytes, now: float) -> Task:
        task = self._open[key] = Task(key, kind_of(job), [job], now)
        self.owners.add(key[0], key[1], 1, len(job), now)
        self.size += len(job)
        self.backlog.append(task)
        return task

    def give(self, worker: bytes, now: float) -> Task:
        """Take the oldest waiting task out of the backlog, for a worker that holds none."""
        task = self.backlog.popleft()
        self.owners.wait(task.key[0], -1)
        self._out.give(task, worker, now)
        self._watch(task).heard(worker, now)
        return task

    def done(self, task: Task, now: float) -> None:
        """A worker has answered."""
        self._untie(task)
        self._end(task)
        self._ledger.succeeded += 1
        client, task_id = task.key
        if sampled(task_id):
            self.legs.note(client, task_id, task.accepted, task.given, now, task.worker, task.attempt)

    def undo(self, task: Task) -> None:
        """A task never left for its worker: the delivery does not count."""
        task.attempt -= 1
        self.retry(task)

    def retry(self, task: Task) -> bool:
        """A delivery came to nothing. True: the task waits again, as the next; False: it has failed for good."""
        self._untie(task)
        if task.attempt < self._attempts:
            self.redelivered += 1
            self.owners.wait(task.key[0], 1)
            self.backlog.appendleft(task)
            return True
        self._end(task)
        self._ledger.fail("undeliverable")
        return False

    def withdraw(self, clients: Collection[bytes]) -> list[Task]:
        """What waits of these clients has failed; what workers have of it is theirs to end."""
        gone = [task for task in self.backlog if task.key[0] in clients]
        if gone:
            self.backlog = deque(task for task in self.backlog if task.key[0] not in clients)
            self._ledger.fail("withdrawn", len(gone))
        for task in gone:
            self.owners.wait(task.key[0], -1)
            self._end(task)
        return gone

    def discard(self, task: Task) -> bool:
        """A task that waits has failed; False where a worker has it."""
        if task not in self.backlog:
            return False
        self.backlog.remove(task)
        self._ledger.fail("withdrawn")
        self.owners.wait(task.key[0], -1)
        self._end(task)
        return True

    def move(self, task: Task, first: bool) -> bool:
        """A task that waits is the next one, or the last; False where a worker has it."""
        if task not in self.backlog:
            return False
        self.backlog.remove(task)
        (self.backlog.appendleft if first else self.backlog.append)(task)
        return True

    def all(self) -> Collection[Task]:
        """Those that have not ended, oldest first."""
        return self._open.values()

    def overdue(self, now: float) -> list[bytes]:
        """Workers whose task is past its deadline; each is named once a delivery."""
        return [*self._probes.expired(now), *self._jobs.expired(now)]

    def deadline(self, task: Task) -> float:
        """When a task that is out becomes overdue."""
        watch = self._watch(task)
        return watch.last(task.worker) + watch.expiry

    def held(self, worker: bytes) -> Iterable[Task]:
        """What a worker holds."""
        return self._out.of(worker)

    def grace(self, seconds: float) -> None:
        """Move every deadline."""
        self.owners.grace(seconds)
        self._probes.grace(seconds)
        self._jobs.grace(seconds)

    def wake_at(self) -> float:
        """No later than the next deadline, or a client's."""
        limited = NEVER if self.valve is None else self.valve.due
        return min(self._probes.wake_at(), self._jobs.wake_at(), self.owners.wake_at(), limited)

    def ledger(self) -> LedgerView:
        """The books, with what waits and what is out as it is."""
        return self._ledger.view(self._out.count, len(self))

    # ---- of a broker with a store ------------------------------------------------------------------------------------

    def refuse(self) -> None:
        """A task is not kept."""
        self._ledger.sent += 1
        self._ledger.dropped += 1

    def stored(self, news: int, waiting: int) -> None:
        """So many tasks are the store's that were not, and so many wait there now."""
        self._ledger.sent += news
        self.kept = waiting

    def load(self, one: Leased, now: float) -> TaskKey | None:
        """A task of the store waits here; None where its client asked for it again, and it is here already."""
        key = (one.client, one.message[1])
        self.redelivered += bool(one.attempts)
        if key in self._open:
            self._ledger.fail(AGAIN)
            return None
        self._enter(key, one.message[2], now).attempt = min(one.lost, self._attempts - 1)
        return key

    def check(self) -> None:
        """Every open task is in one place, one to a worker, with a deadline; the ledger balances."""
        self._out.check()
        self._probes.check()
        self._jobs.check()
        assert self.ledger().balanced, "the ledger does not balance"
        out = self._out.all()
        all_ = [*out, *self.backlog]
        places = [task.key for task in all_]
        assert len(places) == len(set(places)) and set(places) == set(self._open), "a task is lost or in two places"
        assert self.size == sum(len(task.message[0]) for task in all_)
        sizes: Counter[bytes] = Counter()
        for task in all_:
            sizes[task.key[0]] += len(task.message[0])
        self.owners.check(Counter(task.key[0] for task in self.backlog), sizes, Counter(key[0] for key in places))
        assert len(out) == len({task.worker for task in out}), "a worker holds two tasks"
        assert all(1 <= task.attempt <= self._attempts for task in out)
        assert all(task.worker in self._watch(task) for task in out), "a task has no deadline"
        assert len(self._probes) + len(self._jobs) == len(out)

    def _watch(self, task: Task) -> Liveness:
        return self._jobs if task.kind == "job" else self._probes

    def _end(self, task: Task) -> None:
        del self._open[task.key]
        size = len(task.message[0])
        self.owners.end(*task.key, size)
        self.size -= size

    def _untie(self, task: Task) -> None:
        self._out.take(task.worker, task.key)
        self._watch(task).forget(task.worker)
