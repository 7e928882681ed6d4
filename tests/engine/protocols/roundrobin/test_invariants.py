"""The invariants find what is wrong; that the moves keep them is shown wherever a broker is checked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.core import Command
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.invariants import check
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.table import Worker
from tests.helpers.roundrobin import ident


def at_work() -> tuple[Pool, Worker]:
    pool, out = Pool(Options()), list[Command]()
    worker = pool.table.add(b"w", 10.0, out)
    assert worker is not None
    pool.offer(worker, 2)
    pool.accept(b"c", [wire.ping(ident(1), True)[2:-1]], 10.0, out)
    pool.lanes.flush(out)
    return pool, worker


SPOIL: list[Callable[[Pool, Worker], object]] = [
    lambda pool, worker: worker.held.clear(),
    lambda pool, worker: pool.tasks.clear(),
    lambda pool, worker: pool.ready.drop(worker),
    lambda pool, worker: pool.ledger.fail("made up"),
    lambda pool, worker: pool.liveness.forget(b"w"),
    lambda pool, worker: pool.settling.update({worker: 20.0}),
    lambda pool, worker: pool.settling.update({Worker(b"gone", "w9", 1, 0.0): 20.0}),
    lambda pool, worker: setattr(pool.records, "size", 7),
    lambda pool, worker: setattr(worker, "stands", "busy"),
    lambda pool, worker: pool.backlog.owners.admit(b"c", 0),
    lambda pool, worker: setattr(pool, "overdue_at", float("inf")),
]


def test_a_pool_at_work_is_whole() -> None:
    check(at_work()[0])


@pytest.mark.parametrize("spoil", SPOIL)
def test_what_is_spoilt_is_found(spoil: Callable[[Pool, Worker], object]) -> None:
    pool, worker = at_work()
    spoil(pool, worker)
    with pytest.raises(AssertionError):
        check(pool)
