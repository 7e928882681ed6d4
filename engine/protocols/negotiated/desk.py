"""Workers, services and tasks: the LRU queue of each service, its backlog, and the wait queue.

- A worker stands in the LRU queue of every service that it offers while it has a free slot, and in none otherwise.
- A task is in exactly one place: the backlog of its service, or in flight with one worker.
- Every change is one call here, and each is noted in ``log`` while somebody asks for it. A second desk that is told
  the same calls in the same order is the same desk: that is how a fallback is kept up to date.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from engine.parts.inflight import InFlight, Task, TaskKey
from engine.parts.ready import Ready
from engine.parts.view import WorkerRow

Op = list[Any]
"""One change, as it is noted: a letter and its plain arguments (``engine.protocols.negotiated.replica``)."""

MAX_QUEUES = 1024  # services at one broker


class Member:
    """A worker. ``away``: known from the other broker only, and not yet heard here. Times: monotonic seconds.

    ``asked``: when it was last asked what it holds. ``extra``: seconds of silence that it may have beyond the usual,
    for it asked for a longer interval. ``row``: its picture, None when that is out of date.
    """

    __slots__ = (
        "asked",
        "away",
        "done",
        "draining",
        "extra",
        "failed",
        "free",
        "heard",
        "joined",
        "key",
        "name",
        "row",
        "services",
        "skew",
        "slots",
        "version",
    )

    def __init__(self, key: bytes, services: tuple[str, ...], slots: int) -> None:
        self.key, self.services, self.slots = key, services, slots
        self.name = ""
        self.free = slots
        self.away = self.draining = False
        self.version = 0
        self.extra = self.skew = self.joined = self.heard = self.asked = 0.0
        self.done = self.failed = 0
        self.row: WorkerRow | None = None

    @property
    def stands(self) -> str:
        """Its state in the map of ``explain``."""
        if self.away:
            return "unknown"
        if self.draining or not self.services:
            return "draining"
        return "ready" if self.free else "busy"


class Queue:
    """One service: who is ready for it, what waits for a worker, and how many tasks workers hold."""

    __slots__ = ("backlog", "held", "ready")

    def __init__(self) -> None:
        self.ready: Ready[bytes] = Ready()
        self.backlog: deque[Task] = deque()
        self.held = 0


class Desk:
    """``queued`` counts the tasks in all backlogs; ``tasks`` finds every one of the desk by its key."""

    def __init__(self) -> None:
        self.members: dict[bytes, Member] = {}
        self.queues: dict[str, Queue] = {}
        self.tasks: dict[TaskKey, Task] = {}
        self.size = 0  # bytes of their bodies
        self.in_flight = InFlight()
        self.queued = 0
        self.filled = 0  # how often a worker was given its last slot's task
        self.freed = 0  # how often one that was full, and is to go on, let go of one
        self._walked: Counter[tuple[str, str]] = Counter()  # edges of ``explain``, but for those of each task
        self.log: list[Op] | None = None

    # ---- workers ------------------------------------------------------------------------------------------------

    def join(self, key: bytes, services: tuple[str, ...], slots: int) -> Member:
        """A worker that is new, or that offers something else from now on; what it holds it keeps."""
        member = self.members.get(key)
        if member is None:
            member = self.members[key] = Member(key, services, slots)
        else:
            self._unqueue(member)
        member.services, member.slots = services, slots
        member.free = slots - self.in_flight.held(key)
        member.away, member.row = False, None
        for name in services:
            if name not in self.queues:
                self.queues[name] = Queue()
        self._queue(member)
        if self.log is not None:
            self.log.append(["j", key, list(services), slots])
        return member

    def leave(self, key: bytes) -> list[Task]:
        """A worker is gone. What it held, in no place now: each is for ``requeue`` or ``end``."""
        member = self.members.pop(key)
        self._unqueue(member)
        if self.log is not None:
            self.log.append(["l", key])
        tasks = self.in_flight.take_all(key)
        for task in tasks:
            self.queues[task.kind].held -= 1
        return tasks

    def drain(self, key: bytes) -> None:
        """Give a worker nothing new."""
        member = self.members[key]
        self._unqueue(member)
        member.draining, member.row = True, None

    def _queue(self, member: Member) -> None:
        if member.free > 0 and not member.draining and not member.away:
            for name in member.services:
                self.queues[name].ready.put(member.key)

    def _unqueue(self, member: Member) -> None:
        for name in member.services:
            self.queues[name].ready.drop(member.key)

    # ---- tasks --------------------------------------------------------------------------------------------------

    def service(self, name: str) -> Queue | None:
        """A service's queue, made if need be; None when there are too many."""
        queue = self.queues.get(name)
        if queue is None and len(self.queues) < MAX_QUEUES:
            queue = self.queues[name] = Queue()
        return queue

    def accept(self, task: Task) -> None:
        """A task whose key and service are known to be fine: at the end of its backlog. ``message`` is its body."""
        self.tasks[task.key] = task
        self.size += len(task.message[0])
        self.queues[task.kind].backlog.append(task)
        self.queued += 1
        if self.log is not None:
            self.log.append(["a", *task.key, task.kind, task.message[0], task.attempt])

    def give(self, queue: Queue, now: float) -> Task | None:
        """Hand the oldest task to the worker that was used least recently; None where one of them is missing."""
        key = queue.ready.first() if queue.backlog else None
        if key is None:
            return None
        task = queue.backlog.popleft()
        self._hand(task, self.members[key], now)
        return task

    def _hand(self, task: Task, member: Member, now: float) -> None:
        self.queued -= 1
        self.queues[task.kind].held += 1
        self.in_flight.give(task, member.key, now)
        member.free -= 1
        member.row = None
        if member.free > 0:
            self._queue(member)
        else:
            self.filled += 1
            self._unqueue(member)
        if self.log is not None:
            self.log.append(["g", *task.key, member.key])

    def take(self, key: bytes, task_key: TaskKey) -> Task | None:
        """A worker lets go of a task, which is in no place now; the worker returns to its LRU queues."""
        task = self.in_flight.take(key, task_key)
        if task is None:
            return None
        self.queues[task.kind].held -= 1
        member = self.members[key]
        member.free += 1
        if member.free == 1 and not member.draining:
            self.freed += 1
        member.row = None
        self._queue(member)
        return task

    def requeue(self, task: Task) -> None:
        """A task that is in no place: first in its backlog again."""
        self.queues[task.kind].backlog.appendleft(task)
        self.queued += 1
        if self.log is not None:
            self.log.append(["r", *task.key])

    def end(self, task: Task) -> None:
        """A task that is in no place is over."""
        del self.tasks[task.key]
        self.size -= len(task.message[0])
        if self.log is not None:
            self.log.append(["e", *task.key])

    # ---- the pair -----------------------------------------------------------------------------------------------

    def pull(self, task: Task) -> bool:
        """Take a task out of wherever it is; it is in no place then. True if a worker held it."""
        if self.take(task.worker, task.key) is not None:
            return True
        self.queues[task.kind].backlog.remove(task)  # nearly always the first one
        self.queued -= 1
        return False

    def hand(self, task: Task, key: bytes, now: float) -> None:
        """Hand a task that is in no place to a named worker, as the other broker did."""
        self.queued += 1
        self._hand(task, self.members[key], now)

    def park(self) -> None:
        """Nobody has been heard here yet: every worker is away, and in no LRU queue before it is."""
        for member in self.members.values():
            member.away, member.row = True, None
            self._unqueue(member)
        self._walked.clear()
        self.filled = self.freed = 0

    # ---- the map of ``explain`` -----------------------------------------------------------------------------------

    def walk(self, member: Member | None, event: str) -> None:
        """Count an edge, from where the worker stands."""
        self._walked["unknown" if member is None else member.stands, event] += 1

    def walked(self) -> Counter[tuple[str, str]]:
        """How often each edge was walked since this desk is served from, those of tasks too."""
        return self._walked + Counter(
            {("ready", "a task, the last slot"): self.filled, ("busy", "WORKREPLY"): self.freed}
        )

    def check(self) -> None:
        """Each worker and each task is where the rules above say."""
        self.in_flight.check()
        waiting = [task for queue in self.queues.values() for task in queue.backlog]
        assert len(waiting) == self.queued
        assert sum(queue.held for queue in self.queues.values()) == self.in_flight.count
        assert len(waiting) + self.in_flight.count == len(self.tasks), "a task is in no place, or in two"
        places = [*waiting, *self.in_flight.all()]
        assert all(self.tasks.get(task.key) is task for task in places)
        assert self.size == sum(len(task.message[0]) for task in places)
        for member in self.members.values():
            held = self.in_flight.held(member.key)
            assert member.free == member.slots - held, f"{member.key!r}: free {member.free}, holds {held}"
            stands = {name for name, queue in self.queues.items() if member.key in queue.ready}
            ready = member.free > 0 and not member.draining and not member.away
            assert stands == (set(member.services) if ready else set())
        for queue in self.queues.values():
            assert all(key in self.members for key in queue.ready)
        assert all(task.worker in self.members for task in self.in_flight.all())
