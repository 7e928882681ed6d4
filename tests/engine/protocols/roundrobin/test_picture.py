from __future__ import annotations

import pytest

from engine.core import Woken
from engine.parts.orders import Inspect
from engine.parts.served import AGAIN
from engine.parts.view import BrokerLeg, Incident, TaskRow
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import picture
from tests.helpers.roundrobin import Front, ident


def test_the_picture_of_a_broker_at_work() -> None:
    front = Front()
    front.join(b"w1", 2)
    front.now = 101.0
    for number in range(3):
        front.pingt(number)
    view = front.broker.snapshot(front.now)
    (row,) = view.workers
    assert (view.at, view.backlog, view.in_flight, view.ledger) == (101.0, 1, 2, (3, 0, (), 2, 1, 0))
    assert (row.key, row.name, row.state, row.slots, row.free, row.in_flight) == (b"w1", "w1", "busy", 2, 0, 2)
    assert (row.done, row.failed, row.violations, row.joined, row.heard, row.lost_at) == (0, 0, 0, 100.0, 100.0, 106.0)
    assert dict(view.counters) == {
        "violations": 0,
        "redelivered": 0,
        "late": 0,
        "denied": 0,
        "asked again": 0,
        "takeovers": 0,
        "unsent": 0,
        "unpaid slots": 0,
        "over share": 0,
    }
    assert view.incidents == () and view.detail is None and view.legs == ()


def test_a_row_is_rebuilt_for_a_worker_that_changed_and_for_no_other() -> None:
    front = Front()
    front.join(b"w1")
    front.join(b"w2")
    before = front.broker.snapshot(front.now).workers
    front.pingt(1)
    after = front.broker.snapshot(front.now).workers
    assert after[0] is not before[0] and after[1] is before[1]
    assert before[0].in_flight == 0 and after[0].in_flight == 1


def test_percentiles_of_many_workers_come_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "FRESH", 2)
    front = Front()
    names = [b"w%d" % number for number in range(5)]
    for name in names:
        front.join(name)
    told = []
    for seconds in (1.0, 2.0, 3.0, 4.0, 5.0):
        for worker in front.broker.pool.workers.values():
            worker.done, worker.row = worker.done + 1, None
            worker.served.note(seconds, front.now, worker.done)
        front.now += 1.5 * AGAIN  # longer than percentiles hold
        front.broker.pool.liveness.grace(1.5 * AGAIN)
        rows = front.broker.snapshot(front.now).workers
        told.append([row.took.p99 if row.took is not None else 0.0 for row in rows])
    assert told[0] == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert min(told[4]) >= 3.0, "each has its turn, whoever is first"


def test_the_round_trip_of_a_heartbeat_is_measured() -> None:
    front = Front()
    front.join(b"w1")
    (ping,) = front.at(102.0)
    front.now = 102.25
    front.told([b"w1", *wire.link_pong(ping[4])])
    assert front.broker.snapshot(102.25).workers[0].rtt == 0.25
    front.now = 103.0
    front.told([b"w1", *wire.link_pong(ping[4])])
    assert front.broker.snapshot(103.0).workers[0].rtt == 0.25, "the second PONG to one PING says nothing"


def test_late_after_one_and_a_half_heartbeats_lost_after_expiry_shown_for_a_while() -> None:
    front = Front(lost_shown=10.0)
    front.join(b"w1")
    front.at(103.0)
    assert front.states == {b"w1": "ready"}
    front.at(103.1)
    assert front.states == {b"w1": "late"}
    front.at(106.0)
    assert front.states == {b"w1": "lost"}
    front.at(115.9)
    assert front.states == {b"w1": "lost"} and front.broker.wake_at() == 116.0
    front.at(116.0)
    assert front.states == {}


def test_the_details_of_the_inspected_worker_and_of_nobody_else() -> None:
    front = Front()
    front.join(b"w1")
    front.pingt(16)
    front.ping(17, client=b"d")
    front.told([b"w1", *wire.increment(b"i"), b""])
    assert front.ordered(Inspect(b"w1")) == []
    detail = front.broker.snapshot(front.now).detail
    assert detail is not None and detail.key == b"w1"
    assert detail.tasks == (TaskRow(b"c", ident(16), "ping", 100.0, 1), TaskRow(b"d", ident(17), "ping", 100.0, 1))
    assert detail.incidents == (Incident(100.0, b"w1", "wrong number of frames", 1),)
    assert dict(detail.counters) == {
        "slots in use": 2, "increments owed": 0, "written off": 0, "done": 0, "failed": 0
    }  # fmt: skip
    front.ordered(Inspect(b"nobody"))
    assert front.broker.snapshot(front.now).detail is None
    front.ordered(Inspect(None))
    assert front.broker.snapshot(front.now).detail is None


def test_sampled_tasks_leave_their_times() -> None:
    front = Front()
    front.pingt(16)
    front.now = 101.0
    front.join(b"w1")
    front.pingt(17)
    front.now = 103.0
    front.reply(b"w1", 16)
    front.reply(b"w1", 17)
    assert front.broker.snapshot(front.now).legs == (BrokerLeg(b"c", ident(16), 100.0, 101.0, 103.0, b"w1"),)


def test_a_picture_stays_as_it_was() -> None:
    front = Front()
    front.join(b"w1")
    before = front.broker.snapshot(front.now)
    front.pingt(16)
    front.reply(b"w1", 16)
    front.do(Woken())
    assert before.workers[0].done == 0 and before.ledger.sent == 0 and before.legs == ()
