"""What an operator sees of a round robin broker, drawn from its structures."""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Protocol

from engine.parts.callers import Callers
from engine.parts.explain import show
from engine.parts.plain import several
from engine.parts.view import SHOWN_ORDER, BrokerView, Detail, TaskRow, WorkerRow
from engine.parts.violations import Violations
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.presence import Presence
from engine.protocols.roundrobin.table import Worker

LATE = 1.5  # heartbeats of silence
SHOWN_CLIENTS = 16  # of whom something waits, those first that have most


class Source(Protocol):
    """The structures of a broker's core that its picture is drawn from."""

    pool: Pool
    presence: Presence
    violations: Violations
    callers: Callers
    late: int
    unsent: int
    denied: int
    inspected: bytes | None


def of(broker: Source, now: float) -> BrokerView:
    """The picture at ``now``: workers in the order in which they joined, then lost ones, oldest loss first."""
    in_flight, backlog = broker.pool.in_flight, len(broker.pool.backlog)
    rows = [_row(broker, worker, broker.pool.liveness.last(key), now) for key, worker in broker.pool.workers.items()]
    rows += [_row(broker, worker, worker.lost_at, now) for worker in broker.pool.lost.values()]
    clients, oldest = broker.callers.view(lambda: (broker.pool.tasks.values(), ()), now)
    return BrokerView(
        at=now,
        workers=tuple(rows),
        backlog=backlog,
        in_flight=in_flight,
        ledger=broker.pool.ledger.view(in_flight, backlog),
        counters=(
            ("violations", broker.violations.total),
            ("redelivered", broker.pool.records.redelivered),
            ("asked again", broker.pool.records.again),
            ("takeovers", broker.presence.takeovers),
            ("late", broker.late),
            ("denied", broker.denied),
            ("unsent", broker.unsent),
            ("unpaid slots", broker.pool.unpaid),
            ("over share", broker.pool.backlog.over_share),
        ),
        incidents=broker.violations.newest(),
        detail=_detail(broker),
        legs=broker.pool.records.legs.view(),
        terms=_clients(broker),
        walked=broker.pool.table.walk.walked(),
        apart=len(broker.pool.backlog.suspects.waiting),
        order=tuple(worker.key for worker in islice(broker.pool.ready, SHOWN_ORDER)),
        peaks=broker.pool.backlog.peak.view(),
        clients=clients,
        oldest=oldest,
    )


def _clients(broker: Source) -> tuple[tuple[str, str], ...]:
    most = nlargest(SHOWN_CLIENTS, broker.pool.backlog.owners.all(), key=attrgetter("waiting"))
    return tuple(
        (f"client {show(has.client)}", f"{several(has.waiting, 'task')} waiting, {several(has.size, 'byte')}")
        for has in most
    )


def _row(broker: Source, worker: Worker, heard: float, now: float) -> WorkerRow:
    options = broker.pool.options
    state = worker.state(heard, LATE * options.heartbeat, now)
    return worker.view(state, heard, options.expiry, broker.violations.count(worker.key), worker.served.view(now))


def _detail(broker: Source) -> Detail | None:
    key = broker.inspected
    worker = None if key is None else broker.pool.workers.get(key) or broker.pool.lost.get(key)
    if worker is None:
        return None
    tasks = tuple(TaskRow(*task.key, task.kind, task.given, task.attempt) for task in worker.held)
    counters = (
        ("slots in use", worker.used),
        ("increments owed", worker.owed),
        ("written off", worker.written_off),
        ("done", worker.done),
        ("failed", worker.failed),
    )
    return Detail(worker.key, tasks, broker.violations.of(worker.key), counters)
