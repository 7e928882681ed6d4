"""The records of tasks by themselves; what the pool makes of them is in test_pool.py."""

from __future__ import annotations

import pytest

from engine.core import Command, Note
from engine.parts.inflight import Task
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.backlog import FULL, SHARE
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.records import Records
from tests.helpers.roundrobin import ident

STREAM = wire.stream(ident(1), 1024)[2:-1]
SIZE = sum(map(len, STREAM))


def held(records: Records, number: int, client: bytes = b"c", awaited: bool = True) -> Task:
    """A task that a worker has."""
    message = wire.ping(ident(number), awaited)[2:-1]
    task = records.tasks[(client, ident(number))] = Task((client, ident(number)), "ping", message, 1.0)
    task.worker, task.attempt, task.given = b"w", 1, 2.0
    return task


def test_what_tasks_bring_is_bounded_whether_they_wait_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.protocols.roundrobin.records.MAX_HELD", 2 * SIZE)
    records, out = Records(Options()), list[Command]()
    assert records.room(STREAM, b"c", False, out) and records.room(STREAM, b"c", True, out)
    assert not records.room(STREAM, b"c", False, out) and not records.room(STREAM, b"c", True, out)
    assert (records.size, records.ledger.dropped, out) == (2 * SIZE, 2, [Note("bad", FULL, b"c")])


def test_each_reason_to_drop_a_task_is_noted_once() -> None:
    records, out = Records(Options(max_backlog=1)), list[Command]()
    assert records.room(STREAM[:3], b"c", True, out)
    for _ in range(2):
        assert not records.room(STREAM[:3], b"c", True, out)
    assert out == [Note("bad", SHARE, b"c")] and records.ledger.dropped == 2


def test_what_a_worker_gives_back_waits_again_or_has_failed() -> None:
    records = Records(Options(max_deliveries=2))
    first, spent, refused = (held(records, number) for number in range(3))
    spent.attempt, refused.attempt = 2, 0
    records.give_back(b"w", [first, spent, refused])
    assert list(records.backlog.suspects.waiting) == [first] and list(records.backlog.fresh) == [refused]
    assert records.ledger.failed == {"undeliverable": 1} and records.redelivered == 2 and not first.worker
    assert records.former == {first.key: [b"w"], refused.key: [b"w"]} and spent.key not in records.tasks


def test_what_nobody_waits_for_any_more_is_withdrawn_and_not_given_again() -> None:
    records = Records(Options())
    awaited, quiet = held(records, 1), held(records, 2, awaited=False)
    records.backlog.owners.ended(b"c", 1.0)
    records.backlog.owners.expire(100.0)
    records.give_back(b"w", [awaited, quiet])
    assert records.ledger.failed == {"withdrawn": 1} and list(records.backlog.suspects.waiting) == [quiet]
    assert records.withdraw([b"c"], gone=True) == 0 and records.withdraw([b"c"], gone=False) == 1
    assert not records.tasks and not records.former and records.ledger.failed == {"withdrawn": 2}


def test_replies_that_reached_nobody_are_no_successes() -> None:
    records = Records(Options())
    records.close(held(records, 1))
    records.ledger.succeeded += 1
    records.unreachable(1)
    assert records.ledger.succeeded == 0 and records.ledger.failed == {"client gone": 1} and not records.tasks


def test_a_delivery_that_never_left_does_not_count() -> None:
    records = Records(Options())
    mine, other = held(records, 1), held(records, 2)
    other.worker = b"v"
    records.undelivered(b"w", [mine.key, other.key, (b"c", b"ended")])
    assert (mine.attempt, other.attempt) == (0, 1)
