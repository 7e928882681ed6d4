"""What an operator orders of a broker that serves: limits, workers that stay or are lost, tasks that go elsewhere.

The rules of this file:

- The seed has no word by which a broker takes a task or a worker back, so no worker is told. One that is expired says
  PING, negotiates anew, and says what it holds.
- A task that is taken back is a suspect, given to a worker alone. The first one's reply is late.
- Limits are the serving broker's own: whoever takes over from it has none.
"""

from __future__ import annotations

from engine.core import NEVER, Note
from engine.parts.orders import Expire, Requeue, Slots, Throttle, Undrain
from engine.parts.plain import several
from engine.parts.valve import set_limit
from engine.protocols.negotiated.config import Address
from engine.protocols.negotiated.machine import If, On
from engine.protocols.negotiated.service import Service

TAKES = (Undrain, Throttle, Expire, Requeue)
UNTAKEN = ((Slots, "a worker says its slots as it joins; stop it, and start one with others"),)
Order = Undrain | Throttle | Expire | Requeue


class Operated(Service):
    """A ``Service`` that takes TAKES."""

    def operate(self, order: Order, now: float) -> None:
        """Carry an order out."""
        match order:
            case Undrain(worker):
                self._undrain(worker, now)
            case Expire(worker):
                self._expire(worker, now)
            case Requeue():
                self._requeue(order, now)
            case Throttle(rate, client):
                self.valve = set_limit(self.valve, client, rate, now, self.out)
                self._let(now)

    def wake_at(self) -> float:
        """The same, or when a limit lets the next task go."""
        return min(super().wake_at(), NEVER if self.valve is None else self.valve.due)

    def expire(self, now: float) -> None:
        """See ``Service``; and what a limit has held up so far may go."""
        super().expire(now)
        if self.valve is not None and now >= self.valve.due:
            self._let(now)

    def retire(self, elsewhere: Address | None) -> None:
        """See ``Service``."""
        super().retire(elsewhere)
        self.valve = None

    def _let(self, now: float) -> None:
        if self.valve is not None:
            self.valve.ask_anew()
        self._pump_all(list(self.dispatcher.queues), now)

    def _undrain(self, key: bytes, now: float) -> None:
        member = self.dispatcher.members.get(key)
        if member is None or not member.draining or member.away or not member.services:
            self.out.append(Note("warn", "it does not drain, or has left", key, True))
            return
        self.dispatcher.step(member, On.UNDRAIN, "" if member.free else If.FULL)
        self.dispatcher.drain(key, False)
        self.out.append(Note("info", f"{member.name} drains no more", key))
        self._pump_all(member.services, now)

    def _expire(self, key: bytes, now: float) -> None:
        member = self.dispatcher.members.get(key)
        if member is None or member.away:
            self.out.append(Note("warn", "there is no such worker to expire", key, True))
            return
        held = self.dispatcher.in_flight.held(key)
        self.dispatcher.step(member, On.EXPIRED)
        self.count("workers expired")
        self.out.append(
            Note("bad", f"{member.name} is expired by an operator, {several(held, 'task')} taken back", key)
        )
        self._forget(member, now)

    def _requeue(self, order: Requeue, now: float) -> None:
        task = self.dispatcher.tasks.get((order.client, order.id)) if order.id else None
        key = order.worker if not order.id else task.worker if task is not None else b""
        member = self.dispatcher.members.get(key)
        held = [] if member is None or member.away else list(self.dispatcher.in_flight.of(key))
        taken = held if task is None else [one for one in held if one is task]
        if member is None or not taken:
            why = f"no worker holds request {order.id.hex()}" if order.id else "it holds no task"
            self.out.append(Note("warn", why, key, True))
            return
        last = member.draining and len(taken) == len(held)
        self.dispatcher.step(member, On.REQUEUED)
        self.out.append(Note("info", f"{several(len(taken), 'task')} taken back from {member.name}", key))
        again = self._take_back(key, taken, now)
        if last:
            self.dispatcher.step(member, On.DRAIN)
            self._dismiss(member, now)
        self._pump_all(again, now)
