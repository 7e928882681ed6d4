"""The sampled tasks of a run as traces: one span for the whole task, and one below it for each leg.

The times are those that the client and the broker noted (``engine.parts.legs``), so only tasks that succeeded are here,
and legs only of those whose broker tells: one of this process, or one elsewhere that was asked. Nothing is measured or
sent here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from engine.parts.view import BrokerLeg, ClientLeg

A_SECOND = 10  # traces of a second's tasks, at most
MOST = 1_000  # traces of a run, at most


class Span(NamedTuple):
    """A part of a task; times are nanoseconds since 1970."""

    name: str
    start: int
    end: int


class TaskTrace(NamedTuple):
    """A task as its client saw it, and its legs in their order; none where no broker told of it."""

    task: Span
    legs: tuple[Span, ...]
    attributes: dict[str, str | int]


def traces(
    system: str,
    client: bytes,
    ours: Iterable[ClientLeg],
    theirs: Iterable[BrokerLeg],
    offset: float,
    ahead: float = 0.0,
) -> list[TaskTrace]:
    """The newest ``MOST`` of the noted tasks, at most ``A_SECOND`` of each second in which they were sent.

    ``offset``: seconds to add to the client's clock, for seconds since 1970. ``ahead``: seconds by which the broker's
    clock is ahead of the client's.
    """
    passed = {leg.id: leg for leg in theirs if leg.client == client}
    seconds: Counter[int] = Counter()
    found = []
    for leg in sorted(ours, key=lambda leg: leg.sent):
        second = int(leg.sent)
        seconds[second] += 1
        if seconds[second] <= A_SECOND:
            found.append(_trace(system, client, leg, passed.get(leg.id), offset, ahead))
    return found[-MOST:]


def _trace(
    system: str, client: bytes, leg: ClientLeg, broker: BrokerLeg | None, offset: float, ahead: float
) -> TaskTrace:
    attributes: dict[str, str | int] = {
        "roundhouse.system": system,
        "roundhouse.client": client.hex(),
        "roundhouse.task": leg.id.hex(),
    }
    moments = [leg.sent, leg.received]
    if broker is not None and leg.sent <= broker.accepted - ahead <= leg.received:
        passed = (moment - ahead for moment in (broker.accepted, broker.given, broker.answered))
        moments = [leg.sent, *passed, leg.received]
        attributes |= {"roundhouse.worker": broker.worker.hex(), "roundhouse.attempt": broker.attempt}
    at = [round((moment + offset) * 1e9) for moment in moments]
    legs: tuple[Span, ...] = ()
    if len(at) > 2:
        names = ("client", "backlog", "worker", "return")
        legs = tuple(Span(*each) for each in zip(names, at, at[1:], strict=False))
    return TaskTrace(Span("task", at[0], at[-1]), legs, attributes)
