from __future__ import annotations

import pytest

from engine.parts.inflight import InFlight, Task


def task(number: int) -> Task:
    return Task((b"client", bytes([number])), "ping", [], 1.0)


def test_a_delivery_is_recorded_on_the_task() -> None:
    out, one = InFlight(), task(1)
    assert (one.worker, one.attempt, one.given) == (b"", 0, 0.0)
    out.give(one, b"w", 2.5)
    assert (one.worker, one.attempt, one.given, out.count, out.held(b"w")) == (b"w", 1, 2.5, 1, 1)
    out.check()


def test_only_its_holder_gives_a_task_back_and_only_once() -> None:
    out, one = InFlight(), task(1)
    out.give(one, b"w", 2.0)
    assert out.take(b"v", one.key) is None
    assert out.take(b"w", (b"client", b"\x02")) is None
    assert out.take(b"w", one.key) is one
    assert out.take(b"w", one.key) is None
    assert out.count == out.held(b"w") == 0
    out.check()


def test_everything_of_a_worker_comes_back_in_order_of_delivery() -> None:
    out = InFlight()
    tasks = [task(number) for number in range(4)]
    for one in tasks:
        out.give(one, b"w", 2.0)
    other = task(9)
    out.give(other, b"v", 2.0)
    assert list(out.of(b"w")) == tasks and out.take(b"w", tasks[1].key) is tasks[1]
    assert out.take_all(b"w") == [tasks[0], tasks[2], tasks[3]]
    assert out.take_all(b"w") == [] and list(out.of(b"w")) == []
    assert out.all() == [other] and out.count == 1
    out.check()


def test_a_second_delivery_counts() -> None:
    out, one = InFlight(), task(1)
    out.give(one, b"w", 2.0)
    out.take_all(b"w")
    out.give(one, b"v", 3.0)
    assert (one.attempt, one.worker, one.given) == (2, b"v", 3.0)


def test_a_task_with_two_workers_is_seen() -> None:
    out, one = InFlight(), task(1)
    out.give(one, b"w", 2.0)
    out.give(one, b"v", 2.0)
    with pytest.raises(AssertionError, match="held twice"):
        out.check()


def test_a_record_that_lies_is_seen() -> None:
    out, one = InFlight(), task(1)
    out.give(one, b"w", 2.0)
    one.worker = b"v"
    with pytest.raises(AssertionError):
        out.check()
