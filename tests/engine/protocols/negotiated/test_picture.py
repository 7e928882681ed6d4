from __future__ import annotations

from engine.parts.orders import Inspect
from engine.parts.view import TaskRow
from engine.protocols.negotiated import SYSTEM, Options, Publish, names, primary
from tests.helpers.negotiated import FALLBACK, HERE, One, broker


def at_work() -> One:
    it = One(SYSTEM.broker(Options(), (HERE,)).core)
    it.ready("w1", "ping data", slots=2)
    it.ready("w2")
    it.client()
    return it


def test_the_picture_of_a_broker_at_work() -> None:
    it = at_work()
    it.now = 101.0
    for task_id in (b"1", b"2", b"3", b"4"):
        it.ask(task_id)
    view = it.core.snapshot(101.0)
    assert (view.at, view.backlog, view.in_flight, view.ledger) == (101.0, 1, 3, (4, 0, (), 3, 1, 0))
    row = view.workers[0]
    assert (row.key, row.name, row.state, row.slots, row.free, row.in_flight) == (b"w1", "w1", "busy", 2, 0, 2)
    assert (row.joined, row.heard, row.lost_at, row.rtt) == (100.0, 100.0, 103.0, None)
    assert row.terms == (
        ("services", "ping, data"),
        ("config_version", "1"),
        ("skew", "+0.00 s"),
        ("link", "joined"),
        ("state", "busy"),
    )
    assert view.terms == (
        ("config_version", "1"),
        ("drifted workers", "0"),
        ("service ping", "0 ready, 1 queued, 3 waited for"),
        ("service data", "0 ready, 0 queued, 0 waited for"),
        ("client c", "1 wait, of 4 for 1 services, 0 bytes"),
    )
    assert view.detail is None and view.incidents == ()


def test_a_row_is_rebuilt_for_a_worker_that_changed_and_for_no_other() -> None:
    it = at_work()
    before = it.core.snapshot(it.now).workers
    it.ask(b"1")
    after = it.core.snapshot(it.now).workers
    assert after[0] is not before[0] and after[1] is before[1]


def test_late_after_two_intervals_of_its_own() -> None:
    it = at_work()
    it.ready("w2", heartbeat_interval=2.0)
    assert [row.state for row in it.core.snapshot(101.9).workers] == ["ready", "ready"]
    assert [row.state for row in it.core.snapshot(102.0).workers] == ["late", "ready"]
    assert [row.lost_at for row in it.core.snapshot(102.0).workers] == [103.0, 106.0]


def test_drift_and_incidents_are_on_screen() -> None:
    it = at_work()
    it.ordered(Publish(2))
    view = it.core.snapshot(it.now)
    assert dict(view.terms)["drifted workers"] == "2"
    assert dict(view.workers[0].terms)["config_version"] == "1 (served: 2)"
    it.told(names.PING, {"time": it.now, "config_version": 1}, peer="w1")
    it.told(names.PING, {"time": it.now + 99, "config_version": 2}, peer="w2")
    it.told(names.CHECKCONFIG, {"config_type": "yaml"}, peer="w1")
    view = it.core.snapshot(it.now)
    assert {incident.reason[:3] for incident in view.incidents} == {"408", "415", "426"}
    assert dict(view.counters)["told 408"] == 1 and view.workers[0].violations == 2


def test_details_of_the_inspected_worker() -> None:
    it = at_work()
    it.ask(b"1")
    it.ordered(Inspect(b"w1"))
    detail = it.core.snapshot(it.now).detail
    assert detail.key == b"w1" and detail.tasks == (TaskRow(b"c", b"1", "ping", 100.0, 1),)
    it.ordered(Inspect(None))
    assert it.core.snapshot(it.now).detail is None


def test_a_broker_of_a_pair_shows_its_rank_and_no_rows_while_it_does_not_serve() -> None:
    it = One(primary(Options(fallback=FALLBACK), (HERE,)).core)
    it.ready("w")
    view = it.core.snapshot(it.now)
    terms = dict(view.terms)
    assert (terms["role"], terms["state"], terms["peer"], terms["replica"]) == (
        "primary",
        "primary",
        "silent",
        "none yet",
    )
    assert view.workers == () and view.ledger.balanced


def test_the_order_of_workers_and_what_waits_apart_are_shown() -> None:
    it = broker()
    for peer in ("a", "b"):
        it.ready(peer, slots=2)
    it.client()
    assert it.core.snapshot(it.now).order == (b"a", b"b")
    it.ask(b"1")
    it.ask(b"2")
    assert it.core.snapshot(it.now).order == (b"a", b"b") and it.core.snapshot(it.now).apart == 0
    for seconds in (1.0, 2.0, 3.0):
        it.now = 100.0 + seconds
        it.told(names.PING, {"time": it.now, "config_version": 1}, peer="b")
        it.told(names.PING, {"time": it.now, "config_version": 1}, peer="c", socket="frontend")
    view = it.core.snapshot(it.now)
    assert [row.key for row in view.workers] == [b"b"] and (view.backlog, view.apart) == (1, 1)
