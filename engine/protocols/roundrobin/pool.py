"""The workers of a round robin broker, its backlog and its books: the state, and the moves that keep it whole.

The rules of this file (numbers are those of README.md):

- A task is accepted once, under (client, id); it is queued, or held by one worker, or it has ended. (R1)
- A slot is taken by a delivery; it is given back when the worker's INCREMENT or the deadline frees it. (R5)
- What is queued goes first, and as soon as there is a slot. So while the backlog holds anything, nobody is ready. (R2)
- A worker that is lost holds nothing: its tasks are suspects, in their old order, unless they were delivered
  ``max_deliveries`` times. A suspect is with a worker alone. Lost workers are remembered for ``lost_shown``. (R3)

``out`` is the list of commands that the broker returns from the event at hand.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from engine.core import NEVER, Command, Frames, Note
from engine.parts.inflight import Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.limits import MAX_HELD, MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.ready import Ready
from engine.parts.suspects import Suspects
from engine.protocols.roundrobin.invariants import LOST_KEPT, check
from engine.protocols.roundrobin.lanes import Lanes
from engine.protocols.roundrobin.messages import EXEC, KINDS, OTHER, PLAIN
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import Worker, is_empty, size_of

SETTLE = 0.02  # seconds that an original takes after the answer to its REGISTER until it knows its commands
EAGER = 0.75  # of a heartbeat: a broker that waited for a whole one would never ask first, and know no round trip
OVERTAKEN = ("backlog", "a late RESPONSE")  # a delivery that was counted as made again, and was not


class Pool:
    """Every change of it goes through its methods; ``check`` says what they keep true."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.workers: dict[bytes, Worker] = {}
        self.lost: dict[bytes, Worker] = {}  # oldest loss first
        self.tasks: dict[TaskKey, Task] = {}  # every task that is queued or held
        self.dismissed: dict[bytes, None] = {}  # sent away by an operator: not asked to register again
        self.former: dict[TaskKey, list[bytes]] = {}  # of tasks taken back: who had them, and may still answer
        self.backlog: deque[Task] = deque()  # never tried
        self.suspects: Suspects[Worker] = Suspects()  # tried by workers that were lost
        self.size = 0  # bytes of all tasks
        self.ready: Ready[Worker] = Ready()
        self.settling: dict[Worker, float] = {}  # have just registered, get nothing before; oldest first
        self.liveness = Liveness(options.expiry, options.heartbeat * EAGER)
        self.ledger = Ledger()
        self.lanes = Lanes(options.packed)
        self.redelivered = 0
        self.again = 0  # tasks that were asked for while they were here
        self.unpaid = 0  # INCREMENTs that never came
        self.walked: Counter[tuple[str, str]] = Counter()  # edges of ``explain``, but for those of each task
        self.filled = 0  # how often a worker was given the task of its last slot
        self._joined = 0  # workers so far, for names
        self.overdue_at = NEVER  # no task or INCREMENT is overdue before; NEVER until the first delivery

    @property
    def in_flight(self) -> int:
        """How many tasks workers hold; counted where they are, so that the books see one that got lost."""
        return sum(len(worker.held) for worker in self.workers.values())

    @property
    def queued(self) -> int:
        """How many tasks wait."""
        return len(self.backlog) + len(self.suspects.waiting)

    def wake_at(self) -> float:
        """The next heartbeat, expiry or deadline, or the moment when the oldest lost worker is forgotten."""
        at = min(self.liveness.wake_at(), self.overdue_at, next(iter(self.settling.values()), NEVER))
        if self.lost:
            at = min(at, next(iter(self.lost.values())).lost_at + self.options.lost_shown)
        return at

    def check(self) -> None:
        """The books balance, slots add up, and every task is in one place."""
        check(self)

    # ---- tasks ---------------------------------------------------------------------------------------------------

    def accept(self, client: bytes, messages: list[Frames], now: float, out: list[Command]) -> int:
        """000 process_round_robin_pass: to the first worker with a free slot, else into the processing queue.

        ``messages``: of each the task alone. Returns how many were refused, because their id is in use for
        another task; one that is asked for again is only counted.
        """
        tasks, ready = self.tasks, self.ready
        refused = passed = 0
        for message in messages:
            key = (client, message[1])
            if key in tasks:
                if tasks[key].message == message:
                    self.again += 1
                else:
                    refused += 1
                passed += 1
                continue
            worker = ready.first()
            if (worker is None or len(message) > PLAIN) and not self._room(worker, size_of(message), client, out):
                continue
            task = tasks[key] = Task(key, KINDS.get(message[2], OTHER), message, now)
            if worker is None:
                self.backlog.append(task)
            else:
                self._give(task, worker, now, out)
        self.ledger.sent += len(messages) - passed
        return refused

    def _room(self, worker: Worker | None, size: int, client: bytes, out: list[Command]) -> bool:
        """Whether so many bytes more may be held, and one task more queued where nobody can take it."""
        if (worker is None and self.queued >= self.options.max_backlog) or self.size + size > MAX_HELD:
            self.ledger.dropped += 1
            if self.ledger.dropped == 1:
                out.append(Note("bad", "the backlog is full: tasks are dropped", client))
            return False
        self.size += size
        return True

    def drain(self, now: float, out: list[Command]) -> None:
        """000 Processing Queue: as many as can go, oldest first; suspects before all others."""
        if self.suspects.waiting:
            for task, empty in self.suspects.match(self.ready, is_empty):
                self._give(task, empty, now, out)
                self.ready.drop(empty)
                empty.apart = True
            self._keep()
        while self.backlog:
            worker = self.ready.first()
            if worker is None:
                return
            self._give(self.backlog.popleft(), worker, now, out)

    def _keep(self) -> None:
        """A worker for each suspect that waits, and no more. The caller drains."""
        for worker in self.suspects.keep(self.ready):
            worker.apart = True
        for worker in self.suspects.spare():
            worker.apart = False
            self._place(worker)

    def _place(self, worker: Worker) -> None:
        """It has a free slot: to the bottom of the table, unless it gets nothing yet."""
        if worker not in self.settling:
            self.ready.put(worker)

    def settle(self, worker: Worker, now: float) -> None:
        """An original has opened a link and registers: what comes before it knows its commands is dropped there."""
        if worker.key not in self.lanes.peers:
            self.settling.pop(worker, None)
            self.settling[worker] = now + SETTLE

    def settled(self, worker: Worker, now: float, out: list[Command]) -> None:
        """It has said something else, or has had its time."""
        del self.settling[worker]
        if worker.used < worker.slots and not worker.leaving and not worker.apart:
            self.ready.put(worker)
            self.drain(now, out)

    def _release(self, worker: Worker) -> None:
        """It is kept for no suspect any longer, and alone with none."""
        worker.apart = False
        self.suspects.kept.pop(worker, None)

    def _give(self, task: Task, worker: Worker, now: float, out: list[Command]) -> None:
        """000 Worker Table, 1 to 3: pass it on, take a slot, to the bottom of the table."""
        message, held = task.message, worker.held
        task.worker, task.given = worker.key, now
        task.attempt += 1
        held[task] = None
        if message[0] == EXEC or task.kind == OTHER:
            worker.quiet[task] = None
        worker.row = None
        if len(held) + worker.owed < worker.slots:
            self.ready.put(worker)
        else:
            self.filled += 1
            self.ready.drop(worker)
        if self.overdue_at == NEVER:
            self.overdue_at = now + self.options.task_deadline
        self.lanes.deliver(worker.key, task.key[0], message, out)

    def end(self, task: Task) -> Worker | None:
        """Take a task out of the books, wherever it is; returns who held it. If nobody did, the caller drains."""
        del self.tasks[task.key]
        if len(task.message) > PLAIN:
            self.size -= size_of(task.message)
        if self.former:
            self.former.pop(task.key, None)
        if not task.worker:
            (self.suspects.waiting if task.attempt else self.backlog).remove(task)
            self._keep()
            self.walked[OVERTAKEN] += 1
            return None
        holder = self.workers[task.worker]
        del holder.held[task]
        if holder.quiet:
            holder.quiet.pop(task, None)
        holder.row = None
        return holder

    def free(self, worker: Worker, now: float, out: list[Command]) -> None:
        """Slots came back: to the bottom of the table and on with the backlog, or away if it drains and has no more."""
        worker.row = None
        used = worker.used
        if worker.leaving:
            if not used:
                self.walked["draining", "the last INCREMENT"] += 1
                self._remove(worker, out)
        elif used < worker.slots:
            if worker.apart:
                if used:
                    return
                self._release(worker)
            self._place(worker)
            if self.backlog or self.suspects.waiting:
                self.drain(now, out)

    def take_back(self, worker: Worker, tasks: Iterable[Task]) -> None:
        """Held tasks wait again, or have failed for good. INCREMENTs still owed are void.

        What nobody has tried, for the socket refused it, is no suspect. The caller places the worker and drains.
        """
        again = []
        for task in tasks:
            del worker.held[task]
            worker.quiet.pop(task, None)
            worker.written_off += 1
            worker.failed += 1
            task.worker = b""
            if task.attempt < self.options.max_deliveries:
                again.append(task)
                self.former.setdefault(task.key, []).append(worker.key)
            else:
                del self.tasks[task.key]
                self.size -= size_of(task.message)
                self.former.pop(task.key, None)
                self.ledger.fail("undeliverable")
        self.suspects.waiting.extendleft(task for task in reversed(again) if task.attempt)
        self.backlog.extendleft(task for task in reversed(again) if not task.attempt)
        self.redelivered += len(again)
        worker.written_off += worker.owed
        worker.owed, worker.row = 0, None

    # ---- workers -------------------------------------------------------------------------------------------------

    def add(self, key: bytes, now: float, out: list[Command]) -> Worker | None:
        """A new worker without slots; None where the table is full. The caller offers its slots."""
        if len(self.workers) >= MAX_WORKERS:
            return None
        self._joined += 1
        self.walked["unknown", "REGISTER"] += 1
        worker = self.workers[key] = Worker(key, f"w{self._joined}", 0, now)
        self.liveness.heard(key, now)
        out.append(Note("good", f"{worker.name} joined", key))
        return worker

    def offer(self, worker: Worker, slots: int) -> None:
        """000 REGISTER: the worker's slots are overwritten; what it holds counts against them. The caller drains."""
        worker.slots, worker.leaving, worker.row = slots, False, None
        self.dismissed.pop(worker.key, None)
        if worker in self.suspects.kept or not worker.used:
            self._release(worker)
        if worker.used < slots and not worker.apart and worker not in self.settling:
            self.ready.put(worker)
        else:
            self.ready.drop(worker)

    def leave(self, key: bytes, out: list[Command]) -> None:
        """000 DEREGISTER: nothing new for it, and gone when what it holds is done. Unknown or again: ignored."""
        if self.lost.pop(key, None) is not None:
            self.walked["lost", "DEREGISTER"] += 1
        worker = self.workers.get(key)
        if worker is None or worker.leaving:
            return
        held = ", tasks held" if worker.used else ", nothing held"
        self.walked[worker.stands, f"DEREGISTER{'' if worker.stands == 'busy' else held}"] += 1
        worker.leaving, worker.row = True, None
        self.ready.drop(worker)
        if worker in self.suspects.kept:
            self._release(worker)
            self._keep()
        if worker.used:
            out.append(Note("info", f"{worker.name} drains: {worker.used} slots in use", key))
        else:
            self._remove(worker, out)

    def dismiss(self, key: bytes) -> None:
        """Remember that an operator sent it away; a REGISTER of its own accord ends that."""
        self.dismissed[key] = None
        if len(self.dismissed) > LOST_KEPT:
            del self.dismissed[next(iter(self.dismissed))]

    def _remove(self, worker: Worker, out: list[Command]) -> None:
        self._strike(worker)
        out.append(Note("info", f"{worker.name} left", worker.key))

    def _strike(self, worker: Worker) -> None:
        """Off every list of the living; it holds nothing any more."""
        del self.workers[worker.key]
        self.settling.pop(worker, None)
        self.ready.drop(worker)
        self._release(worker)
        self.liveness.forget(worker.key)

    def lose(self, worker: Worker, why: str, now: float, out: list[Command]) -> None:
        """Out of the table; what it held is taken back. The caller drains."""
        self.walked[worker.stands, "silent for expiry" if why == "silent" else why] += 1
        held = list(worker.held)
        self.take_back(worker, held)
        self._strike(worker)
        worker.lost_at = now
        if not worker.leaving:
            self.lost[worker.key] = worker
            if len(self.lost) > LOST_KEPT:
                del self.lost[next(iter(self.lost))]
        out.append(Note("bad", f"{worker.name} lost ({why}), {len(held)} tasks taken back", worker.key))

    def revive(self, key: bytes, event: str, now: float, out: list[Command]) -> Worker | None:
        """A lost worker is heard again: cut off, not dead, and it may not know that it was given up.

        The caller drains: behind a REGISTER the reply has to go first.
        """
        worker = self.lost.get(key)
        if worker is not None and worker.stranger and event != "REGISTER":
            return None
        if worker is not None:
            del self.lost[key]
            worker.stranger = False
            self.walked["lost", event] += 1
            self.workers[key] = worker
            worker.lost_at, worker.row = NEVER, None
            self.liveness.heard(key, now)
            self.ready.put(worker)
            out.append(Note("good", f"{worker.name} is back", key))
        return worker

    # ---- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float, out: list[Command]) -> None:
        """000 queue_checker, and what the seed leaves to nobody: silence, deadlines, memory."""
        for key in self.liveness.expired(now):
            self.lose(self.workers[key], "silent", now, out)
        while self.lost:
            oldest = next(iter(self.lost.values()))
            if now < oldest.lost_at + self.options.lost_shown:
                break
            self.walked["lost", "lost_shown is over"] += 1
            del self.lost[oldest.key]
        if now >= self.overdue_at:
            self._write_off(now, out)
        while self.settling and next(iter(self.settling.values())) <= now:
            self.settled(next(iter(self.settling)), now, out)
        self.drain(now, out)

    def _write_off(self, now: float, out: list[Command]) -> None:
        """What a worker held for ``task_deadline`` has failed; an INCREMENT owed for so long will not come.

        Both are oldest first, so one look at each worker a deadline is enough, however many tasks pass.
        """
        allowed, oldest = self.options.task_deadline, now
        for worker in list(self.workers.values()):
            slots, before = 0, worker.stands
            for task in list(worker.held):
                if task.given + allowed > now:
                    oldest = min(oldest, task.given)
                    break
                self.end(task)
                self.ledger.fail("deadline")
                worker.failed += 1
                slots += 1
            if worker.owed and worker.owed_at + allowed > now:
                oldest = min(oldest, worker.owed_at)
            else:
                self.unpaid += worker.owed
                slots += worker.owed
                worker.owed = 0
            if slots:
                worker.written_off += slots
                if before != worker.stands:
                    self.walked[before, "task_deadline"] += 1
                out.append(Note("bad", f"{worker.name} let the deadline of {slots} slots pass", worker.key))
                self.free(worker, now, out)
        self.overdue_at = oldest + allowed

    def grace(self, seconds: float) -> None:
        """Our own pause counts against nobody."""
        self.liveness.grace(seconds)
        for worker in self.workers.values():
            worker.owed_at += seconds
            for task in worker.held:
                task.given += seconds
