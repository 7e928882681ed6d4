"""What an operator orders of a ping-pong broker.

The rules of this file:

- The seed's only word for a worker is EXIT. One that was sent it leaves; one that is still to be sent it, when its job
  is done, may stay. (ruling 5)
- A job that is taken back from a worker is still done there: the worker owes a result, as after a deadline. (ruling 9)
- A limit holds up what waits, and no worker and no client is told.
"""

from __future__ import annotations

from abc import abstractmethod

from engine.core import Command, Note, Send
from engine.parts.orders import Discard, Drain, Expire, Inspect, Move, Requeue, Slots, Throttle, Undrain, Withdraw
from engine.parts.plain import several
from engine.parts.valve import set_limit
from engine.protocols.pingpong.frontend import Frontend
from engine.protocols.pingpong.machine import If, On, Seen
from engine.protocols.pingpong.messages import EXIT
from engine.protocols.pingpong.table import Table, Worker
from engine.protocols.pingpong.tasks import Tasks

BACKEND = "backend"
TAKES = (Undrain, Throttle, Expire, Requeue)
UNTAKEN = ((Slots, "its workers do one job at a time; start more of them"),)


class Operated:
    """The half of the broker that takes orders: ``Inspect``, ``Drain``, ``Withdraw``, ``Discard``, ``Move``, TAKES."""

    table: Table
    tasks: Tasks
    frontend: Frontend
    inspected: bytes | None

    def ordered(self, order: object, now: float, out: list[Command]) -> None:
        """Carry an order out. ValueError for one that no broker of this protocol takes."""
        match order:
            case Inspect(worker=key):
                self.inspected = key
            case Drain(worker=key):
                self._drain(key, out)
            case Undrain(worker=key):
                self._undrain(key, out)
            case Expire(worker=key):
                self._expire(key, now, out)
            case Requeue():
                self._requeue(order, now, out)
            case Throttle(rate=rate, client=client):
                self.tasks.valve = set_limit(self.tasks.valve, client, rate, now, out)
                self._pump(now, out)
            case Discard(client=client, id=ident):
                self.frontend.discard((client, ident), out)
            case Move(client=client, id=ident, first=first):
                self.frontend.move((client, ident), first, out)
            case Withdraw(client=client):
                self.frontend.withdraw(client, out)
            case _:
                raise ValueError(f"a ping-pong broker takes no {order}")

    def _drain(self, key: bytes, out: list[Command]) -> None:
        # ruling 5: EXIT, when an operator asks
        worker = self.table.get(key)
        if worker is None or worker.state == Seen.LOST:
            out.append(Note("warn", "no such worker to stop", key, True))
            return
        if worker.leaving:
            return
        self.table.step(worker, On.DRAIN)
        worker.leaving, worker.row = True, None
        self.table.ready.drop(key)
        if worker.state == Seen.TOLD:
            out.append(Send([key, b"", EXIT], BACKEND))

    def _undrain(self, key: bytes, out: list[Command]) -> None:
        worker = self.table.get(key)
        if worker is None or worker.state != Seen.LEAVING:
            told = worker is not None and worker.state == Seen.TOLD
            why = "it was sent EXIT, which nothing takes back" if told else "it does not drain"
            out.append(Note("warn", why, key, True))
            return
        self.table.step(worker, On.UNDRAIN, If.OWES if worker.owes else "")
        worker.leaving, worker.row = False, None
        out.append(Note("info", f"{worker.name} drains no more", key))

    def _expire(self, key: bytes, now: float, out: list[Command]) -> None:
        worker = self.table.get(key)
        if worker is None or worker.state in (Seen.LOST, Seen.TOLD):
            out.append(Note("warn", "no such worker to expire: it is lost, or was sent EXIT", key, True))
            return
        self.table.step(worker, On.EXPIRED)
        held = int(worker.task is not None)
        if held:
            self._take_back(worker, out)
            worker.owes = True
        self._lose(worker, f"an operator said so, {several(held, 'task')} taken back", now, out)
        self._pump(now, out)

    def _requeue(self, order: Requeue, now: float, out: list[Command]) -> None:
        task = self.tasks.get((order.client, order.id)) if order.id else None
        key = order.worker if not order.id else task.worker if task is not None else b""
        worker = self.table.get(key)
        if worker is None or worker.task is None or (order.id and worker.task is not task):
            what = f"task {order.id.hex()}" if order.id else "a task"
            out.append(Note("warn", f"no worker holds {what}" if order.id else f"it holds no {what[2:]}", key, True))
            return
        self.table.step(worker, On.REQUEUED)
        out.append(Note("info", f"1 task taken back from {worker.name}", key))
        self._take_back(worker, out)
        worker.owes = True
        self._pump(now, out)

    @abstractmethod
    def _pump(self, now: float, out: list[Command]) -> None:
        """Give waiting tasks to idle workers."""

    @abstractmethod
    def _take_back(self, worker: Worker, out: list[Command]) -> None:
        """A delivery came to nothing."""

    @abstractmethod
    def _lose(self, worker: Worker, reason: str, now: float, out: list[Command]) -> None:
        """A worker that holds nothing is lost."""
