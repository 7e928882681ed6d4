"""The broker's table of workers."""

from __future__ import annotations

import pytest

from engine.core import NEVER
from engine.parts.inflight import Task
from engine.protocols.pingpong import table
from engine.protocols.pingpong.machine import If, On, Seen
from engine.protocols.pingpong.table import Table, Worker, row_of

T = 50.0


def joined(key: bytes = b"w") -> tuple[Table, Worker]:
    workers = Table()
    worker = workers.join(key, T)
    workers.step(worker, On.READY)
    workers.ready.put(key)
    workers.check()
    return workers, worker


def task_of(worker: Worker) -> Task:
    task = Task((b"c", b"1"), "ping", [b"ping"], T)
    task.worker = worker.key
    return task


def lose(workers: Table, key: bytes) -> None:
    worker = workers.join(key, T)
    if worker.state == Seen.UNKNOWN:
        workers.step(worker, On.READY)
    workers.step(worker, On.GONE)
    workers.lose(worker, T)


def test_states_in_an_operators_words() -> None:
    """Ruling 1: busy, silent and lost are three things."""
    _, worker = joined()
    seen = [worker.display]
    worker.late = True
    seen.append(worker.display)
    worker.task = task_of(worker)
    seen.append(worker.display)
    worker.silent = True
    seen.append(worker.display)
    worker.task, worker.silent, worker.owes = None, False, True
    seen.append(worker.display)
    worker.leaving = True
    seen.append(worker.display)
    worker.lost = T
    seen.append(worker.display)
    assert seen == ["ready", "late", "busy", "silent", "busy", "drain", "lost"]


@pytest.mark.parametrize("change", ["task", "owes", "leaving", "lost"])
def test_what_is_known_of_a_worker_fits_to_its_state(change: str) -> None:
    workers, worker = joined()
    setattr(worker, change, {"task": task_of(worker), "lost": T}.get(change, True))
    with pytest.raises(AssertionError):
        workers.check()


@pytest.mark.parametrize("event", [On.TASK, On.DRAIN, On.GONE])
def test_only_an_idle_worker_may_be_in_the_ready_queue(event: str) -> None:
    """Ruling 2."""
    workers, worker = joined()
    workers.step(worker, event)
    assert not worker.idle and joined()[1].idle
    with pytest.raises(AssertionError, match="ready queue"):
        workers.check()


@pytest.mark.parametrize(
    ("owes", "leaving", "guard"),
    [(False, False, ""), (True, False, If.OWES), (False, True, If.LEAVES), (True, True, If.OWES_AND_LEAVES)],
)
def test_what_is_remembered_of_a_lost_worker_guards_its_return(owes: bool, leaving: bool, guard: str) -> None:
    _, worker = joined()
    worker.owes, worker.leaving = owes, leaving
    assert worker.kept == guard


def test_a_lost_worker_stays_known_with_what_it_owes() -> None:
    workers, worker = joined()
    worker.owes = True
    workers.step(worker, On.GONE)
    workers.lose(worker, T)
    workers.check()
    assert (len(workers), workers.get(b"w"), list(workers.ready)) == (0, worker, [])
    assert workers.join(b"w", T + 9) is worker
    assert (worker.lost, worker.owes, worker.joined, len(workers)) == (None, True, T + 9, 1)
    workers.step(worker, On.PING, worker.kept)
    workers.check()


def test_the_longest_lost_are_forgotten_first() -> None:
    workers = Table()
    for i in range(table.LOST_KEPT + 2):
        lose(workers, b"%d" % i)
    assert len(list(workers)) == table.LOST_KEPT
    assert workers.get(b"1") is None and workers.get(b"2") is not None
    assert dict(workers.walk.walked())[Seen.LOST, On.FORGOTTEN] == 2
    workers.check()


def test_lost_workers_are_shown_for_a_while() -> None:
    workers, worker = joined()
    other = workers.join(b"o", T)
    lose(workers, b"w")
    assert list(workers.shown(T + table.LOST_SHOWN - 0.1)) == [worker, other]
    assert list(workers.shown(T + table.LOST_SHOWN)) == [other]


def test_a_removed_worker_is_unknown() -> None:
    workers, worker = joined()
    workers.remove(worker)
    assert (workers.get(b"w"), list(workers.ready), len(workers)) == (None, [], 0)
    lose(workers, b"w")
    workers.remove(workers.workers[b"w"])
    assert list(workers) == []
    workers.check()


@pytest.mark.parametrize(
    ("key", "name"),
    [(b"worker-7", "worker-7"), (b"\x00\x01", "w1"), (b"a" * 25, "w1"), ("é".encode(), "w1"), (b"a\nb", "w1")],
)
def test_names_are_short_and_printable(key: bytes, name: str) -> None:
    assert Table().join(key, T).name == name


def test_the_row_says_who_judges_the_worker() -> None:
    workers, worker = joined()
    row = row_of(worker, T + 3, 2)
    assert (row.key, row.state, row.slots, row.free, row.in_flight) == (b"w", "ready", 1, 1, 0)
    assert (row.lost_at, row.violations, row.joined, row.heard, row.rtt) == (T + 3, 2, T, T, None)
    assert row.terms == (("state", "idle"), ("queue", "ready"), ("judged by", "PING"), ("owes", "nothing"))
    workers.step(worker, On.TASK)
    worker.task = task_of(worker)
    busy = row_of(worker, T + 60, 0)
    assert (busy.free, busy.in_flight, busy.lost_at) == (0, 1, T + 60)
    assert busy.terms == (("state", "busy"), ("queue", "popped"), ("judged by", "deadline"), ("owes", "nothing"))
    workers.step(worker, On.DEADLINE)
    worker.task, worker.owes = None, True
    owing = row_of(worker, T + 3, 0)
    assert owing.terms == (("state", "owing"), ("queue", "none"), ("judged by", "PING"), ("owes", "a result"))
    worker.lost = T
    lost = row_of(worker, T + 3, 0)
    assert (lost.lost_at, lost.terms[2]) == (NEVER, ("judged by", "nothing"))
