"""The backlog by itself; what the pool makes of it is in test_pool.py, whose it is in test_owners.py."""

from __future__ import annotations

import pytest

from engine.parts.inflight import Task
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.backlog import FULL, SHARE, Backlog
from engine.protocols.roundrobin.options import Options


def task(number: int, client: bytes = b"c", awaited: bool = True, attempt: int = 0) -> Task:
    made = Task((client, b"%d" % number), "ping", wire.ping(b"%d" % number, awaited)[2:-1], 1.0)
    made.attempt = attempt
    return made


def waits(backlog: Backlog, *tasks: Task) -> Backlog:
    for one in tasks:
        assert backlog.admit(one.key[0], 0) == ""
        backlog.fresh.append(one)
    backlog.check()
    return backlog


def test_oldest_first_and_what_came_back_before_all() -> None:
    first, second, third, fourth = (task(number, attempt=number % 2) for number in range(4))
    backlog = waits(Backlog(Options()), first)
    backlog.again([second, third, fourth])
    backlog.check()
    assert list(backlog.suspects.waiting) == [second, fourth] and list(backlog.fresh) == [third, first]
    assert len(backlog) == 4 and [backlog.next(0.0), backlog.next(0.0)] == [third, first]
    backlog.remove(fourth)
    backlog.check()
    assert list(backlog.suspects.waiting) == [second] and backlog.owners.waiting == {b"c": 1}


def test_both_bounds_have_their_words() -> None:
    backlog = waits(Backlog(Options(max_backlog=1_001)), *(task(number) for number in range(1_000)))
    assert backlog.admit(b"c", 0) == SHARE and backlog.over_share == 1
    waits(backlog, task(0, b"d"))
    assert backlog.admit(b"d", 0) == FULL and len(backlog) == 1_001


def test_what_is_withdrawn_waits_no_longer_and_the_others_keep_their_order() -> None:
    mine, quiet, suspect = task(1), task(2, awaited=False), task(3, attempt=1)
    others = [task(number, b"d") for number in range(3)]
    backlog = waits(Backlog(Options()), others[0], mine, others[1], quiet, others[2])
    backlog.again([suspect])
    assert backlog.withdraw([b"x"], False) == []
    assert backlog.withdraw([b"c"], True) == [suspect, mine], "what wants no reply is wanted all the same"
    assert backlog.withdraw([b"c"], False) == [quiet]
    backlog.check()
    assert list(backlog.fresh) == others and backlog.owners.waiting == {b"d": 3}


def test_a_task_that_is_held_or_tried_is_out_of_place() -> None:
    backlog = waits(Backlog(Options()), one := task(1))
    one.worker = b"w"
    with pytest.raises(AssertionError, match="names a holder"):
        backlog.check()
    one.worker, one.attempt = b"", 1
    with pytest.raises(AssertionError, match="a suspect waits among the others"):
        backlog.check()
