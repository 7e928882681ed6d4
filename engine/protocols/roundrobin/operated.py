"""What an operator orders of a round robin broker.

The rules of this file (numbers are those of README.md):

- The seed has no word for a worker that is drained, expired or relieved of a task: it is not told. (R10, R19)
- A worker that was expired and lives is heard sooner or later, and then it is back. (R4)
- A task that is taken back waits as a suspect. The worker that had it still works on it: its INCREMENT frees the slot,
  and its reply, if it is the first one, ends the task. (R3, R5, R8, R19)
"""

from __future__ import annotations

from engine.core import Command, Note
from engine.parts.callers import MOVED
from engine.parts.inflight import Task, TaskKey
from engine.parts.orders import (
    Discard,
    Drain,
    Expire,
    Inspect,
    Move,
    Pack,
    Requeue,
    Throttle,
    Undrain,
    Withdraw,
)
from engine.parts.plain import several
from engine.protocols.roundrobin.machine import If, On
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.presence import Presence

TAKES = (Undrain, Throttle, Expire, Requeue)


class Operated:
    """The half of the broker that takes orders: ``Inspect``, ``Drain``, ``Withdraw``, ``Discard``, ``Move``, ``Pack``
    and TAKES.
    """

    pool: Pool
    presence: Presence
    inspected: bytes | None

    def ordered(self, order: object, now: float, out: list[Command]) -> None:
        """Carry an order out. TypeError for one that no broker of this protocol takes."""
        match order:
            case Inspect(worker):
                self.inspected = worker
            case Drain(worker):
                self.pool.leave(worker, On.DRAIN, out)
            case Undrain(worker):
                self._undrain(worker, now, out)
            case Expire(worker):
                self._expire(worker, now, out)
            case Requeue():
                self._requeue(order, now, out)
            case Throttle(rate, client):
                self.pool.backlog.limit(client, rate, now, out)
                self.pool.drain(now, out)
            case Withdraw(client):
                withdrawn = self.pool.withdraw([client], now, out)
                out.append(Note("info", f"{several(withdrawn, 'task')} withdrawn from the backlog", client))
            case Discard(client, ident):
                self._discard((client, ident), now, out)
            case Move(client, ident, first):
                self._move((client, ident), first, out)
            case Pack(on):
                self.pool.lanes.switch(on)
            case _:
                raise TypeError(f"a round robin broker takes no {order!r}")

    def _expire(self, key: bytes, now: float, out: list[Command]) -> None:
        """A worker is lost because an operator says so."""
        worker = self.pool.workers.get(key)
        if worker is None:
            out.append(Note("warn", "no such worker to expire, or it is lost", key, True))
            return
        self.pool.lose(worker, On.EXPIRED, now, out)
        self.presence.seek(now)
        self.pool.drain(now, out)

    def _requeue(self, order: Requeue, now: float, out: list[Command]) -> None:
        """Take tasks back from a worker that lives."""
        pool = self.pool
        task = pool.tasks.get((order.client, order.id)) if order.id else None
        key = order.worker if not order.id else task.worker if task is not None else b""
        worker = pool.workers.get(key)
        taken = [] if worker is None else [task] if task is not None else list(worker.held)
        if worker is None or not taken:
            why = f"no worker holds task {order.id.hex()}" if order.id else "it holds no task"
            out.append(Note("warn", why, key, True))
            return
        worker.relieve(taken, now)
        pool.records.give_back(key, taken)
        pool.backlog.mark(now)
        out.append(Note("info", f"{several(len(taken), 'task')} taken back from {worker.name}", key))
        pool.drain(now, out)

    def _undrain(self, key: bytes, now: float, out: list[Command]) -> None:
        """A worker that an operator drained gets tasks again, if it has not left."""
        pool = self.pool
        worker = pool.workers.get(key)
        if worker is None or not worker.drained:
            out.append(Note("warn", "it does not drain, or leaves by itself", key, True))
            return
        pool.table.step(worker, On.UNDRAIN, "" if worker.used < worker.slots else If.FULL)
        pool.offer(worker, worker.slots)
        out.append(Note("info", f"{worker.name} drains no more", key))
        pool.drain(now, out)

    def _discard(self, key: TaskKey, now: float, out: list[Command]) -> None:
        """An operator says that a task which waits is not to be done."""
        task = self._waiting(key, out)
        if task is None:
            return
        self.pool.end(task, "withdrawn")
        self.pool.records.withdrawn()
        self.pool.drain(now, out)
        out.append(Note("info", f"task {key[1].hex()}, which waited, is withdrawn", key[0]))

    def _move(self, key: TaskKey, first: bool, out: list[Command]) -> None:
        """An operator says that a task which waits is to be given before the others, or after them."""
        task = self._waiting(key, out)
        if task is not None:
            self.pool.backlog.move(task, first)
            out.append(Note("info", f"task {key[1].hex()} {MOVED[first]}", key[0]))

    def _waiting(self, key: TaskKey, out: list[Command]) -> Task | None:
        """A task that waits; where it does not, the operator is told."""
        task = self.pool.tasks.get(key)
        if task is None or task.worker:
            out.append(Note("warn", f"task {key[1].hex()} does not wait any more", key[0], True))
            return None
        return task
