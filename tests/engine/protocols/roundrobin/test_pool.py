"""The pool's moves one by one; what messages make of them is in test_broker.py."""

from __future__ import annotations

import pytest

from engine.core import NEVER, Command, Note, Send
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.table import LOST_KEPT, Worker
from tests.helpers.roundrobin import given, ident


def pool_of(*workers: bytes, slots: int = 1) -> Pool:
    pool, out = Pool(Options()), list[Command]()
    for key in workers:
        worker = pool.table.add(key, 10.0, out)
        assert worker is not None
        pool.offer(worker, slots)
    pool.check()
    return pool


def accept(pool: Pool, number: int, now: float = 10.0) -> list[Command]:
    out: list[Command] = []
    assert pool.accept(b"c", [wire.ping(ident(number), True)[2:-1]], now, out) == 0
    pool.check()
    return out


def test_an_empty_pool_waits_for_nothing() -> None:
    pool = Pool(Options())
    out: list[Command] = []
    pool.tick(99.0, out)
    assert pool.wake_at() == NEVER and out == []
    pool.check()


def test_seed_rule_5_the_least_recently_used_worker_with_a_free_slot() -> None:
    pool = pool_of(b"a", b"b", slots=2)
    assert [command for n in range(5) for command in accept(pool, n)] == [
        Send(given(worker, n)) for n, worker in enumerate([b"a", b"b", b"a", b"b"])
    ]
    assert len(pool.backlog.fresh) == 1


def test_a_freed_slot_takes_the_oldest_of_the_backlog() -> None:
    pool, out = pool_of(b"a"), list[Command]()
    for number in range(3):
        accept(pool, number)
    holder = pool.end(pool.tasks[(b"c", ident(0))])
    assert holder is pool.workers[b"a"] and holder.used == 0 and not pool.ready, (
        "the slot is free and nobody has it yet"
    )
    pool.ledger.succeeded += 1
    pool.free(holder, 11.0, out)
    assert out == [Send(given(b"a", 1))] and [task.key[1] for task in pool.backlog.fresh] == [ident(2)]
    pool.check()


def test_a_queued_task_may_end_too() -> None:
    pool = pool_of()
    accept(pool, 0)
    assert pool.end(pool.tasks[(b"c", ident(0))]) is None and not pool.backlog.fresh and not pool.tasks


def test_taken_back_tasks_stand_before_the_queued_ones_in_their_old_order() -> None:
    pool, out = pool_of(b"a", slots=2), list[Command]()
    for number in range(3):
        accept(pool, number)
    pool.lose(pool.workers[b"a"], "test", 11.0, out)
    assert [task.key[1] for task in (*pool.backlog.suspects.waiting, *pool.backlog.fresh)] == [
        ident(0),
        ident(1),
        ident(2),
    ]
    assert len(pool.backlog.suspects.waiting) == 2
    assert pool.former == {(b"c", ident(0)): [b"a"], (b"c", ident(1)): [b"a"]} and pool.redelivered == 2
    assert out == [Note("bad", "w1 lost (test), 2 tasks taken back", b"a")]
    pool.check()


def test_the_books_see_a_slot_that_is_lost() -> None:
    pool = pool_of(b"a", slots=2)
    accept(pool, 0)
    pool.workers[b"a"].owed = 1
    with pytest.raises(AssertionError, match="not in its place"):
        pool.check()


def test_the_books_see_a_task_that_is_held_twice() -> None:
    pool = pool_of(b"a", b"b", slots=2)
    accept(pool, 0)
    pool.workers[b"b"].held |= pool.workers[b"a"].held
    with pytest.raises(AssertionError, match="does not balance"):
        pool.check()
    pool.ledger.sent += 1
    with pytest.raises(AssertionError, match="in two places"):
        pool.check()


def test_the_books_see_a_task_that_is_lost() -> None:
    pool = pool_of()
    accept(pool, 0)
    pool.backlog.next()
    with pytest.raises(AssertionError, match="does not balance"):
        pool.check()
    pool.ledger.dropped += 1
    with pytest.raises(AssertionError, match="a task is lost"):
        pool.check()


def test_the_books_see_a_task_that_waits_beside_a_free_slot() -> None:
    pool = pool_of()
    accept(pool, 0)
    worker = pool.table.add(b"a", 10.0, [])
    assert worker is not None
    pool.offer(worker, 1)
    with pytest.raises(AssertionError, match="beside a free slot"):
        pool.check()


def test_lost_workers_are_remembered_up_to_a_bound() -> None:
    pool, out = pool_of(), list[Command]()
    for number in range(LOST_KEPT + 2):
        worker = pool.table.add(b"%d" % number, 10.0, out)
        assert worker is not None
        pool.offer(worker, 1)
        pool.lose(worker, "test", 11.0, out)
    assert len(pool.lost) == LOST_KEPT and next(iter(pool.lost)) == b"2" and not pool.workers
    pool.check()


def test_dismissed_workers_are_remembered_up_to_a_bound() -> None:
    pool = pool_of()
    for number in range(LOST_KEPT + 2):
        pool.table.dismiss(b"%d" % number)
    assert len(pool.table.dismissed) == LOST_KEPT and next(iter(pool.table.dismissed)) == b"2"
    pool.check()


def test_a_full_table_takes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.protocols.roundrobin.table.MAX_WORKERS", 1)
    pool, out = pool_of(b"a"), list[Command]()
    assert pool.table.add(b"b", 10.0, out) is None and out == [] and list(pool.workers) == [b"a"]


def test_nothing_of_a_worker_that_left_stays() -> None:
    pool, out = pool_of(b"a"), list[Command]()
    accept(pool, 0)
    pool.leave(b"a", out)
    pool.end(pool.tasks[(b"c", ident(0))])
    pool.ledger.succeeded += 1
    pool.free(pool.workers[b"a"], 11.0, out)
    assert not (pool.workers or pool.lost or pool.ready or pool.tasks or pool.former) and len(pool.liveness) == 0
    assert [command.text for command in out if isinstance(command, Note)] == ["w1 drains: 1 slots in use", "w1 left"]


def test_a_paused_broker_moves_every_deadline() -> None:
    pool, out = pool_of(b"a"), list[Command]()
    accept(pool, 0)
    pool.grace(500.0)
    pool.tick(511.0, out)
    assert out == [] and isinstance(pool.workers[b"a"], Worker) and pool.in_flight == 1
    pool.check()


def test_an_idle_worker_is_asked_before_it_asks_so_that_its_round_trip_is_known() -> None:
    pool = Pool(Options(heartbeat=2.0))
    pool.table.add(b"w", 10.0, [])
    assert pool.liveness.beats(11.4) == []
    assert pool.liveness.beats(11.5) == [b"w"]
