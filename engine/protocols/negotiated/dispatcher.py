"""Workers, services and tasks: the LRU queue of each service, its backlog, and the wait queue.

- A worker stands in the LRU queue of every service that it offers while it has a free slot, and in none otherwise.
- A task is in exactly one place: the backlog of its service, or in flight with one worker.
- A task has its client as owner (``owners``), and what waits of a client is withdrawn with it.
- A queue is there while somebody offers its service or a task is for it.
- A task that was given and came back is a suspect of its service: it goes before the backlog, to a worker alone.
- Every change is one call here, and each is noted in ``log`` while somebody asks for it. A second dispatcher that
  is told the same calls in the same order is the same: that is how a fallback is kept up to date.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Any

from engine.core import NEVER
from engine.parts.inflight import InFlight, Task, TaskKey
from engine.parts.limits import MAX_HELD
from engine.parts.machine import Walk
from engine.parts.peak import Peak
from engine.parts.view import Walked
from engine.protocols.negotiated.machine import SEEN, On, Seen
from engine.protocols.negotiated.member import Member
from engine.protocols.negotiated.owners import Owners, share
from engine.protocols.negotiated.queue import Queue

Op = list[Any]
"""One change, as it is noted: a letter and its plain arguments (``engine.protocols.negotiated.replica``)."""

MAX_QUEUES = 1024  # services that workers offer at one broker
MAX_ASKED = 1024  # services that nobody offers, but that clients ask for
NAMED = 1024  # clients in one change


class Dispatcher:
    """``queued`` counts the tasks in all backlogs; ``tasks`` finds every one of the dispatcher by its key."""

    def __init__(self) -> None:
        self.members: dict[bytes, Member] = {}
        self.queues: dict[str, Queue] = {}
        self.tasks: dict[TaskKey, Task] = {}
        self.owners = Owners()
        self.size = 0  # bytes of their bodies
        self.in_flight = InFlight()
        self.queued = 0
        self.peak = Peak()
        self.suspected: set[str] = set()  # services that may have suspects
        self.unoffered: dict[str, float] = {}  # services that have tasks and that nobody offers, and since when
        self._walk_anew()
        self.log: list[Op] | None = None

    # ---- workers ------------------------------------------------------------------------------------------------

    def join(self, key: bytes, services: tuple[str, ...], slots: int, now: float) -> Member:
        """A worker that is new, or that offers something else from now on; what it holds it keeps."""
        member = self.members.get(key)
        fresh = member is None
        if member is None:
            member = self.members[key] = Member(key, services, slots)
        else:
            self._set_aside(member)
        before, member.services, member.slots = (() if fresh else member.services), services, slots
        member.free = slots - self.in_flight.held(key)
        member.apart = any(task.attempt > 1 for task in self.in_flight.of(key))
        member.away, member.row = False, None
        for name in services:
            self._service(name).offered += 1
            self.unoffered.pop(name, None)
        self._offer_no_more(before, now)
        self._queue(member)
        if self.log is not None:
            self.log.append(["j", key, list(services), slots])
        return member

    def leave(self, key: bytes, now: float) -> list[Task]:
        """A worker is gone. What it held, in no place now: each is for ``requeue`` or ``end``."""
        member = self.members.pop(key)
        self._set_aside(member)
        if self.log is not None:
            self.log.append(["l", key])
        tasks = self.in_flight.take_all(key)
        for task in tasks:
            self.queues[task.kind].held -= 1
        self._offer_no_more(member.services, now)
        return tasks

    def drain(self, key: bytes, on: bool = True) -> None:
        """Give a worker nothing new, or something again."""
        member = self.members[key]
        self._set_aside(member)
        member.draining, member.row = on, None
        member.apart = not on and any(task.attempt > 1 for task in self.in_flight.of(key))
        self._queue(member)

    def _queue(self, member: Member) -> None:
        if member.free > 0 and not (member.draining or member.away or member.apart):
            for name in member.services:
                self.queues[name].ready.put(member.key)

    def _unqueue(self, member: Member) -> None:
        for name in member.services:
            self.queues[name].ready.drop(member.key)

    def _set_aside(self, member: Member) -> None:
        """In no LRU queue; another one is kept for what it was kept for."""
        self._unqueue(member)
        for queue in self._unkeep(member):
            self._keep(queue)

    def _keep(self, queue: Queue) -> None:
        """A worker for each suspect that waits, and no more. Who is kept is not noted: who takes over finds its own."""
        for key in queue.suspects.keep(queue.ready):
            self.members[key].apart = True
            self._unqueue(self.members[key])
        for key in queue.suspects.spare():
            member = self.members[key]
            member.apart = False
            self._queue(member)
            if self.log is not None:
                self.log += [["o", name, key] for name in member.services]

    def _unkeep(self, member: Member) -> list[Queue]:
        """A worker is kept no longer, nor alone; the queues that kept it."""
        member.apart = False
        queues = [self.queues[name] for name in member.services]
        return [queue for queue in queues if queue.suspects.kept.pop(member.key, member) is None]

    # ---- tasks --------------------------------------------------------------------------------------------------

    def offered(self) -> int:
        """How many services workers offer."""
        return sum(queue.offered > 0 for queue in self.queues.values())

    def _service(self, name: str) -> Queue:
        queue = self.queues.get(name)
        if queue is None:
            queue = self.queues[name] = Queue()
        return queue

    def _offer_no_more(self, services: Collection[str], now: float) -> None:
        for name in services:
            queue = self.queues[name]
            queue.offered -= 1
            if not queue.offered:
                self.unoffered[name] = now
            self._tidy(name)

    def _tidy(self, name: str) -> None:
        queue = self.queues[name]
        if not queue.tasks and not queue.offered:
            del self.queues[name]
            self.suspected.discard(name)
            self.unoffered.pop(name, None)

    def accept(self, task: Task) -> None:
        """A task whose key and service are known to be fine: at the end of its backlog. ``message`` is its body."""
        queue = self._service(task.kind)
        queue.tasks += 1
        if not queue.offered:
            self.unoffered.setdefault(task.kind, task.accepted)
        self.tasks[task.key] = task
        self.owners.add(task)
        self.size += len(task.message[0])
        self._line(task).append(task)
        self.queued += 1
        if self.log is not None:
            self.log.append(["a", *task.key, task.kind, task.message[0], task.attempt])

    def _line(self, task: Task) -> deque[Task]:
        """Where it waits."""
        queue = self.queues[task.kind]
        if not task.attempt:
            return queue.backlog
        self.suspected.add(task.kind)
        return queue.suspects.waiting

    def give_suspects(self, services: Collection[str], now: float) -> list[Task]:
        """Hand suspects of these services to workers that hold nothing; for those that still wait, workers are kept."""
        queues = [self.queues[name] for name in services if name in self.suspected]
        given = []
        for queue in queues:
            for task, key in queue.suspects.match(queue.ready, self._is_empty):
                self._hand_alone(task, self.members[key], now)
                given.append(task)
        for queue in queues:
            self._keep(queue)
        self.suspected = {name for name in self.suspected if self.queues[name].suspects.waiting}
        return given

    def _is_empty(self, key: bytes) -> bool:
        return self.members[key].free == self.members[key].slots

    def give(self, queue: Queue, now: float) -> Task | None:
        """Hand the oldest task to the worker that was used least recently; None where one of them is missing."""
        key = queue.ready.first() if queue.backlog else None
        if key is None:
            self.peak.mark(self.queued, now)
            return None
        task = queue.backlog.popleft()
        self._hand(task, self.members[key], now)
        return task

    def _hand(self, task: Task, member: Member, now: float) -> None:
        self.queued -= 1
        self.owners.given(task)
        self.queues[task.kind].held += 1
        self.in_flight.give(task, member.key, now)
        member.free -= 1
        member.row = None
        if member.free > 0:
            self._given.times += 1
            self._queue(member)
        else:
            self._filled.times += 1
            member.state = self._filled.next
            self._unqueue(member)
        if self.log is not None:
            self.log.append(["g", *task.key, member.key])

    def _hand_alone(self, task: Task, member: Member, now: float) -> None:
        self._hand(task, member, now)
        member.apart = True
        self._unqueue(member)

    def take(self, key: bytes, task_key: TaskKey) -> Task | None:
        """A worker lets go of a task, which is in no place now; the worker returns to its LRU queues."""
        task = self.in_flight.take(key, task_key)
        if task is None:
            return None
        self.queues[task.kind].held -= 1
        member = self.members[key]
        member.free += 1
        member.row = None
        if member.apart and member.free == member.slots:
            self._unkeep(member)
        self._queue(member)
        return task

    def undelivered(self, task: Task) -> None:
        """A task that is in no place was not delivered when it was given last."""
        task.attempt -= 1
        if self.log is not None:
            self.log.append(["u", *task.key])

    def requeue(self, task: Task) -> None:
        """A task that is in no place: first of those that wait like it."""
        task.worker = b""
        self._line(task).appendleft(task)
        self.queued += 1
        self.owners.back(task)
        if self.log is not None:
            self.log.append(["r", *task.key])

    def end(self, task: Task) -> None:
        """A task that is in no place is over."""
        del self.tasks[task.key]
        self.owners.remove(task)
        self.size -= len(task.message[0])
        self.queues[task.kind].tasks -= 1
        self._tidy(task.kind)
        if self.log is not None:
            self.log.append(["e", *task.key])

    def excess(self, client: bytes, service: str, size: int, backlog: int, limited: bool = False) -> str:
        """Why one more task would be too much; empty where it is not. One that a worker is ready for does not wait."""
        queue = self.queues.get(service)
        if queue is None and len(self.queues) - self.offered() >= MAX_ASKED:
            return "too many services are asked for that nobody offers"
        if self.size + size > MAX_HELD:
            return "the backlog is full"
        if queue is None or limited or not queue.ready:
            most = share(backlog)
            if self.queued >= backlog:
                return "the backlog is full"
            if self.owners.queued(client) >= most:
                return f"{most} of your requests wait, which is the most"
        return self.owners.excess(client, service, size)

    def withdraw(self, clients: Collection[bytes]) -> list[Task]:
        """What waits of these clients is over."""
        gone = [task for client in dict.fromkeys(clients) for task in self.owners.waiting(client)]
        going = {task.key for task in gone}
        for name in {task.kind for task in gone}:
            queue = self.queues[name]
            queue.backlog = deque(task for task in queue.backlog if task.key not in going)
            queue.suspects.waiting = deque(task for task in queue.suspects.waiting if task.key not in going)
        self.queued -= len(gone)
        log, self.log = self.log, None  # as one change, for a follower looks for each task that ends
        for task in gone:
            self.owners.given(task)
            self.end(task)
        self.log = log
        if log is not None and gone:
            clients = list(dict.fromkeys(task.key[0] for task in gone))
            log += [["w", clients[start : start + NAMED]] for start in range(0, len(clients), NAMED)]
        return gone

    def give_up(self, service: str, before: float) -> list[Task]:
        """End what waits for a service that nobody offers, since that time or longer."""
        gone = self.queues[service].pop_old(before) if self.unoffered[service] <= before else []
        self.queued -= len(gone)
        for task in gone:
            self.owners.given(task)
            self.end(task)
        return gone

    def in_vain(self) -> float:
        """Since when a task waits for a service that nobody offers, of them all the longest; NEVER for none."""
        return min((max(since, self.queues[name].oldest) for name, since in self.unoffered.items()), default=NEVER)

    def wait_anew(self, now: float) -> None:
        """Nobody could come so far."""
        self.unoffered = dict.fromkeys(self.unoffered, now)

    # ---- the pair -----------------------------------------------------------------------------------------------

    def pull(self, task: Task) -> bool:
        """Take a task out of wherever it is; it is in no place then. True if a worker held it."""
        if self.take(task.worker, task.key) is not None:
            return True
        self._line(task).remove(task)  # nearly always the first one
        self.queued -= 1
        self.owners.given(task)
        return False

    def hand(self, task: Task, key: bytes, now: float) -> None:
        """Hand a task that is in no place to a named worker, as the other broker did."""
        self.queued += 1
        self.owners.back(task)
        (self._hand_alone if task.attempt else self._hand)(task, self.members[key], now)

    def park(self) -> None:
        """Nobody has been heard here yet: every worker is away, and in no LRU queue before it is."""
        for member in self.members.values():
            member.away, member.row = True, None
            self._unqueue(member)
            self._unkeep(member)
            member.state = Seen.UNKNOWN
        self._walk_anew()

    # ---- the machine --------------------------------------------------------------------------------------------

    def step(self, member: Member | None, event: str, guard: str = "") -> None:
        """Go through a row, from where a worker stands."""
        after = self._walk.step(Seen.UNKNOWN if member is None else member.state, event, guard)
        if member is not None:
            member.state = after

    def walked(self) -> Walked:
        """How often each row was gone through since this dispatcher is served from."""
        return self._walk.walked()

    def _walk_anew(self) -> None:
        self._walk = Walk(SEEN)
        self._given = self._walk.tally(Seen.READY, On.TASK)
        self._filled = self._walk.tally(Seen.READY, On.LAST_SLOT)
        self.replied = {state: self._walk.tally(state, On.WORKREPLY) for state in (Seen.READY, Seen.BUSY)}

    def check(self) -> None:
        """Each worker and each task is where the rules above say."""
        self.in_flight.check()
        self.owners.check(self.tasks)
        waiting = [task for queue in self.queues.values() for task in (*queue.suspects.waiting, *queue.backlog)]
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
            tries = any(task.attempt > 1 for task in self.in_flight.of(member.key))
            kept = sum(member.key in queue.suspects.kept for queue in self.queues.values())
            assert not tries or (member.apart and held == 1) or member.away or member.draining, "it is not alone"
            assert kept + tries <= 1 and (member.apart or not kept), "kept twice, or not set apart"
            ready = member.free > 0 and not (member.draining or member.away or member.apart)
            assert stands == (set(member.services) if ready else set())
        for queue in self.queues.values():
            assert all(key in self.members for key in queue.ready)
            assert all(task.attempt for task in queue.suspects.waiting)
            assert not any(task.attempt for task in queue.backlog), "a suspect waits among the others"
        kinds = Counter(task.kind for task in self.tasks.values())
        offers = Counter(name for member in self.members.values() for name in member.services)
        for name, queue in self.queues.items():
            assert (queue.tasks, queue.offered) == (kinds[name], offers[name])
            assert queue.tasks or queue.offered, f"{name} is asked for and offered by nobody"
            assert (name in self.unoffered) == (not queue.offered), f"nobody knows that nobody offers {name}"
        assert all(task.worker in self.members for task in self.in_flight.all())

    def check_suspects(self) -> None:
        """The same of what a dispatcher that is not served from does not know: who is kept for which suspects."""
        for name, queue in self.queues.items():
            queue.suspects.check(queue.ready, self._is_empty)
            assert name in self.suspected or not queue.suspects.waiting, "suspects are forgotten"
