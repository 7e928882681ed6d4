"""The broker's tasks: accepted once, ended once."""

from __future__ import annotations

from engine.core import NEVER
from engine.parts.view import BrokerLeg
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.tasks import Tasks

T = 50.0
ONE, TWO = (b"c", b"\x10one"), (b"c", b"\x01two")


def two_tasks() -> Tasks:
    tasks = Tasks(Options(max_deliveries=2))
    tasks.accept(ONE, b"ping", T)
    tasks.accept(TWO, b"something", T)
    tasks.check()
    return tasks


def test_first_come_first_given() -> None:
    tasks = two_tasks()
    assert tasks.get(ONE) and tasks.get(TWO) and not tasks.get((b"c", b"none"))
    one, two = tasks.give(b"w1", T), tasks.give(b"w2", T)
    assert (one.key, one.kind, one.message, one.worker, one.attempt) == (ONE, "ping", [b"ping"], b"w1", 1)
    assert (two.key, two.kind, tasks.in_flight) == (TWO, "job", 2)
    assert list(tasks.held(b"w1")) == [one]
    tasks.check()


def test_a_result_ends_a_task_and_every_sixteenth_is_noted() -> None:
    tasks = two_tasks()
    tasks.done(tasks.give(b"w", T + 1), T + 2)
    tasks.done(tasks.give(b"w", T + 3), T + 4)
    assert tasks.legs.view() == (BrokerLeg(b"c", b"\x10one", T, T + 1, T + 2, b"w"),)
    assert tasks.get(ONE) is None
    ledger = tasks.ledger()
    assert (ledger.sent, ledger.succeeded, ledger.in_flight, ledger.queued, ledger.balanced) == (2, 2, 0, 0, True)
    tasks.check()


def test_each_kind_has_its_deadline() -> None:
    """Ruling 1."""
    tasks = two_tasks()
    one, two = tasks.give(b"w1", T), tasks.give(b"w2", T + 1)
    assert (tasks.deadline(one), tasks.deadline(two), tasks.wake_at()) == (T + 4, T + 61, T + 4)
    assert tasks.overdue(T + 3.9) == []
    assert tasks.overdue(T + 4) == [b"w1"]
    assert tasks.retry(one)
    assert tasks.overdue(T + 61) == [b"w2"]
    assert tasks.retry(two)
    assert len(tasks.withdraw([b"c"])) == 2
    assert tasks.owners.silent(T + 61) == [] and tasks.wake_at() == NEVER
    tasks.check()


def test_a_new_delivery_has_a_new_deadline() -> None:
    tasks = two_tasks()
    tasks.done(tasks.give(b"w", T), T + 1)
    tasks.accept(ONE, b"ping", T + 1)
    tasks.backlog.rotate()
    one = tasks.give(b"w", T + 2)
    assert tasks.overdue(T + 5) == []
    assert (tasks.deadline(one), tasks.overdue(T + 6)) == (T + 6, [b"w"])


def test_a_pause_moves_every_deadline() -> None:
    tasks = two_tasks()
    one, two = tasks.give(b"w1", T), tasks.give(b"w2", T)
    tasks.grace(10.0)
    assert (tasks.deadline(one), tasks.deadline(two)) == (T + 14, T + 70)


def test_retries_have_a_limit() -> None:
    """Ruling 7: at least once, with a limit; the task is next, before those that came later."""
    tasks = two_tasks()
    assert tasks.retry(tasks.give(b"w", T))
    assert [task.key for task in tasks.backlog] == [ONE, TWO]
    assert not tasks.retry(tasks.give(b"w", T))
    assert tasks.get(ONE) is None
    ledger = tasks.ledger()
    assert (ledger.failed, ledger.queued, tasks.redelivered, ledger.balanced) == ((("undeliverable", 1),), 1, 1, True)
    tasks.check()


def test_what_never_left_is_no_delivery() -> None:
    tasks = two_tasks()
    for _ in range(5):
        tasks.undo(tasks.give(b"w", T))
    assert tasks.give(b"w", T).attempt == 1
    tasks.check()
