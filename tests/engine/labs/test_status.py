"""The status of a process: its keys are a contract."""

from __future__ import annotations

import json

from engine.core import NEVER, Shared, Sharer
from engine.labs.health import Health
from engine.labs.meter import Recent
from engine.labs.status import CLIENTS, WORKERS, of_brokers, status_of, totals, worst_first
from engine.parts.callers import ClientRow, Underway
from engine.parts.view import ClientView, Kept, WorkerView
from tests.helpers.fake_lab import FakeLab
from tests.helpers.statuses import PROCESS

NAMES = ("broker", "fallback")
KEYS = {
    "schema", "at", "system", "role", "endpoints", "pid", "uptime_s", "serving", "workers", "clients", "queues",
    "totals", "backlog", "in_flight", "oldest_s", "rates", "ledger", "counters", "health", "disk", "unkept", "alerts",
    "versions", "store", "control",
}  # fmt: skip


def test_the_status_of_a_broker() -> None:
    lab = FakeLab(3)
    lab.replace(1, state="lost", name="a\x1b[2Jb")
    lab.publish()
    view = lab.feed.pictures["broker"]
    clients = (ClientRow(b"c1", 7, view.at - 2, 3, 1, view.at - 5), ClientRow(b"c2", 7, view.at - 2, 0, 0, NEVER))
    tasks = (Underway(b"c1", b"1", "ping", view.at - 5, 1, b"w1"),)
    seen = of_brokers({"broker": view._replace(clients=clients, oldest=tasks)}, NAMES)
    recent = Recent(60.0, 12.5, 0.25, 3.5, 4.0)
    status = status_of(
        PROCESS, seen, Health(("pool: it",), 0.5, 1), recent=recent, alerts=[{"name": "x"}], unkept=["y"]
    )
    assert status.keys() == KEYS
    assert json.loads(json.dumps(status)) == status
    assert status["schema"] == "roundhouse.status/1" and status["at"] == "2025-06-15T15:06:40.000+00:00"
    assert (status["system"], status["role"], status["endpoints"]) == (
        "roundrobin", "broker", ["tcp://127.0.0.1:6714"],
    )  # fmt: skip
    assert status["ledger"]["balanced"] and status["backlog"] == status["ledger"]["queued"]
    assert status["in_flight"] == sum(worker["in_flight"] for worker in status["workers"])
    assert status["totals"]["workers"] == 3 and (status["totals"]["alive"], status["totals"]["lost"]) == (2, 1)
    assert status["workers"][1]["name"] == "a·[2Jb" and status["workers"][1]["state"] == "lost"
    assert status["health"] == {"dead": ["pool: it"], "loop_lag_s": 0.5, "failed": 1}
    assert status["rates"] == {"seconds": 60.0, "done_per_s": 12.5, "failed_share": 0.25, "done_seconds": 4.0}
    assert status["oldest_s"] == 5.0
    assert status["disk"] == {"folder": "/srv", "free_bytes": 50, "free_share": 0.5}
    assert status["alerts"] == [{"name": "x"}] and status["unkept"] == ["y"]
    one, other = status["clients"]
    assert one == {"name": "c1", "sent": 7, "waiting": 3, "in_flight": 1, "oldest_s": 5.0, "silent_s": 2.0}
    assert other["oldest_s"] is None and status["totals"]["clients"] == 2


def test_the_store_of_a_broker_is_told() -> None:
    lab = FakeLab(1)
    lab.publish()
    view = lab.feed.pictures["broker"]._replace(kept=Kept(5, 2, "the disk\x1b is full"))
    status = status_of(PROCESS, of_brokers({"broker": view}, NAMES), Health((), 0.0))
    assert status["store"] == {"tasks": 5, "waiting": 2, "trouble": "the disk· is full", "shared": None}
    brokers = (Sharer("here\x1b 1", 2, 20, 7),)
    shared = Shared("nats://x/y", 9, 7, 1, 0, "n1", 3, ("n2",), 25, 100, brokers)
    view = view._replace(shared=shared)
    told = status_of(PROCESS, of_brokers({"broker": view}, NAMES), Health((), 0.0))["store"]["shared"]
    assert told == {
        "place": "nats://x/y", "waiting": 9, "leased": 7, "redelivered": 1, "leader": "n1", "copies": 3,
        "behind": ["n2"], "used_bytes": 25, "room_bytes": 100, "used_share": 0.25,
        "brokers": [{"name": "here· 1", "workers": 2, "slots": 20, "leased": 7}],
    }  # fmt: skip
    view = view._replace(shared=shared._replace(room=0))
    told = status_of(PROCESS, of_brokers({"broker": view}, NAMES), Health((), 0.0))["store"]["shared"]
    assert told["room_bytes"] is None and told["used_share"] is None


def test_what_is_not_known_is_null() -> None:
    status = status_of(PROCESS._replace(disk=None), None, Health((), 0.0))
    assert status.keys() == KEYS
    assert [status[key] for key in ("ledger", "backlog", "in_flight", "rates", "disk", "oldest_s", "store")] == [
        None
    ] * 7


def test_the_broker_of_a_pair_that_serves_is_shown() -> None:
    view = FakeLab(2).feed.pictures["broker"]
    waits = view._replace(serving=False, workers=())
    seen = of_brokers({"broker": waits, "fallback": view}, NAMES)
    assert seen is not None and seen.serving and len(seen.workers) == 2
    alone = of_brokers({"broker": waits}, NAMES)
    assert alone is not None and not alone.serving and alone.workers == []


def test_a_process_of_workers_shows_how_they_see_themselves() -> None:
    client = ClientView(5.0, True, None, 0)
    crew = {"w1": WorkerView(5.0, "working", 10, 3, 40, 4.0, joined=True), "w2": WorkerView(5.0, "x", 10, 0, 0, 0.0)}
    status = status_of(PROCESS, of_brokers({"pool": crew, "client": client}, NAMES), Health((), 0.0))
    one, other = status["workers"]
    assert (one["name"], one["state"], one["free"], one["in_flight"], one["done"]) == ("w1", "working", 7, 3, 40)
    assert one["silent_s"] == 1.0 and other["state"] == "linking" and other["silent_s"] is None
    assert status["clients"] == [{"name": "client", "linked": True, "late": 0, "run": None}]
    assert status["totals"]["alive"] == 1 and status["ledger"] is None
    assert of_brokers({}, NAMES) is None


def test_it_is_bounded_and_trouble_is_listed_first() -> None:
    workers = [{"name": str(i), "state": "ready"} for i in range(5)] + [{"name": "x", "state": "lost"}]
    assert [worker["name"] for worker in worst_first(workers, 2)] == ["x", "0"]
    assert worst_first(workers, 6) is workers
    assert WORKERS >= 10_000 and CLIENTS > 0
    assert totals([("lost", 5, 5), ("busy", 4, 1), ("linking", 3, 3)]) == {
        "workers": 3, "alive": 1, "lost": 1, "late": 0, "slots": 4, "free": 1,
    }  # fmt: skip


def test_workers_are_counted_without_a_list_of_them() -> None:
    seen = of_brokers(FakeLab(3).feed.pictures, NAMES, listed=False)
    assert seen is not None and seen.workers == [] and seen.totals["workers"] == 3
