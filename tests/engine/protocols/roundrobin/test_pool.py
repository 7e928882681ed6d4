"""The pool's moves one by one; what messages make of them is in test_broker.py."""

from __future__ import annotations

import ast
from inspect import getsource
from pathlib import Path
from textwrap import dedent

import pytest

from engine.core import NEVER, Command, Note, Send
from engine.parts.inflight import Task
from engine.parts.ledger import Ledger
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.backlog import Backlog
from engine.protocols.roundrobin.dispatch import Dispatch
from engine.protocols.roundrobin.machine import On
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.owners import Owners
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.records import Records
from engine.protocols.roundrobin.table import LOST_KEPT, Table, Worker
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
    pool.free(holder, On.INCREMENT, 11.0, out)
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
    assert pool.former == {(b"c", ident(0)): [b"a"], (b"c", ident(1)): [b"a"]} and pool.records.redelivered == 2
    assert out == [Note("bad", "w1 lost (test), 2 tasks taken back", b"a")]
    pool.check()


def test_the_books_see_a_slot_that_is_lost() -> None:
    pool = pool_of(b"a", slots=2)
    accept(pool, 0)
    pool.workers[b"a"].owed = 1
    with pytest.raises(AssertionError, match="its state is not what it holds"):
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
    pool.backlog.next(0.0)
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


def test_a_full_table_takes_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.protocols.roundrobin.table.MAX_WORKERS", 1)
    pool, out = pool_of(b"a"), list[Command]()
    assert pool.table.add(b"b", 10.0, out) is None and out == [] and list(pool.workers) == [b"a"]


def test_nothing_of_a_worker_that_left_stays() -> None:
    pool, out = pool_of(b"a"), list[Command]()
    accept(pool, 0)
    pool.leave(b"a", On.DEREGISTER, out)
    pool.end(pool.tasks[(b"c", ident(0))])
    pool.ledger.succeeded += 1
    pool.free(pool.workers[b"a"], On.INCREMENT, 11.0, out)
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


# ---- its rule: every change goes through its methods -----------------------------------------------------------------

FOLDER = Path(__file__).parents[4] / "engine" / "protocols" / "roundrobin"
WITHIN = {
    f"{name}.py" for name in ("pool", "dispatch", "table", "records", "backlog", "owners", "lanes")
}  # it and its parts


def fields(*classes: type) -> set[str]:
    """What these classes keep: slots, and what ``__init__`` sets."""
    found: set[str] = set()
    for one in classes:
        found.update(getattr(one, "__slots__", ()))
        for node in ast.walk(ast.parse(dedent(getsource(one)))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                found.add(node.attr)
    return found


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


KEPT = fields(Dispatch, Pool, Table, Worker, Records, Backlog, Owners, Ledger, Task)


def written(tree: ast.AST) -> list[str]:
    """Fields of the pool, its workers, tasks and ledger that are assigned, or changed in place, by somebody else."""
    found: list[str] = []
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                targets = [node]
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=ast.Attribute() as value):
                targets = [value]
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Attribute() as value)) if name in CHANGES:
                targets = [value]
        found += [f"{ast.unparse(one)}, line {one.lineno}" for one in targets if is_kept(one)]
    return found


def is_kept(node: ast.expr) -> bool:
    """Whether this is such a field, and not one of the same name that is its own writer's."""
    return isinstance(node, ast.Attribute) and node.attr in KEPT and not is_self(node.value)


CHANGES = {"append", "appendleft", "clear", "extend", "pop", "popleft", "put", "drop", "remove", "update", "fail"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_nobody_else_changes_a_field_of_the_pool_its_workers_or_its_ledger(path: Path) -> None:
    if path.name not in WITHIN:
        assert written(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "worker.owed += 1",
        "self.pool.ledger.succeeded -= 1",
        "holder.row = None",
        "del self.pool.workers[key]",
        "self.pool.lost[key] = worker",
        "task.attempt -= 1",
        "pool.ledger.fail('deadline')",
        "self.pool.ready.put(worker)",
    ],
)
def test_a_change_from_outside_is_found(line: str) -> None:
    assert written(ast.parse(line))
