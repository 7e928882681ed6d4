"""What the model checker has to know of negotiated: a broker takes over only once the other's silence is proof."""

from __future__ import annotations

from typing import NamedTuple

from engine.parts.explored import Explored
from engine.protocols.negotiated.broker import Broker
from engine.protocols.negotiated.pair import ROLES
from engine.protocols.negotiated.standby import SILENCE


class _Mark(NamedTuple):
    active: bool
    heard: float  # when the other broker was heard last,
    beat: int  # and which beat of it that was


def _mark(broker: Broker, now: float) -> _Mark | None:
    pair = broker.pair
    if pair is None:
        return None
    standby = pair.standby
    return _Mark(standby.active, standby.peer_at, standby.peer_sequence)


def _step(before: _Mark | None, broker: Broker, now: float) -> str:
    """Who begins to serve has just heard what the other one does, or has not heard it for long."""
    pair, heartbeat = broker.pair, broker.service.options.heartbeat
    if before is None or pair is None or before.active or not pair.standby.active:
        return ""
    silent, least = now - before.heard, SILENCE * heartbeat
    if pair.standby.peer_sequence != before.beat or silent >= least:
        return ""
    return f"the {ROLES[pair.role]} takes over, and heard the other {silent:g} s ago: under {least:g} s proves nothing"


EXPLORED = Explored(
    ignored={
        "operated.Operated": frozenset({"_joined", "counters", "out"}),
        "member.Member": frozenset({"done", "failed", "heard", "joined", "name", "row", "skew"}),
        "broker.Broker": frozenset({"inspected"}),
        "worker.Worker": frozenset({"done", "refused"}),
        "client.Client": frozenset({"undelivered"}),
    },
    mark=_mark,
    step=_step,
)
"""``Operated.out`` is what the last event made the broker do; the next one begins with a list of its own.
``_joined`` makes names to show. ``Member.heard`` and ``skew`` are only shown: who is silent is in ``Service.workers``.
"""
