"""The way of a task through a round robin broker: accepted, given to a worker, answered, its slot freed.

The rules of this file (numbers are those of README.md):

- A task is accepted once, under (client, id); it is queued, or held by one worker, or it has ended. (R1)
- A slot is taken by a delivery; it is given back when the worker's INCREMENT or the deadline frees it. (R5)
- What is queued goes first, and as soon as there is a slot. So while the backlog holds anything, nobody is ready. (R2)
- Every task comes by here, so what is done for each is written out where a call would cost more than it does.

``out`` is the list of commands that the broker returns from the event at hand.
"""

from __future__ import annotations

from engine.core import NEVER, Command, Frames, Note
from engine.parts.inflight import Task
from engine.parts.legs import sampled
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.lanes import Lanes
from engine.protocols.roundrobin.machine import On
from engine.protocols.roundrobin.messages import EXEC, KINDS, OTHER, PLAIN
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.records import Records
from engine.protocols.roundrobin.table import Table, Worker, is_empty

LATE = "late"
BEYOND = "INCREMENT beyond what it holds"


class Dispatch:
    """The state of a pool, and the moves of its tasks."""

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

    def _give(self, task: Task, worker: Worker, now: float, out: list[Command]) -> None:
        """000 Worker Table, 1 to 3: pass it on, take a slot, to the bottom of the table. To one that is ready."""
        held, order = worker.held, self.ready.order
        task.worker, task.given = worker.key, now
        task.attempt += 1
        held[task] = None
        if task.message[0] == EXEC or task.kind == OTHER:
            worker.quiet[task] = None
        worker.row = None
        if len(held) + worker.owed < worker.slots:
            self._takes.times += 1
            order.move_to_end(worker)
        else:
            self._fills.times += 1
            worker.stands = self._fills.next
            del order[worker]
        if self.overdue_at == NEVER:
            self.overdue_at = now + self.options.task_deadline
        self.lanes.deliver(worker.key, task.key[0], task.message, out)

    def fill(self, worker: Worker, now: float, out: list[Command]) -> None:
        """What waits goes to the only worker that has free slots, oldest first: ``drain``, for the usual case of it."""
        fresh, held, deliver = self._fresh, worker.held, self.lanes.deliver
        waiting, key = self.backlog.owners.waiting, worker.key
        free = worker.slots - len(held) - worker.owed
        given = min(free, len(fresh))
        for _ in range(given):
            task = fresh.popleft()
            message, client = task.message, task.key[0]
            more = waiting[client] - 1
            if more and len(message) == PLAIN:
                waiting[client] = more
            else:
                self.backlog.owners.leave(task)
            task.worker, task.given = key, now
            task.attempt += 1
            held[task] = None
            if message[0] == EXEC or task.kind == OTHER:
                worker.quiet[task] = None
            deliver(key, client, message, out)
        self._takes.times += given
        if given < free:
            self.ready.put(worker)
        else:
            self._takes.times -= 1
            self._fills.times += 1
            worker.stands = self._fills.next
        if self.overdue_at == NEVER:
            self.overdue_at = now + self.options.task_deadline

    # ---- answers -------------------------------------------------------------------------------------------------

    def close(self, task: Task, why: str = "") -> None:
        """A task has ended, ``why`` it failed; whoever held it is the caller's to tell."""
        if len(task.message) > PLAIN or self.former or self.records.told is not None:
            self.records.close(task, why)
        else:
            del self.tasks[task.key]

    def end(self, task: Task, why: str = "") -> Worker | None:
        """Take out a task, which failed where ``why`` says so; returns who held it. If nobody did, the caller drains"""
        self.close(task, why)
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

    def succeed(self, task: Task, worker: Worker | None, peer: bytes, now: float, owes: bool = False) -> bool:
        """The task's first reply, by whom it was given to; whoever held it ``owes`` an INCREMENT.

        False where nobody held it: the caller drains.
        """
        if worker is None or task.worker != peer:
            holder = self.end(task)
        else:
            holder = worker
            self.close(task)
            del worker.held[task]
            if worker.quiet:
                worker.quiet.pop(task, None)
        if worker is not None:
            worker.done = done = worker.done + 1
            worker.opened, worker.row = NEVER, None
            if holder is worker and done >= worker.served.due:
                worker.served.note(now - task.given, now, done)
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

    def succeed_run(self, worker: Worker, answers: list[packed.Answer], start: int, now: float) -> int:
        """Packed answers from ``start`` on, while each replies to a task that this worker holds: ``succeed`` for each.

        Returns the place behind them. Their slots are in use until the caller frees them.
        """
        tasks, held, quiet, served, peer = self.tasks, worker.held, worker.quiet, worker.served, worker.key
        done, plain = worker.done, not self.former and self.records.told is None
        for client, ident, answer in answers if not start else answers[start:]:
            task = tasks.get((client, ident))
            if task is None or task.worker != peer or answer is None or task.message[0] == EXEC:
                break
            if plain and len(task.message) == PLAIN:
                del tasks[task.key]
            else:
                self.records.close(task)
            del held[task]
            if quiet:
                quiet.pop(task, None)
            done += 1
            if done >= served.due:
                served.note(now - task.given, now, done)
            if sampled(ident):
                self.records.legs.note(client, ident, task.accepted, task.given, now, peer, task.attempt)
        replied = done - worker.done
        worker.done, worker.opened, worker.row = done, NEVER, None
        self._answers[worker.stands].times += replied
        self.ledger.succeeded += replied
        return start + replied

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

    # ---- slots ---------------------------------------------------------------------------------------------------

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
        order = self.ready.order
        if not self.settling or worker not in self.settling:
            if self._fresh and not order and self.valve.open and not self._suspects.waiting:
                self.fill(worker, now, out)
                return
            order[worker] = None
            order.move_to_end(worker)
        if self._fresh or self._suspects.waiting or self.backlog.aside:
            self.drain(now, out)

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

    def _remove(self, worker: Worker, out: list[Command]) -> None:
        self._release(worker)
        self.table.strike(worker)
        out.append(Note("info", f"{worker.name} left", worker.key))
