"""The workers of a round robin broker, its backlog and its books: the state, and the moves that keep it whole.

The rules of this file (numbers are those of README.md):

- A task is accepted once, under (client, id); it is queued, or held by one worker, or it has ended. (R1)
- A slot is taken by a delivery; it is given back when the worker's INCREMENT or the deadline frees it. (R5)
- What is queued goes first, and as soon as there is a slot. So while the backlog holds anything, nobody is ready. (R2)
- A worker that is lost holds nothing: its tasks are suspects, in their old order, unless they were delivered
  ``max_deliveries`` times. A suspect is with a worker alone. Lost workers are remembered for ``lost_shown``. (R3)
- What waits has its client as owner, who may have a share of the backlog; when it is gone, that is withdrawn. (R17)

``out`` is the list of commands that the broker returns from the event at hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.core import NEVER, Command, Frames, Note
from engine.parts.inflight import Task
from engine.parts.legs import sampled
from engine.parts.plain import several
from engine.protocols.roundrobin.invariants import check
from engine.protocols.roundrobin.lanes import Lanes
from engine.protocols.roundrobin.machine import If, On
from engine.protocols.roundrobin.messages import EXEC, KINDS, OTHER, PLAIN
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.records import Records
from engine.protocols.roundrobin.table import Table, Worker, is_empty

LATE = "late"
SILENT = "silent"
_LOST_BY = {SILENT: On.SILENT, On.ENDED: On.ENDED, On.EXPIRED: On.EXPIRED}  # else its socket says why it refused
BEYOND = "INCREMENT beyond what it holds"


class Pool:
    """Every change of it goes through its methods; ``check`` says what they keep true."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.lanes = Lanes(options.packed)
        self.table = Table(options, self.lanes.ours)
        self.workers, self.lost, self.ready = self.table.workers, self.table.lost, self.table.ready
        self.liveness, self.settling = self.table.liveness, self.table.settling
        self._takes, self._fills = self.table.takes, self.table.fills
        self._answers, self._frees = self.table.answers, self.table.frees
        self.records = Records(options)
        self.tasks, self.former, self.ledger = self.records.tasks, self.records.former, self.records.ledger
        self.backlog = self.records.backlog
        self._fresh, self._suspects, self.valve = self.backlog.fresh, self.backlog.suspects, self.backlog.valve
        self.unpaid = 0  # INCREMENTs that never came
        self.overdue_at = NEVER  # no task or INCREMENT is overdue before; NEVER until the first delivery

    @property
    def in_flight(self) -> int:
        """How many tasks workers hold; counted where they are, so that the books see one that got lost."""
        return sum(map(len, [worker.held for worker in self.workers.values()]))

    def wake_at(self) -> float:
        """The next deadline, of a worker, of what it holds, or of a client that may come back."""
        return min(self.table.wake_at(), self.overdue_at, self.backlog.owners.wake_at(), self.valve.due)

    def check(self) -> None:
        """The books balance, slots add up, and every task is in one place."""
        check(self)

    # ---- tasks ---------------------------------------------------------------------------------------------------

    def accept(self, client: bytes, messages: list[Frames], now: float, out: list[Command]) -> int:
        """000 process_round_robin_pass: to the first worker with a free slot, else into the processing queue.

        ``messages``: of each the task alone. Returns how many were refused: another task has their id.
        """
        tasks, ready = self.tasks, self.ready
        refused, again, free = 0, 0, self.valve.open  # free: somebody may have a slot
        for message in messages:
            key = (client, message[1])
            if key in tasks:
                if tasks[key].message == message:
                    again += 1
                else:
                    refused += 1
                continue
            worker = ready.first() if free else None
            free = worker is not None
            if (worker is None or len(message) > PLAIN) and not self.records.room(message, client, not free, out):
                continue
            task = tasks[key] = Task(key, KINDS.get(message[2], OTHER), message, now)
            if worker is None:
                self._fresh.append(task)
            else:
                self._give(task, worker, now, out)
        self.ledger.sent += len(messages) - refused - again
        self.records.again += again
        if not free:
            self.backlog.mark(now)
        if not self.valve.open:
            self.drain(now, out)
        return refused

    def drain(self, now: float, out: list[Command]) -> None:
        """000 Processing Queue: as many as can go, oldest first; suspects before all others."""
        self.valve.ask_anew()
        if self._suspects.waiting and not self.valve.paused:
            for task, empty in self._suspects.match(self.ready, is_empty):
                self.backlog.owners.leave(task)
                self._give(task, empty, now, out)
                self.ready.drop(empty)
                empty.apart = True
            self._keep()
        while (self._fresh or self.backlog.aside) and (worker := self.ready.first()) is not None:
            if (next_one := self.backlog.next(now)) is None:
                break
            self._give(next_one, worker, now, out)

    def _keep(self) -> None:
        """A worker for each suspect that waits, and no more. The caller drains."""
        for worker in self._suspects.keep(self.ready) if not self.valve.paused else ():
            worker.apart = True
        for worker in self._suspects.spare():
            worker.apart = False
            if worker not in self.settling:
                self.ready.put(worker)

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
            self._takes.times += 1
            self.ready.put(worker)
        else:
            self._fills.times += 1
            worker.stands = self._fills.next
            self.ready.drop(worker)
        if self.overdue_at == NEVER:
            self.overdue_at = now + self.options.task_deadline
        self.lanes.deliver(worker.key, task.key[0], message, out)

    def end(self, task: Task, why: str = "") -> Worker | None:
        """Take out a task, which failed where ``why`` says so; returns who held it. If nobody did, the caller drains"""
        if len(task.message) > PLAIN or self.former or self.records.told is not None:
            self.records.close(task, why)
        else:
            del self.tasks[task.key]
        if not task.worker:
            self.backlog.remove(task)
            self._keep()
            return None
        holder = self.workers[task.worker]
        del holder.held[task]
        if holder.quiet:
            holder.quiet.pop(task, None)
        holder.row = None
        return holder

    def free(self, worker: Worker, event: str, now: float, out: list[Command], slots: int = 1) -> None:
        """So many slots came back: on with the backlog; a worker that is to leave and has no more in use goes."""
        worker.row = None
        used = len(worker.held) + worker.owed
        if slots > 1 or worker.leaving or used >= worker.slots:
            self.table.freed(worker, event, slots)
            if worker.leaving and not worker.drained and not used:
                self._remove(worker, out)
            if worker.leaving or used >= worker.slots:
                return
        else:
            frees = self._frees[event][worker.stands]
            frees.times += 1
            worker.stands = frees.next
        if worker.apart:
            if used:
                return
            self._release(worker)
        if not self.settling or worker not in self.settling:
            self.ready.put(worker)
        if self._fresh or self._suspects.waiting or self.backlog.aside:
            self.drain(now, out)

    # ---- answers -------------------------------------------------------------------------------------------------

    def succeed(self, task: Task, worker: Worker | None, peer: bytes, now: float, owes: bool = False) -> bool:
        """The task's first reply, by whom it was given to; whoever held it ``owes`` an INCREMENT.

        False where nobody held it: the caller drains.
        """
        holder = self.end(task)
        if worker is not None:
            worker.done += 1
            worker.opened, worker.row = NEVER, None
            if worker.done >= worker.served.due and holder is worker:
                worker.served.note(now - task.given, now, worker.done)
            self._answers[worker.stands].times += 1
        else:
            self.table.elsewhere(peer, On.RESPONSE)
        self.ledger.succeeded += 1
        if sampled(task.key[1]):
            self.records.legs.note(*task.key, task.accepted, task.given, now, task.worker, task.attempt)
        if owes and holder is not None:
            holder.owed += 1
            holder.owed_at = now
        return holder is not None

    def increment(self, worker: Worker, now: float, out: list[Command]) -> str:
        """000 INCREMENT, with the bound that the seed lacks: only what was taken can come back. Else LATE or BEYOND."""
        worker.opened = NEVER
        if worker.owed:
            worker.owed -= 1
        elif worker.quiet:
            self.end_quietly(worker, next(iter(worker.quiet)))
        elif worker.written_off:
            worker.written_off -= 1
            return LATE
        else:
            return BEYOND
        self.free(worker, On.INCREMENT, now, out)
        return ""

    def redeem(self, worker: Worker) -> int:
        """A packed answer to what it does not hold; returns how many slots that gives back. The caller frees them."""
        if worker.owed:
            worker.owed -= 1
            return 1
        if worker.written_off:
            worker.written_off -= 1
        return 0

    def end_quietly(self, worker: Worker, task: Task) -> None:
        """A task that needs no reply is done; one that wanted a reply has failed. The caller frees its slot."""
        self.end(task, "" if task.message[0] == EXEC else "unanswered")
        if task.message[0] == EXEC:
            worker.done += 1
            self.ledger.succeeded += 1
        else:
            worker.failed += 1
            self.ledger.fail("unanswered")

    # ---- what does not come back -----------------------------------------------------------------------------------

    def take_back(self, worker: Worker, tasks: Iterable[Task]) -> None:
        """Held tasks wait again, or have failed for good. INCREMENTs still owed are void.

        The caller places the worker and drains.
        """
        taken = list(tasks)
        for task in taken:
            del worker.held[task]
            worker.quiet.pop(task, None)
        self.records.give_back(worker.key, taken)
        worker.failed += len(taken)
        worker.written_off += len(taken) + worker.owed
        worker.owed, worker.row = 0, None

    def withdraw(self, clients: Collection[bytes], now: float, out: list[Command], gone: bool = False) -> int:
        """What waits of these clients has failed; returns how many. ``gone``: what wants no reply is done all the same.

        What workers hold of it is theirs to end.
        """
        found = self.records.withdraw(clients, gone)
        if found:
            self._keep()
            self.drain(now, out)
        return found

    # ---- workers -------------------------------------------------------------------------------------------------

    def join(self, key: bytes, slots: int, now: float, out: list[Command]) -> bool:
        """000 REGISTER; False where the table is full. The caller answers and drains. Right behind a link PING: R7."""
        worker, table = self.workers.get(key), self.table
        if worker is None:
            worker = table.revive(key, On.REGISTER, now, out) or table.add(key, now, out)
            if worker is None:
                return False
            worker.opened = NEVER
            if key not in self.lanes.ours:
                self.table.settle(worker, now)
            self.offer(worker, slots)
            return True
        anew = worker.opened != NEVER
        if anew:
            self.take_back(worker, [task for task in worker.held if task.given <= worker.opened])
            if key not in self.lanes.ours:
                self.table.settle(worker, now)
        worker.opened = NEVER
        self.offer(worker, slots)
        full, anew_full = ("", If.ANEW) if worker.used < slots else (If.FULL, If.ANEW_FULL)
        table.step(worker, On.REGISTER, anew_full if anew else full)
        return True

    def offer(self, worker: Worker, slots: int) -> None:
        """000 REGISTER: the worker's slots are overwritten; what it holds counts against them. The caller drains."""
        worker.slots, worker.leaving, worker.drained, worker.row = slots, False, False, None
        if worker in self._suspects.kept or not worker.used:
            self._release(worker)
        if worker.used < slots and not worker.apart and worker not in self.settling:
            self.ready.put(worker)
        else:
            self.ready.drop(worker)

    def leave(self, key: bytes, event: str, out: list[Command]) -> None:
        """000 DEREGISTER: nothing new for it, and gone when what it holds is done. Told to drain: it stays here."""
        self.table.remove(key, event)
        worker = self.workers.get(key)
        drained = event == On.DRAIN
        if worker is None or (worker.leaving and (drained or not worker.drained)):
            return
        self.table.step(worker, event, "" if worker.used or drained else If.EMPTY)
        worker.leaving, worker.drained, worker.row = True, drained, None
        self.ready.drop(worker)
        if worker in self._suspects.kept:
            self._release(worker)
            self._keep()
        if worker.used or drained:
            out.append(Note("info", f"{worker.name} drains: {worker.used} slots in use", key))
        else:
            self._remove(worker, out)

    def _remove(self, worker: Worker, out: list[Command]) -> None:
        self._release(worker)
        self.table.strike(worker)
        out.append(Note("info", f"{worker.name} left", worker.key))

    def lose(self, worker: Worker, why: str, now: float, out: list[Command]) -> None:
        """Out of the table; what it held is taken back. The caller drains."""
        self.table.step(worker, _LOST_BY.get(why, On.REFUSED))
        self.take_back(worker, held := list(worker.held))
        self.backlog.mark(now)
        self._release(worker)
        self.table.lose(worker, now)
        out.append(Note("bad", f"{worker.name} lost ({why}), {several(len(held), 'task')} taken back", worker.key))

    # ---- time ----------------------------------------------------------------------------------------------------

    def tick(self, now: float, out: list[Command]) -> None:
        """000 queue_checker, and what the seed leaves to nobody: silence, deadlines, memory."""
        for key in self.liveness.expired(now):
            self.lose(self.workers[key], SILENT, now, out)
        self.table.forget(now)
        if now >= self.overdue_at:
            self._write_off(now, out)
        while self.settling and next(iter(self.settling.values())) <= now:
            self.settled(next(iter(self.settling)), now, out)
        gone = self.backlog.owners.expire(now)
        if gone and (withdrawn := self.withdraw(frozenset(gone), now, out, gone=True)):
            out.append(Note("warn", f"{several(withdrawn, 'task')} withdrawn from the backlog: clients are gone"))
        self.drain(now, out)

    def _write_off(self, now: float, out: list[Command]) -> None:
        """What a worker held for ``task_deadline`` has failed; an INCREMENT owed for so long will not come.

        Both are oldest first, so one look at each worker a deadline is enough, however many tasks pass.
        """
        allowed, oldest = self.options.task_deadline, now
        for worker in list(self.workers.values()):
            slots = 0
            for task in list(worker.held):
                if task.given + allowed > now:
                    oldest = min(oldest, task.given)
                    break
                self.end(task, "deadline")
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
                out.append(Note("bad", f"{worker.name} let the deadline of {slots} slots pass", worker.key))
                self.free(worker, On.DEADLINE, now, out)
        self.overdue_at = oldest + allowed

    def grace(self, seconds: float) -> None:
        """Our own pause counts against nobody."""
        self.liveness.grace(seconds)
        self.backlog.owners.grace(seconds)
        for worker in self.workers.values():
            worker.grace(seconds)
