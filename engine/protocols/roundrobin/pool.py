"""The workers of a round robin broker, its backlog and its books: the state, and the moves that keep it whole.

The rules of this file (numbers are those of README.md):

- A task is accepted once, under (client, id); it is queued, or held by one worker, or it has ended. (R1)
- A slot is taken by a delivery; it is given back when the worker's INCREMENT or the deadline frees it. (R5)
- What is queued goes first, and as soon as there is a slot. So while the backlog holds anything, nobody is ready. (R2)
- A worker that is lost holds nothing: its tasks are suspects, in their old order, unless they were delivered
  ``max_deliveries`` times. A suspect is with a worker alone. Lost workers are remembered for ``lost_shown``. (R3)
- What waits has its client as owner: it may have a share of the backlog, and what waits of one that is gone is
  withdrawn. (R17)

``out`` is the list of commands that the broker returns from the event at hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.core import NEVER, Command, Frames, Note
from engine.parts.inflight import Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.limits import MAX_HELD
from engine.protocols.roundrobin.backlog import FULL, Backlog
from engine.protocols.roundrobin.invariants import check
from engine.protocols.roundrobin.lanes import Lanes
from engine.protocols.roundrobin.messages import EXEC, KINDS, OTHER, PLAIN
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import Table, Worker, is_awaited, is_empty, size_of

OVERTAKEN = ("backlog", "a late RESPONSE")  # a delivery that was counted as made again, and was not


class Pool:
    """Every change of it goes through its methods; ``check`` says what they keep true."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.table = Table(options)
        self.workers, self.lost, self.ready = self.table.workers, self.table.lost, self.table.ready
        self.liveness, self.settling = self.table.liveness, self.table.settling
        self.tasks: dict[TaskKey, Task] = {}  # every task that is queued or held
        self.former: dict[TaskKey, list[bytes]] = {}  # of tasks taken back: who had them, and may still answer
        self.backlog = Backlog(options)
        self._fresh, self._suspects = self.backlog.fresh, self.backlog.suspects
        self.size = 0  # bytes of all tasks
        self.ledger = Ledger()
        self.lanes = Lanes(options.packed)
        self.redelivered = 0
        self.again = 0  # tasks that were asked for while they were here
        self.unpaid = 0  # INCREMENTs that never came
        self.walked = self.table.walked
        self.filled = 0  # how often a worker was given the task of its last slot
        self._told: set[str] = set()  # why tasks were dropped, as far as that was noted
        self.overdue_at = NEVER  # no task or INCREMENT is overdue before; NEVER until the first delivery

    @property
    def in_flight(self) -> int:
        """How many tasks workers hold; counted where they are, so that the books see one that got lost."""
        return sum(len(worker.held) for worker in self.workers.values())

    def wake_at(self) -> float:
        """The next deadline, of a worker, of what it holds, or of a client that may come back."""
        return min(self.table.wake_at(), self.overdue_at, self.backlog.owners.wake_at())

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
        free = True  # somebody may have a slot
        for message in messages:
            key = (client, message[1])
            if key in tasks:
                if tasks[key].message == message:
                    self.again += 1
                else:
                    refused += 1
                passed += 1
                continue
            worker = ready.first() if free else None
            free = worker is not None
            if (worker is None or len(message) > PLAIN) and not self._room(worker, message, client, out):
                continue
            task = tasks[key] = Task(key, KINDS.get(message[2], OTHER), message, now)
            if worker is None:
                self._fresh.append(task)
            else:
                self._give(task, worker, now, out)
        self.ledger.sent += len(messages) - passed
        return refused

    def _room(self, worker: Worker | None, message: Frames, client: bytes, out: list[Command]) -> bool:
        """Whether one task more may be held, or wait where nobody can take it: for all clients, and for this one."""
        size = size_of(message) if len(message) > PLAIN else 0
        why = FULL if self.size + size > MAX_HELD else "" if worker is not None else self.backlog.admit(client, size)
        if not why:
            self.size += size
            return True
        self.ledger.dropped += 1
        if why not in self._told:
            self._told.add(why)
            out.append(Note("bad", why, client))
        return False

    def drain(self, now: float, out: list[Command]) -> None:
        """000 Processing Queue: as many as can go, oldest first; suspects before all others."""
        if self._suspects.waiting:
            for task, empty in self._suspects.match(self.ready, is_empty):
                self.backlog.owners.leave(task)
                self._give(task, empty, now, out)
                self.ready.drop(empty)
                empty.apart = True
            self._keep()
        while self._fresh and (worker := self.ready.first()) is not None:
            self._give(self.backlog.next(), worker, now, out)

    def _keep(self) -> None:
        """A worker for each suspect that waits, and no more. The caller drains."""
        for worker in self._suspects.keep(self.ready):
            worker.apart = True
        for worker in self._suspects.spare():
            worker.apart = False
            self._place(worker)

    def _place(self, worker: Worker) -> None:
        """It has a free slot: to the bottom of the table, unless it gets nothing yet."""
        if worker not in self.settling:
            self.ready.put(worker)

    def settle(self, worker: Worker, now: float) -> None:
        """An original has opened a link and registers: what comes before it knows its commands is dropped there."""
        if worker.key not in self.lanes.peers:
            self.table.settle(worker, now)

    def settled(self, worker: Worker, now: float, out: list[Command]) -> None:
        """It has said something else, or has had its time."""
        del self.settling[worker]
        if worker.used < worker.slots and not worker.leaving and not worker.apart:
            self.ready.put(worker)
            self.drain(now, out)

    def _release(self, worker: Worker) -> None:
        """It is kept for no suspect any longer, and alone with none."""
        worker.apart = False
        self._suspects.kept.pop(worker, None)

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
            self.backlog.remove(task)
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
            if self._fresh or self._suspects.waiting:
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
            spent = task.attempt >= self.options.max_deliveries
            if spent or (self.backlog.owners.gone(task.key[0]) and is_awaited(task)):
                self._drop(task, "undeliverable" if spent else "withdrawn")
            else:
                again.append(task)
                self.former.setdefault(task.key, []).append(worker.key)
        self.backlog.again(again)
        self.redelivered += len(again)
        worker.written_off += worker.owed
        worker.owed, worker.row = 0, None

    def _drop(self, task: Task, why: str) -> None:
        """A task that is in no place any more has failed."""
        del self.tasks[task.key]
        self.size -= size_of(task.message)
        self.former.pop(task.key, None)
        self.ledger.fail(why)

    def withdraw(self, clients: Collection[bytes], now: float, out: list[Command], gone: bool = False) -> int:
        """What waits of these clients has failed; returns how many. ``gone``: what wants no reply is done all the same.

        What workers hold of it is theirs to end.
        """
        found = self.backlog.withdraw(clients, gone)
        for task in found:
            self._drop(task, "withdrawn")
        if found:
            self._keep()
            self.drain(now, out)
        return len(found)

    # ---- workers -------------------------------------------------------------------------------------------------

    def offer(self, worker: Worker, slots: int) -> None:
        """000 REGISTER: the worker's slots are overwritten; what it holds counts against them. The caller drains."""
        worker.slots, worker.leaving, worker.row = slots, False, None
        self.table.dismissed.pop(worker.key, None)
        if worker in self._suspects.kept or not worker.used:
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
        if worker in self._suspects.kept:
            self._release(worker)
            self._keep()
        if worker.used:
            out.append(Note("info", f"{worker.name} drains: {worker.used} slots in use", key))
        else:
            self._remove(worker, out)

    def _remove(self, worker: Worker, out: list[Command]) -> None:
        self._release(worker)
        self.table.strike(worker)
        out.append(Note("info", f"{worker.name} left", worker.key))

    def lose(self, worker: Worker, why: str, now: float, out: list[Command]) -> None:
        """Out of the table; what it held is taken back. The caller drains."""
        self.walked[worker.stands, "silent for expiry" if why == "silent" else why] += 1
        held = list(worker.held)
        self.take_back(worker, held)
        self._release(worker)
        self.table.lose(worker, now)
        out.append(Note("bad", f"{worker.name} lost ({why}), {len(held)} tasks taken back", worker.key))

    # ---- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float, out: list[Command]) -> None:
        """000 queue_checker, and what the seed leaves to nobody: silence, deadlines, memory."""
        for key in self.liveness.expired(now):
            self.lose(self.workers[key], "silent", now, out)
        self.table.forget(now)
        if now >= self.overdue_at:
            self._write_off(now, out)
        while self.settling and next(iter(self.settling.values())) <= now:
            self.settled(next(iter(self.settling)), now, out)
        gone = self.backlog.owners.expire(now)
        if gone and (withdrawn := self.withdraw(frozenset(gone), now, out, gone=True)):
            out.append(Note("warn", f"{withdrawn} tasks that waited are withdrawn: their clients are gone"))
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
        self.backlog.owners.grace(seconds)
        for worker in self.workers.values():
            worker.owed_at += seconds
            for task in worker.held:
                task.given += seconds
