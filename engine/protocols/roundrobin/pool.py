"""The workers of a round robin broker and its books: who comes and goes, and what that means for what they hold.

The rules of this file (numbers are those of README.md; the way of a task is in ``dispatch.py``):

- A worker that is lost holds nothing: its tasks are suspects, in their old order, unless they were delivered
  ``max_deliveries`` times. A suspect is with a worker alone. Lost workers are remembered for ``lost_shown``. (R3)
- What waits has its client as owner, who may have a share of the backlog; when it is gone, that is withdrawn. (R17)

``out`` is the list of commands that the broker returns from the event at hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.core import NEVER, Command, Note
from engine.parts.inflight import Task
from engine.parts.plain import several
from engine.protocols.roundrobin.dispatch import Dispatch
from engine.protocols.roundrobin.invariants import check
from engine.protocols.roundrobin.machine import If, On
from engine.protocols.roundrobin.table import Worker

SILENT = "silent"
_LOST_BY = {SILENT: On.SILENT, On.ENDED: On.ENDED, On.EXPIRED: On.EXPIRED}  # else its socket says why it refused


class Pool(Dispatch):
    """Every change of it goes through its methods; ``check`` says what they keep true."""

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
