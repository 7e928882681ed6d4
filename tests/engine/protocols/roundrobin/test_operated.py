"""What an operator orders of the broker: workers that are lost, and tasks that go elsewhere (R19)."""

from __future__ import annotations

import pytest

from engine.core import Note
from engine.parts.orders import Expire, Requeue, StopRun, Throttle
from engine.protocols.roundrobin import messages as wire
from tests.helpers.roundrobin import Front, given, ident


def front_with(*workers: bytes, slots: int = 10, **options: object) -> Front:
    front = Front(**options)
    for worker in workers:
        front.join(worker, slots)
    return front


def taken(front: Front) -> tuple[int, int]:
    """Tasks that were given again, and late messages."""
    return front.broker.pool.records.redelivered, front.broker.late


def test_an_expired_worker_is_lost_and_back_when_it_is_heard() -> None:
    front = front_with(b"w", b"v", slots=1)
    assert front.pingt(0) == [given(b"w", 0)] and front.pingt(1) == [given(b"v", 1)] and front.pingt(2) == []
    assert front.ordered(Expire(b"w")) == [] and front.states == {b"w": "lost", b"v": "busy"}
    assert front.notes[-1] == Note("bad", "w1 lost (an operator expires it), 1 task taken back", b"w")
    front.reply(b"v", 1)
    assert front.increment(b"v") == [given(b"v", 0)], "a suspect goes before the others"
    front.told([b"w", *wire.link_ping(ident(9))])
    assert front.states[b"w"] in ("ready", "busy")
    front.ordered(Expire(b"nobody"))
    assert front.notes[-1] == Note("warn", "no such worker to expire, or it is lost", b"nobody", True)


@pytest.mark.parametrize("order", [Requeue(b"w"), Requeue(b"", b"c", ident(0))])
def test_a_task_is_taken_back_and_another_gets_it_while_its_slot_stays_used(order: Requeue) -> None:
    front = front_with(b"w", slots=1)
    assert front.pingt(0) == [given(b"w", 0)]
    assert front.ordered(order) == [] and front.books[3:5] == (0, 1), "w is at it still, and nobody else is there"
    assert front.notes[-1] == Note("info", "1 task taken back from w1", b"w")
    front.join(b"v", 1)
    assert front.books[3] == 1 and taken(front) == (1, 0) and front.free == {b"w": 0, b"v": 0}
    front.reply(b"v", 0)
    front.reply(b"w", 0)
    assert front.books[1] == 1 and taken(front) == (1, 1), "the first reply ends it, the other one is late"
    front.increment(b"w")
    front.increment(b"v")
    assert front.free == {b"w": 1, b"v": 1} and front.wrongs == []
    front.ordered(Requeue(b"w"))
    assert front.notes[-1] == Note("warn", "it holds no task", b"w", True)
    front.ordered(Requeue(b"", b"c", ident(9)))
    assert front.notes[-1] == Note("warn", f"no worker holds task {ident(9).hex()}", b"", True)


def test_all_that_a_worker_holds_is_taken_back_and_what_was_tried_often_enough_has_failed() -> None:
    front = front_with(b"w", slots=3, max_deliveries=2)
    for number in range(3):
        front.pingt(number)
    front.ordered(Throttle(0.0))
    front.ordered(Requeue(b"w"))
    assert front.books[3:5] == (0, 3) and front.free == {b"w": 0}
    for _ in range(3):
        front.increment(b"w")
    assert front.free == {b"w": 3}
    front.ordered(Throttle(None))
    assert front.books[3:5] == (1, 2), "a suspect is with a worker alone"
    front.ordered(Requeue(b"w"))
    assert front.books[2] == {"undeliverable": 1}


def test_a_slot_whose_increment_never_comes_is_free_at_the_deadline() -> None:
    front = front_with(b"w", slots=1, task_deadline=4.0)
    front.pingt(0)
    front.ordered(Throttle(0.0))
    front.ordered(Requeue(b"w"))
    front.told([b"w", *wire.link_ping(ident(9))])
    front.at(104.0)
    assert front.free == {b"w": 1} and front.broker.pool.unpaid == 1


def test_an_order_that_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="a round robin broker takes no StopRun"):
        front_with().ordered(StopRun())
