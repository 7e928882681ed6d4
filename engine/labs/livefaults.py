"""Faults of the running system, by the sandbox's own words: what they do, in words, and the deed.

The rules of this file:

- Only what runs in this process is hurt: a worker by its name, as screens call it (``w3``), the client, the broker.
- Nobody is notified. Only the protocol notices what a worker held, as it would if the worker's process were hurt.
- An event says what was done, and when it is over.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine.core import Note
from engine.drive.node import Node
from engine.errors import Refused
from engine.labs.brokers import FIRST, Brokers
from engine.labs.orders import WorkerOrders
from engine.labs.pools import Pools
from engine.parts.fault import SECONDS, Amount, Fault, Made, read_line
from engine.parts.orders import Slow
from engine.schema import nearest

WAIT = 1.5  # seconds that a thread may take to do it
SHOWN = 12  # names of workers in a refusal


class Hit(NamedTuple):
    """A fault with everything that was asked for."""

    lab: LiveFaults
    node: str
    seat: str
    label: str
    amounts: tuple[float, ...]


def _kill(hit: Hit) -> Made:
    does = f"{hit.label} vanishes without a word; its broker gives what it holds to others once it is missed"
    return Made(does, [], lambda: hit.lab.vanish(hit.node, hit.seat))


def _freeze(hit: Hit) -> Made:
    (seconds,) = hit.amounts
    does = f"{hit.label} is stopped for {seconds:g} s, and then goes on where it was"
    return Made(does, [], lambda: hit.lab.hold(hit, seconds, True))


def _slow(hit: Hit) -> Made:
    (seconds,) = hit.amounts
    does = f"{hit.label} answers {seconds:g} s late from now on"
    return Made(does, [], lambda: hit.lab.tell(hit, Slow(seconds)))


def _cut(hit: Hit) -> Made:
    (seconds,) = hit.amounts
    does = f"nothing passes between {hit.label} and the broker for {seconds:g} s"
    return Made(does, [], lambda: hit.lab.hold(hit, seconds, False))


def _restart(hit: Hit) -> Made:
    return Made(f"{hit.label} is started anew and knows nothing", [], lambda: hit.lab.renew(hit.node, hit.seat))


FAULTS: tuple[Fault, ...] = (
    Fault("kill", "end a worker without a word", ("worker",), (), _kill),
    Fault("freeze", "stop it for a while", ("worker", "broker"), (SECONDS,), _freeze),
    Fault("slow", "let a worker answer late", ("worker",), (Amount("seconds", 1.0, 0.0, 3600.0),), _slow),
    Fault("cut", "let nothing pass for a while", ("worker", "client"), (SECONDS,), _cut),
    Fault("restart", "start it anew", ("worker", "broker"), (), _restart),
)
"""Those that make sense on a running system; words, targets and amounts are those of ``engine.faults.faults``."""

NAMES = tuple(fault.name for fault in FAULTS)


class LiveFaults(WorkerOrders):
    """The orders by which a lab that runs is hurt."""

    _nodes: dict[str, Node]
    _brokers: Brokers
    _pool: Pools

    def hurts(self, line: str) -> str:
        """What a fault would do, in words. Raises Refused for what there is not."""
        return self._made_of(line).does

    def hurt(self, line: str) -> str:
        """Do the fault of a line such as ``freeze w3 5``; what was done. Raises Refused for what there is not."""
        self._change("a fault")
        made = self._made_of(line)
        made.deed()
        self._say(Note("warn", made.does))
        return made.does

    def _made_of(self, line: str) -> Made:
        fault, target, amounts = read_line(FAULTS, line)
        made: Made = fault.make(Hit(self, *self._found(fault, target), amounts))
        return made

    def _found(self, fault: Fault, target: str) -> tuple[str, str, str]:
        """Node, seat and name for people."""
        if target in fault.targets and target in self._nodes:
            return target, target, f"the {target}"
        workers = self.workers_by_name() if "worker" in fault.targets else {}
        if target in workers:
            return *workers[target], target
        there = [name for name in fault.targets if name in self._nodes] + list(workers)
        shown = ", ".join(there[:SHOWN]) + (f" and {len(there) - SHOWN} more" if len(there) > SHOWN else "")
        raise Refused(
            f"{fault.name}: no {target!r} in this process{nearest(target, there)}; there are {shown or 'none'}"
        )

    def workers_by_name(self) -> Mapping[str, tuple[str, str]]:
        """Node and seat of each worker that runs here, by the name that screens show: worker-3 is w3."""
        return {f"w{seat.removeprefix('worker-')}": (node, seat) for seat, node in self._pool.where().items()}

    # ---- deeds ------------------------------------------------------------------------------------------------------

    def vanish(self, node: str, seat: str) -> None:
        """End a seat as if its process had died."""
        self._gone(lambda: self._nodes[node].remove(seat).result(WAIT), seat)
        self._left(node, seat)

    def hold(self, hit: Hit, seconds: float, stopped: bool) -> None:
        """Cut a seat off for a while, and stop it meanwhile where wanted."""
        self._gone(lambda: self._nodes[hit.node].hold(hit.seat, seconds, stopped).result(WAIT), hit.label)

    def tell(self, hit: Hit, order: object) -> None:
        """Hand a seat an order, and wait until it has it."""
        noted: list[Any] = []
        self._gone(lambda: noted.append(self._nodes[hit.node].carry(hit.seat, order).result(WAIT)), hit.label)
        if noted == [None]:
            raise Refused(f"{hit.label} has left")

    def renew(self, node: str, seat: str) -> None:
        """End a seat without a word and start it again with an empty memory."""
        self.vanish(node, seat)
        if seat == FIRST:
            self._brokers.seat_again()
        else:
            self._pool.seat_again(seat, WAIT)
            self._brief()

    def _gone(self, act: Callable[[], Any], name: str) -> None:
        try:
            act()
        except KeyError:
            raise Refused(f"{name} has left") from None
        except (RuntimeError, TimeoutError) as error:
            raise Refused(f"{name} does not answer: {str(error) or 'its thread is too busy'}") from None

    @abstractmethod
    def _left(self, node: str, name: str = "") -> None:
        """Note in journal and traces that a seat is gone."""

    @abstractmethod
    def _say(self, note: Note) -> None:
        """Tell the operator."""
