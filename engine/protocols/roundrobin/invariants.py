"""What every move of a round robin broker's pool keeps true: books balance, slots add up, a task is in one place."""

from __future__ import annotations

from typing import Protocol

from engine.core import NEVER
from engine.parts.inflight import Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.limits import MAX_HELD
from engine.parts.liveness import Liveness
from engine.parts.ready import Ready
from engine.protocols.roundrobin.backlog import Backlog
from engine.protocols.roundrobin.lanes import Lanes
from engine.protocols.roundrobin.machine import Seen
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.records import Records
from engine.protocols.roundrobin.table import LOST_KEPT, Table, Worker, is_empty, is_quiet, size_of


class Source(Protocol):
    """The structures of a pool."""

    options: Options
    workers: dict[bytes, Worker]
    lost: dict[bytes, Worker]
    tasks: dict[TaskKey, Task]
    table: Table
    former: dict[TaskKey, list[bytes]]
    backlog: Backlog
    records: Records
    ready: Ready[Worker]
    settling: dict[Worker, float]
    liveness: Liveness
    ledger: Ledger
    lanes: Lanes
    overdue_at: float

    @property
    def in_flight(self) -> int: ...


def check(pool: Source) -> None:
    """Raises AssertionError."""
    pool.liveness.check()
    pool.lanes.check()
    view = pool.ledger.view(pool.in_flight, len(pool.backlog))
    assert view.balanced, f"the ledger does not balance: {view}"
    pool.backlog.check()
    waiting = pool.backlog.all()
    places = [*waiting, *(task for worker in pool.workers.values() for task in worker.held)]
    assert len(places) == len(pool.tasks), "a task is lost, or in two places"
    assert all(pool.tasks.get(task.key) is task for task in places), "a task is lost, or in two places"
    assert all(task.attempt <= pool.options.max_deliveries for task in pool.tasks.values())
    assert pool.former.keys() <= pool.tasks.keys(), "an ended task is remembered"
    assert pool.records.size == sum(size_of(task.message) for task in pool.tasks.values()) <= MAX_HELD
    assert not (pool.backlog.fresh and pool.ready and pool.backlog.valve.open), "a task waits beside a free slot"
    if not pool.backlog.valve.paused:
        pool.backlog.suspects.check(pool.ready, is_empty)
    assert all(worker.stands == Seen.LOST for worker in pool.lost.values())
    assert not pool.workers.keys() & pool.lost.keys() and len(pool.lost) <= LOST_KEPT
    assert len(pool.liveness) == len(pool.workers), "a worker is not watched, or a stranger is"
    assert pool.overdue_at != NEVER or not pool.in_flight, "nobody looks at deadlines"
    for key, worker in pool.workers.items():
        assert key in pool.liveness and worker.owed >= 0 and worker.written_off >= 0
        assert all(task.worker == key for task in worker.held), "a task names another holder"
        usable = Seen.READY if worker.used < worker.slots else Seen.BUSY
        assert worker.stands == (Seen.DRAINING if worker.leaving else usable), "its state is not what it holds"
        kept, tries = worker in pool.backlog.suspects.kept, any(task.attempt > 1 for task in worker.held)
        assert (worker.apart and (kept or worker.used == 1)) or not (worker.apart or kept or tries), "not alone"
        free = worker.used < worker.slots and not (worker.leaving or worker.apart or worker in pool.settling)
        assert (worker in pool.ready) == free, "not in its place"
        assert worker.used or worker.drained or not worker.leaving, "one that said goodbye stays"
        assert worker.leaving or not worker.drained
        assert list(worker.quiet) == [task for task in worker.held if is_quiet(task)]
    assert all(pool.workers.get(worker.key) is worker for worker in pool.settling), "one that is gone settles"
    assert list(pool.settling.values()) == sorted(pool.settling.values())
