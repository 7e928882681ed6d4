"""The broker as an operator sees it. A worker's row is made anew only when something about it has changed."""

from __future__ import annotations

from heapq import nlargest
from itertools import islice
from operator import attrgetter
from typing import Protocol

from engine.parts.explain import show
from engine.parts.plain import several
from engine.parts.valve import terms
from engine.parts.view import SHOWN_ORDER, BrokerView, Detail, TaskRow, WorkerRow
from engine.parts.violations import Violations
from engine.protocols.pingpong.frontend import Frontend
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.table import Table, Worker, row_of
from engine.protocols.pingpong.tasks import Tasks

_ROW = attrgetter("row")
SHOWN_READY = 8  # workers of the ready queue that are listed, in its order
SHOWN_CLIENTS = 16  # whose tasks are shown, those first that have most waiting


class Source(Protocol):
    """The structures of a broker's core that its picture is drawn from."""

    options: Options
    violations: Violations
    table: Table
    tasks: Tasks
    frontend: Frontend
    inspected: bytes | None
    late: int
    restarts: int
    losses: int
    unsent: int
    taken: int


def broker(core: Source, now: float) -> BrokerView:
    """The picture of a broker core at monotonic ``now``."""
    options, tasks, frontend = core.options, core.tasks, core.frontend
    limits = tasks.valve.view() if tasks.valve is not None else ()
    clients, oldest = frontend.callers.view(lambda: (tasks.all(), (), list(tasks.backlog)[:1]), now)
    return BrokerView(
        at=now,
        workers=_rows(core, now),
        backlog=len(tasks),
        in_flight=tasks.in_flight,
        ledger=tasks.ledger(),
        counters=(
            ("violations", core.violations.total),
            ("re-deliveries", tasks.redelivered),
            ("late results", core.late),
            ("restarts", core.restarts),
            ("lost workers", core.losses),
            ("taken over", core.taken),
            ("full", frontend.full),
            ("refused", frontend.refused),
            ("asked again", frontend.again),
            ("unsent", core.unsent),
        ),
        incidents=core.violations.newest(),
        detail=_detail(core, core.inspected) if core.inspected is not None else None,
        legs=tasks.legs.view(),
        terms=(
            ("ready queue", str(len(core.table.ready))),
            *queue_terms(core.table),
            ("BROKER_TIMEOUT", f"{options.broker_timeout:g} s"),
            ("N_TIMEOUTS", str(options.n_timeouts)),
            ("WORKER_EXPIRE_SECONDS", f"{options.worker_expiry:g}"),
            ("PING", f"every {options.ping_every:g} s"),
            ("task deadline", f"{options.probe_deadline:g} s (ping, data), {options.task_deadline:g} s"),
            *terms(limits),
            *_clients(core),
        ),
        walked=core.table.walk.walked(),
        order=tuple(islice(core.table.ready, SHOWN_ORDER)),
        peaks=tasks.peak.view(),
        clients=clients,
        oldest=oldest,
        limits=limits,
    )


def queue_terms(table: Table) -> list[tuple[str, str]]:
    """The ready queue as it is ordered: the first is next."""
    order = [show(key) for key in islice(table.ready, SHOWN_READY)]
    return [("next", " → ".join(order) + (" …" if len(table.ready) > SHOWN_READY else ""))] if order else []


def _clients(core: Source) -> list[tuple[str, str]]:
    waiting = (has for has in core.tasks.owners.all() if has.waiting)
    return [
        (
            f"client {show(has.client)}",
            f"{several(has.waiting, 'task')} waiting, of {has.items}, {several(has.size, 'byte')}",
        )
        for has in nlargest(SHOWN_CLIENTS, waiting, key=attrgetter("waiting"))
    ]


def _rows(core: Source, now: float) -> tuple[WorkerRow, ...]:
    shown, count = list(core.table.shown(now)), core.violations.count
    changed = [worker for worker in shown if worker.row is None or now >= worker.served.until]
    if core.violations.total:
        changed += [
            worker for worker in shown if (row := worker.row) is not None and row.violations != count(worker.key)
        ]
    for worker in changed:
        _show(core, worker, count(worker.key), now)
    return tuple(map(_ROW, shown))


def _show(core: Source, worker: Worker, violations: int, now: float) -> None:
    row, took = worker.row, worker.served.view(now)
    if row is not None and (row.took, row.violations) == (took, violations):
        return
    if worker.task is None:
        lost_at = worker.heard + core.options.worker_expiry
    else:
        lost_at = core.tasks.deadline(worker.task)
    worker.row = row_of(worker, lost_at, violations, took)


def _detail(core: Source, key: bytes) -> Detail | None:
    worker = core.table.get(key)
    if worker is None:
        return None
    tasks = tuple(TaskRow(*task.key, task.kind, task.given, task.attempt) for task in core.tasks.held(key))
    counters = (("done", worker.done), ("failed", worker.failed), ("violations", core.violations.count(key)))
    return Detail(key, tasks, core.violations.of(key), counters)
