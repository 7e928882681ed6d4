"""The broker as an operator sees it. A worker's row is made anew only when something about it has changed."""

from __future__ import annotations

from itertools import islice
from typing import Protocol

from engine.parts.explain import show
from engine.parts.view import SHOWN_ORDER, BrokerView, Detail, TaskRow, WorkerRow
from engine.parts.violations import Violations
from tests.sixth.mdp.options import Options
from tests.sixth.mdp.services import Services, Worker, row_of
from tests.sixth.mdp.tasks import Tasks

MISSED = 2  # heartbeats, after which an idle worker is shown as late
SHOWN = 16  # services


class Source(Protocol):
    """The structures of a broker's core that its picture is drawn from."""

    options: Options
    violations: Violations
    services: Services
    tasks: Tasks
    inspected: bytes | None
    late: int
    strays: int
    losses: int
    full: int
    again: int
    unsent: int


def broker(core: Source, now: float) -> BrokerView:
    """The picture of a broker core at monotonic ``now``."""
    services, tasks = core.services, core.tasks
    waiting = services.waiting
    return BrokerView(
        at=now,
        workers=tuple(_row(core, worker, now) for worker in services.workers.values()),
        backlog=waiting,
        in_flight=tasks.out.count,
        ledger=tasks.ledger(waiting),
        counters=(
            ("violations", core.violations.total),
            ("re-deliveries", tasks.redelivered),
            ("late replies", core.late),
            ("not registered", core.strays),
            ("lost workers", core.losses),
            ("full", core.full),
            ("asked again", core.again),
            ("unsent", core.unsent),
        ),
        incidents=core.violations.newest(),
        detail=_detail(core, core.inspected) if core.inspected is not None else None,
        legs=tasks.legs.view(),
        terms=(
            ("heartbeat", f"{core.options.heartbeat:g} s, liveness {core.options.liveness}"),
            *(
                (
                    f"service {show(service.name, 24)}",
                    f"{service.workers} workers, {len(service.backlog)} requests wait",
                )
                for service in list(services)[:SHOWN]
            ),
        ),
        walked=services.walk.walked(),
        order=tuple(islice(services.ready(), SHOWN_ORDER)),
    )


def _row(core: Source, worker: Worker, now: float) -> WorkerRow:
    late = now >= worker.heard + MISSED * core.options.heartbeat
    if worker.row is None or (late and worker.row.state == "ready"):
        worker.row = row_of(worker, core.options.expiry, late, core.violations.count(worker.key))
    return worker.row


def _detail(core: Source, key: bytes) -> Detail | None:
    worker = core.services.workers.get(key)
    if worker is None:
        return None
    tasks = tuple(TaskRow(*task.key, task.kind, task.given, task.attempt) for task in core.tasks.out.of(key))
    counters = (("done", worker.done), ("failed", worker.failed), ("violations", core.violations.count(key)))
    return Detail(key, tasks, core.violations.of(key), counters)
