"""The record that is made of a run: exact keys, exact numbers, plain words."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import NEVER
from engine.parts.bulk import Bulk, BulkSpec
from engine.parts.clocks import Offset
from engine.parts.view import BrokerLeg, BrokerView, ClientLeg, ClientView, LedgerView, State, WorkerRow
from engine.runs.load import Afar, RunReport, versions
from engine.runs.record import from_json, to_json
from engine.runs.summary import summary
from tests.helpers.runs import BEGAN, a_run, finished

FIGURES = ["min", "mean", "p50", "p90", "p95", "p99", "p999", "max", "buckets"]
KEYS = [
    "schema", "kind", "system", "transport", "lane", "requested", "sent", "succeeded", "failed", "first_failed",
    "elapsed_s", "rate_per_s", "bytes", "in_flight", "workers", "slots", "timeout_s", "warmup", "rate_asked",
    "rate_missed", "service_us", "planned_us", "legs_us", "observer", "ledger", "timeline",
    "verdict", "started_at", "versions", "clock", "legs_missing",
]  # fmt: skip


def report(spec: BulkSpec) -> RunReport:
    return RunReport("roundrobin", "inproc", spec, started=BEGAN.astimezone(timezone(timedelta(hours=2))), since=100.0)


def test_a_good_run() -> None:
    spec = BulkSpec("data", 4, size=1024, in_flight=2)
    run = report(spec).document(finished(spec, 0.25), b"c", None)
    assert list(run) == KEYS
    assert list(run["service_us"]) == FIGURES
    assert run["service_us"]["p50"] == pytest.approx(250_000, rel=0.01)
    assert {key: run[key] for key in KEYS if key not in ("service_us", "versions")} == {  # type: ignore[literal-required]
        "schema": "roundhouse.run/1",
        "kind": "data",
        "system": "roundrobin",
        "transport": "inproc",
        "lane": None,
        "requested": 4,
        "sent": 4,
        "succeeded": 4,
        "failed": {},
        "first_failed": {},
        "elapsed_s": 1.0,
        "rate_per_s": 4.0,
        "bytes": 4096,
        "in_flight": 2,
        "workers": None,
        "slots": None,
        "timeout_s": 5.0,
        "warmup": 0,
        "rate_asked": None,
        "rate_missed": None,
        "observer": None,
        "planned_us": None,
        "legs_us": None,
        "ledger": {
            "sent": 4, "succeeded": 4, "failed": 0, "in_flight": 0, "queued": 0, "dropped": 0, "balanced": True,
        },
        "timeline": ({"second": 0.0, "succeeded": 4, "failed": 0, "p99": 250_000.0},),
        "verdict": "pass",
        "started_at": "2026-11-28T03:02:03.000456+02:00",
        "clock": None,
        "legs_missing": None,
    }  # fmt: skip
    assert run["service_us"]["buckets"] == ((250_609.664, 4),)
    assert run["versions"] == versions()
    assert sorted(versions()) == ["cores", "libzmq", "pump", "python", "pyzmq", "roundhouse"]


def test_failures_by_kind_and_an_open_loop() -> None:
    spec = BulkSpec("ping", 3, rate=10.0, timeout=1.0)
    bulk = Bulk(spec, 100.0)
    bulk.due(100.0)
    bulk.due(100.2)
    bulk.replied(1, 100.3)
    bulk.expire(101.0)
    run = report(spec).document(ClientView(101.0, True, bulk.view(101.0), 0), b"c", None)
    assert run["failed"] == {"timeout": 1}
    assert (run["requested"], run["sent"], run["succeeded"], run["verdict"]) == (3, 2, 1, "fail")
    assert run["planned_us"] is not None
    assert run["planned_us"]["max"] == pytest.approx(200_000)
    assert run["service_us"]["max"] == pytest.approx(100_000)


def test_a_run_that_has_not_sent_anything() -> None:
    spec = BulkSpec("ping", 3)
    run = report(spec).document(ClientView(100.0, False, Bulk(spec, 100.0).view(100.0), 0), b"c", None)
    assert (run["elapsed_s"], run["rate_per_s"], run["verdict"]) == (0.0, 0.0, "fail")
    with pytest.raises(ValueError, match="no run"):
        report(spec).document(ClientView(100.0, False, None, 0), b"c", None)


def test_legs_are_of_this_run_only() -> None:
    spec = BulkSpec("ping", 1)
    legs = (ClientLeg(b"old", 99.0, 99.9), ClientLeg(b"new", 100.0, 100.010))
    client = finished(spec)._replace(legs=legs)
    passed = (BrokerLeg(b"c", b"old", 99.1, 99.2, 99.8), BrokerLeg(b"c", b"new", 100.001, 100.003, 100.006))
    broker = BrokerView(100.1, (), 0, 0, LedgerView(1, 1, (), 0, 0, 0), (), (), legs=passed)
    run = report(spec).document(client, b"c", broker)
    assert run["legs_us"] is not None
    assert {name: of["max"] for name, of in run["legs_us"].items()} == pytest.approx(  # type: ignore[index]
        {"client": 1000, "backlog": 2000, "worker": 3000, "return": 4000}
    )
    assert report(spec).document(client, b"another", broker)["legs_us"] is None


def test_legs_of_a_broker_elsewhere_are_corrected_by_the_offset_of_its_clock() -> None:
    spec = BulkSpec("ping", 1)
    client = finished(spec)._replace(legs=(ClientLeg(b"new", 100.0, 100.010),))
    legs = (BrokerLeg(b"c", b"new", 5100.001, 5100.003, 5100.006, b"w"),)
    run = report(spec).document(client, b"c", None, Afar(legs, Offset(5000.0, 0.0004), None))
    assert run["legs_us"] is not None and run["legs_missing"] is None
    assert {name: of["max"] for name, of in run["legs_us"].items()} == pytest.approx(  # type: ignore[index]
        {"client": 1000, "backlog": 2000, "worker": 3000, "return": 4000}
    )
    assert run["clock"] == {"same": False, "offset": 5_000_000_000.0, "error": 400.0}
    assert from_json(to_json(run).encode()) == run
    (trace,) = report(spec).traces(client, b"c", None, Afar(legs, Offset(5000.0, 0.0004), None))
    lengths = [round((leg.end - leg.start) / 1e6) for leg in trace.legs]
    assert lengths == [1, 2, 3, 4] and trace.attributes["roundhouse.worker"] == "77"
    run = report(spec).document(client, b"c", None, Afar((), None, "why"))
    assert (run["legs_us"], run["clock"], run["legs_missing"]) == (None, None, "why")


def test_the_crew_is_whoever_had_joined_when_the_run_had_ended_and_stays_that() -> None:
    spec = BulkSpec("ping", 1)
    seen: tuple[tuple[bytes, State, int], ...] = (
        (b"a", "ready", 10),
        (b"b", "busy", 4),
        (b"c", "lost", 10),
        (b"d", "drain", 10),
    )
    rows = tuple(
        WorkerRow(name, name.decode(), state, slots, slots, 0, 0, 0, 0, 0.0, 0.0, NEVER, None)
        for name, state, slots in seen
    )
    broker = BrokerView(100.0, rows, 0, 0, LedgerView(0, 0, (), 0, 0, 0), (), ())
    going = ClientView(100.0, True, Bulk(spec, 100.0).view(100.0), 0)
    watched = report(spec)

    def crew(client: ClientView, view: BrokerView | None) -> tuple[int | None, int | None]:
        run = watched.document(client, b"c", view)
        return run["workers"], run["slots"]

    assert crew(going, broker._replace(workers=rows[:1])) == (1, 10)
    assert crew(finished(spec), broker) == (2, 14)
    assert crew(finished(spec), broker._replace(workers=())) == (2, 14)
    assert (report(spec).nothing()["workers"], report(spec).nothing()["slots"]) == (None, None)


def test_the_warm_up_is_counted_and_of_it_the_slowest_is_the_maximum() -> None:
    spec = BulkSpec("ping", 20, in_flight=1)
    bulk, now = Bulk(spec, 100.0), 100.0
    while (task := bulk.due(now)) is not None:
        now += 1.0 if task < 2 else 0.001
        bulk.replied(task, now)
    legs = tuple(ClientLeg(b"\x10", sent, sent + 0.001) for sent in (100.0, 101.0, 102.0))
    broker = BrokerView(
        now, (), 0, 0, LedgerView(0, 0, (), 0, 0, 0), (), (), legs=(BrokerLeg(b"c", b"\x10", 102.0, 102.0, 102.0),)
    )
    run = report(spec).document(ClientView(now, True, bulk.view(now), 0, legs), b"c", broker)
    assert (run["warmup"], run["succeeded"]) == (2, 20)
    assert (
        run["service_us"]["p999"] == pytest.approx(1000, rel=0.01)
        and sum(n for _, n in run["service_us"]["buckets"]) == 18
    )
    assert run["service_us"]["max"] == pytest.approx(1_000_000)
    assert run["legs_us"] is not None and run["legs_us"]["client"]["max"] == 0.0


def test_a_rate_that_was_not_held_is_told_with_both_figures() -> None:
    spec = BulkSpec("ping", 11, rate=100.0, in_flight=1)
    bulk, now = Bulk(spec, 100.0), 100.0
    while (task := bulk.due(now)) is not None:
        now += 0.02
        bulk.replied(task, now)
    run = report(spec).document(ClientView(now, True, bulk.view(now), 0), b"c", None)
    assert run["rate_asked"] == 100.0
    assert run["rate_missed"] == {"asked": 100.0, "reached": pytest.approx(50.0)}


def test_what_watching_cost() -> None:
    spec = BulkSpec("ping", 1)
    running = ClientView(100.0, True, Bulk(spec, 100.0).view(100.0), 0)
    watched = report(spec)
    for lag in (0.001, 0.25, 0.002):
        watched.watch.look(lag, None)
    assert watched.document(running, b"c", None)["observer"] == {"loop_lag_us": 250_000.0, "refresh_hz": None}
    for hertz in (4.0, 3.1234, 3.9):
        watched.watch.look(0.0, hertz)
    assert watched.document(finished(spec), b"c", None)["observer"] == {"loop_lag_us": 250_000.0, "refresh_hz": 3.12}
    watched.watch.look(9.0, 0.1)  # after the run
    line = "observer  loops late by 250.00 ms at most, screen drawn 3.1 times a second"
    assert line in summary(watched.document(finished(spec), b"c", None))
    without = report(spec)
    without.watch.look(0.0, None)
    assert "observer  loops late by 0 µs at most\n" in summary(without.document(finished(spec), b"c", None))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50))
def test_no_percentile_is_above_the_maximum(latencies: list[float]) -> None:
    spec = BulkSpec("ping", len(latencies), in_flight=len(latencies))
    bulk = Bulk(spec, 100.0)
    while bulk.due(100.0) is not None:
        pass
    for task, latency in sorted(enumerate(latencies), key=lambda item: item[1]):
        bulk.replied(task, 100.0 + latency)
    of = report(spec).document(ClientView(200.0, True, bulk.view(200.0), 0), b"c", None)["service_us"]
    figures = [of[key] for key in ("min", "p50", "p90", "p95", "p99", "p999", "max")]
    assert figures == sorted(figures)


def test_no_latency_where_no_reply_was_expected() -> None:
    spec = BulkSpec("ping", 1, tracked=False)
    bulk = Bulk(spec, 100.0)
    bulk.due(100.0)
    run = report(spec).document(ClientView(100.0, True, bulk.view(100.0), 0), b"c", None)
    assert run["verdict"] == "pass"
    assert "service" not in summary(run)


def test_a_run_that_was_stopped_says_how_many_were_asked_for() -> None:
    run = a_run(4)
    run["requested"] = 10
    assert summary(run).splitlines()[3] == "stopped   10 were asked for"


def test_a_run_for_which_nobody_is_there() -> None:
    run = report(BulkSpec("ping", 10, rate=5.0)).nothing()
    assert (run["requested"], run["sent"], run["succeeded"], run["failed"], run["elapsed_s"]) == (10, 0, 0, {}, 0.0)
    assert (run["verdict"], run["ledger"]["balanced"]) == ("fail", True)
    assert from_json(to_json(run).encode()) == run
