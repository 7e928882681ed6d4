"""Limits for recordings: a journal may contain only what an operator could do to live cores.

A journal may come from anybody. Messages in it go through the same parsers as messages from a socket; what an operator
gives (settings, seats, orders) has no parser, because here it comes from our own hands: it is judged here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_type_hints

from engine.journal.checks import fits
from engine.journal.codec import Unreadable
from engine.journal.read import FARTHEST
from engine.parts.bulk import BulkSpec
from engine.parts.limits import MAX_HELD, MAX_SLOTS
from engine.parts.orders import ClockSet, Slots, Slow, Throttle
from engine.schema import Misfit, fit
from engine.settings.settings import Run
from engine.system import Orders

MAX_RATE = 1e9  # tasks a second
MAX_SLOW = 86_400.0  # seconds
MAX_SEATS = 20_000  # cores at one time
MAX_NAME = 4096  # characters of an endpoint
MAX_ENDPOINTS = 16  # of one broker
ROLES = ("broker", "worker", "client", "driver", "watchdog")

_RUN = get_type_hints(Run, include_extras=True)


def options_of(made: type[Any], given: Mapping[str, Any]) -> Any:
    """The settings of a recording, within the bounds that they have in a configuration. Raises Unreadable."""
    hints = get_type_hints(made, include_extras=True)
    found = {}
    for name, value in given.items():
        if name not in hints:
            raise Unreadable(f"option {name!r} is not known here")
        try:
            found[name] = fit(value, hints[name])
        except Misfit as misfit:
            raise Unreadable(f"option {name}: {misfit}") from None
    return made(**found)


def judge_seat(role: str, args: Any, world: Mapping[str, Any]) -> None:
    """Raise Unreadable for a seat that no lab would make."""
    if role not in ROLES:
        raise Unreadable(f"no core has the role {role!r}")
    if role == "broker":
        good = len(args) == 1 and _endpoints(args[0])
    elif role == "worker":
        good = len(args) == 3 and _endpoint(args[0]) and fits(args[1], int) and _whole(args[2], MAX_SLOTS)
    elif role == "client":
        good = len(args) == 2 and _endpoint(args[0]) and fits(args[1], int)
    else:
        return  # folders and numbers of a driver: it only answers what was recorded
    saved, offset = world.get("saved"), world.get("wall_offset", 0.0)
    if not good or not fits(saved, bytes | None) or not _number(offset, -FARTHEST, FARTHEST):
        raise Unreadable(f"a {role} with such arguments is not made here")


def judge_order(order: object, orders: Orders | None) -> None:
    """Raise Unreadable for an order that no operator can give. ``orders``: the system's."""
    match order:
        case BulkSpec():
            _judge_run(order)
        case Slow(seconds):
            if not _number(seconds, 0, MAX_SLOW):
                raise Unreadable(f"an order to be slow by {seconds!r} s; up to {MAX_SLOW:,.0f} s can be asked for")
        case Slots(slots):
            if not _whole(slots, MAX_SLOTS):
                raise Unreadable(f"an order for {slots!r} slots; 1 to {MAX_SLOTS:,} can be asked for")
        case Throttle(rate):
            if not fits(order, type(order)) or (rate is not None and not _number(rate, 0, MAX_RATE)):
                raise Unreadable(f"a limit of {rate!r} tasks a second")
        case ClockSet(offset):
            if not _number(offset, -FARTHEST, FARTHEST):
                raise Unreadable("an order to set a clock to no time")
        case _:
            if not fits(order, type(order)):
                raise Unreadable(f"an order {type(order).__name__} with a field of another type")
            if why := orders.refusal(order) if orders is not None else "":
                raise Unreadable(f"an order {type(order).__name__}: {why}")


def _judge_run(spec: BulkSpec) -> None:
    if not fits(spec, BulkSpec):
        raise Unreadable("an order for a run with a field of another type")
    for name, value, wanted in (
        ("n", spec.n, _RUN["count"]),
        ("in_flight", spec.in_flight, _RUN["in_flight"]),
        ("timeout", spec.timeout, _RUN["timeout"]),
        ("size", spec.size or 1, _RUN["bytes"]),
    ):
        try:
            fit(value, wanted)
        except Misfit as misfit:
            raise Unreadable(f"an order for a run: {name}: {misfit}") from None
    if spec.rate is not None and not (0 < spec.rate <= MAX_RATE):
        raise Unreadable(f"an order for a run: rate: {spec.rate!r} tasks a second")
    at_once = min(spec.n, spec.in_flight) if spec.tracked else spec.n
    fit_at_once = at_once <= 1_000_000 and at_once * spec.size <= MAX_HELD
    if not fit_at_once:
        raise Unreadable(f"an order for a run: {at_once:,} tasks of {spec.size:,} bytes at once")


def _whole(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _number(value: object, low: float, high: float) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and low <= value <= high  # type: ignore[arg-type,operator]


def _endpoint(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= MAX_NAME


def _endpoints(value: object) -> bool:
    return type(value) is list and len(value) <= MAX_ENDPOINTS and all(map(_endpoint, value))
