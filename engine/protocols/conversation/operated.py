"""What an operator orders of a conversation's broker.

The rules of this file:

- The seed's words for a worker are STOP(n) and STOP(immed), which take processors for good: nothing gives them back.
- A task is a process of its worker, which runs it to its end or to that of the conversation. So one that is to go to
  another is taken with its worker: that is expired, told ERROR(broken), and begins anew.
- A limit holds up what waits; a job of one client that is held up lets those of others pass.
"""

from __future__ import annotations

from abc import abstractmethod

from engine.core import Command, Note
from engine.parts.orders import Drain, Expire, Inspect, Requeue, Slots, Throttle, Undrain, Withdraw
from engine.parts.valve import set_limit
from engine.protocols.conversation import links
from engine.protocols.conversation.frontend import Request
from engine.protocols.conversation.jobfrontend import JobFrontend
from engine.protocols.conversation.links import Link
from engine.protocols.conversation.machine import On

TAKES = (Throttle, Expire)
UNTAKEN = (
    (Undrain, "a STOP takes a worker's processors for good; start another one"),
    (Requeue, "a task is a process of its worker; expire the worker, and others get all that it runs"),
    (Slots, "a worker says its processors as it greets; stop N takes some, another worker brings more"),
)


class Operated:
    """The half of the broker that takes orders: ``Inspect``, ``Drain``, ``Withdraw``, TAKES, what ``frontend`` asks."""

    links: dict[bytes, Link]
    jobfrontend: JobFrontend
    inspected: bytes | None

    def ordered(self, order: object, now: float, out: list[Command]) -> None:
        """Carry an order out; one that no broker of this protocol takes is told."""
        match order:
            case Inspect(worker):
                self.inspected = worker
            case Drain(worker):
                if (link := self.links.get(worker)) is not None:
                    self._stop(link, link.max_nproc, out)
            case Expire(worker):
                self._expire(worker, now, out)
            case Throttle(rate, client):
                self.jobfrontend.jobs.valve = set_limit(self.jobfrontend.jobs.valve, client, rate, now, out)
                self.jobfrontend.jobs.ask_anew()
            case Withdraw(client):
                self.jobfrontend.withdraw(client, out)
            case _ if isinstance(order, Request):
                self._do(b"", 0, order, now, out)
            case _:
                out.append(Note("warn", f"the broker takes no such order: {type(order).__name__}", declines=True))

    def _expire(self, key: bytes, now: float, out: list[Command]) -> None:
        link = self.links.get(key)
        if link is None:
            out.append(Note("warn", "no such worker to expire", key, True))
            return
        self._end(link, On.EXPIRED, "is expired by an operator", now, out)
        out.append(links.hang_up(link.peer, link.socket))

    @abstractmethod
    def _stop(self, link: Link, nproc: int, out: list[Command]) -> None:
        """Take processors from a worker."""

    @abstractmethod
    def _do(self, client: bytes, ref: int, request: Request, now: float, out: list[Command]) -> None:
        """Carry out a request."""

    @abstractmethod
    def _end(self, link: Link, event: str, why: str, now: float, out: list[Command], told: bool = True) -> None:
        """End a conversation; what its worker has goes back to the queue."""
