"""The broker of a lab, and its fallback if the system has pairs.

Each sits on a node of its own name, so that one can die without the other. The fallback is bound inside this process
only: a pair for other processes is two brokers in two processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import zmq

from engine.core import Note, Seat
from engine.drive.node import Node
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.binding import beside, check_local, checked
from engine.parts.view import BrokerView
from engine.system import Orders, System, store_of

FIRST, SECOND = "broker", "fallback"
WAIT = 1.5  # seconds that a broker may take to answer

Sit = Callable[[str, tuple[str, ...]], None]
"""Seat a broker on the node of this name, bound to these endpoints. Raises zmq.ZMQError where it can not be bound."""


def inner(system: System) -> str:
    """Where peers of the same process find the broker."""
    return f"inproc://{system.name}"


def fallback(system: System) -> str:
    """Where they find its fallback."""
    return f"inproc://{system.name}-fallback"


def orders_of(system: System) -> tuple[Orders, str] | None:
    """The orders that its broker takes, and where within this process; None where it takes none."""
    return None if system.orders is None else (system.orders, system.orders.endpoint(inner(system)))


def paired(system: System, options: Any) -> Any:
    """The settings of a broker with a fallback in this process; None where the protocol knows no such thing, or where
    the settings name a fallback elsewhere, or a store: a fallback does not know what is in that.
    """
    if system.paired is None or system.fallback(options) or store_of(system, options):
        return None
    return system.paired(options, inner(system), fallback(system))


class Brokers:
    """``nodes``: those of the lab, by name; ``left``: is told the name of the node whose broker is gone; ``keys``:
    whether its peers have some.
    """

    def __init__(
        self, system: System, nodes: Mapping[str, Node], sit: Sit, left: Callable[[str], None], keys: bool = False
    ) -> None:
        self._keys = keys
        self.paired = False
        self._system, self._nodes, self._sit, self._left = system, nodes, sit, left
        self._bound: tuple[str, ...] = ()

    # ---- opening ----------------------------------------------------------------------------------------------------

    def open(self, endpoints: Sequence[str], say: Callable[[Note], None]) -> tuple[str, ...]:
        """Seat the broker, at the system's usual endpoint or beside it where none is named; where that is.

        Raises Refused where an endpoint can not be bound or is not for binding.
        """
        for endpoint in endpoints:
            check_local(endpoint, self._keys)
        tried = [tuple(endpoints)] if endpoints else [(endpoint,) for endpoint in beside(self._system.endpoint)]
        taken = ""
        for bound in tried:
            try:
                self._sit(FIRST, (*bound, inner(self._system)))
            except zmq.ZMQError as error:
                problem = str(error)
                self._left(FIRST)
                if error.errno == zmq.EADDRINUSE:
                    taken = taken or problem.rpartition(": ")[0]  # it may be a port beside the one that was named
                    continue
                raise Refused(f"can not bind {problem}") from None
            if bound != tried[0]:
                say(Note("warn", f"{taken} is taken by another program; this broker is at {bound[0]}"))
            self._bound = bound
            return bound
        beside_it = "" if taken in tried[0] else f", which the broker at {tried[0][0]} needs too"
        raise Refused(f"can not bind {problem}{beside_it}; name a free one with --bind")

    def checked(self, seat: Seat) -> Seat:
        """The seat; raises Refused where it is not for binding."""
        return checked(seat, self._keys)

    def open_fallback(self) -> None:
        """Seat a fallback beside it."""
        self._sit(SECOND, (fallback(self._system),))
        self.paired = True

    # ---- who is there -----------------------------------------------------------------------------------------------

    def views(self) -> dict[str, BrokerView]:
        """The pictures of those that are there, by name. Raises Refused where one does not answer."""
        asked = {name: self._nodes[name].ask_all() for name in (FIRST, SECOND) if name in self._nodes}
        found = {name: _answer(name, future) for name, future in asked.items()}
        return {name: views[name] for name, views in found.items() if name in views}

    def serving(self) -> tuple[str, BrokerView]:
        """The one that serves, or else the first that is there. Raises Refused where none is."""
        views = self.views()
        if not views:
            raise Refused("no broker is there: its plug is pulled")
        return next(((name, view) for name, view in views.items() if view.serving), next(iter(views.items())))

    def order(self, order: object) -> None:
        """An order to all of them."""
        for name in (FIRST, SECOND):
            if name in self._nodes:
                self._nodes[name].order(name, order)

    # ---- the pair ---------------------------------------------------------------------------------------------------

    def pull_plug(self) -> None:
        """End the primary as if its process had died. Raises Refused where it has no fallback, or is gone already."""
        self._pair()
        if FIRST not in self.views():
            raise Refused("the primary's plug is pulled already")
        self._nodes[FIRST].remove(FIRST).result(WAIT)
        self._left(FIRST)

    def hand_back(self) -> None:
        """Start the primary again where it is gone, and it waits while its fallback serves; where it is there, let
        the fallback give the service back. Raises Refused where there is no pair, or nothing to give back yet.
        """
        self._pair()
        views = self.views()
        if FIRST in views:
            check_hand_back(views[FIRST], views.get(SECOND))
            self._nodes[SECOND].order(SECOND, self._system.hand_back)
            return
        self.seat_again()

    def seat_again(self) -> None:
        """Start the first broker anew where it was. Raises Refused where it can not be bound within ``WAIT``."""
        problem = ""

        def seated() -> bool:
            nonlocal problem
            try:
                self._sit(FIRST, (*self._bound, inner(self._system)))
            except zmq.ZMQError as error:
                self._left(FIRST)
                problem = str(error)
                return error.errno != zmq.EADDRINUSE  # by the one before it, which is just being closed
            problem = ""
            return True

        if not wait_until(seated, WAIT) or problem:
            raise Refused(f"can not bind {problem}")

    def _pair(self) -> None:
        if not self.paired:
            raise Refused("this broker has no fallback in this process")


def check_hand_back(first: BrokerView, second: BrokerView | None) -> None:
    """Raises Refused where the second broker of a pair would not give the service back to the first."""
    if first.serving:
        raise Refused("the primary serves: there is nothing to hand back")
    if second is None:
        raise Refused("the fallback is gone: there is nobody to hand back")
    if not second.serving or dict(second.terms).get("peer") != "passive":
        raise Refused("the primary is back, and the fallback has not heard yet that it waits: try again in a moment")


def _answer(name: str, future: Future[dict[str, BrokerView]]) -> dict[str, BrokerView]:
    try:
        return future.result(WAIT)
    except (RuntimeError, TimeoutError) as error:
        raise Refused(f"the {name} does not answer: {str(error) or 'it is too busy'}") from None
