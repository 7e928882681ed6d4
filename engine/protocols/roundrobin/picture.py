"""What an operator sees of a round robin broker, drawn from its structures.

A row is made anew only where something in it may have changed since the last picture: its worker did something, was
heard, or let a time pass. To find those takes a fifth of a µs a worker. Percentiles take up to fifty times as long as
the rest of a row: ``FRESH`` workers have new ones in a picture, those first that have waited longest.
"""

from __future__ import annotations

from heapq import nlargest, nsmallest
from itertools import chain, islice
from operator import attrgetter
from typing import Protocol

from engine.core import NEVER
from engine.parts.callers import Callers
from engine.parts.explain import show
from engine.parts.plain import several
from engine.parts.valve import terms
from engine.parts.view import SHOWN_ORDER, BrokerView, Detail, TaskRow, WorkerRow
from engine.parts.violations import Violations
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.presence import Presence

LATE = 1.5  # heartbeats of silence
FRESH = 100  # workers whose service times a picture works out anew
_ROW, _UNTIL = attrgetter("row"), attrgetter("served.until")
SHOWN_CLIENTS = 16  # clients with waiting tasks, those with most first


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
    clients, oldest = broker.callers.view(lambda: (broker.pool.tasks.values(), (), broker.pool.backlog.heads()), now)
    return BrokerView(
        at=now,
        workers=_rows(broker, now),
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
        terms=(*terms(limits := broker.pool.valve.view()), *_clients(broker)),
        limits=limits,
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


def _rows(broker: Source, now: float) -> tuple[WorkerRow, ...]:
    pool, count = broker.pool, broker.violations.count
    workers, lost, heard = pool.workers.values(), pool.lost.values(), pool.liveness.heard_at
    late_after, expiry = LATE * pool.options.heartbeat, pool.options.expiry
    changed = [
        worker
        for worker in workers
        if (row := worker.row) is None or now >= worker.until or row.heard != heard[worker.key]
    ]
    changed += [worker for worker in lost if worker.row is None or now >= worker.until]
    if broker.violations.total:
        changed += [
            worker
            for worker in (*workers, *lost)
            if (row := worker.row) is not None and row.violations != count(worker.key)
        ]
    due = [worker for worker in changed if now >= worker.served.until]
    for worker in due if len(due) <= FRESH else nsmallest(FRESH, due, key=_UNTIL):
        worker.served.view(now)
    for worker in changed:
        last = worker.lost_at if worker.lost_at != NEVER else heard[worker.key]
        worker.show(last, late_after, expiry, count(worker.key), now)
    return tuple(map(_ROW, chain(workers, lost)))


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
