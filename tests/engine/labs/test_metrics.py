"""Metrics, as the parser of ``prometheus-client`` reads them."""

from __future__ import annotations

import sys
import urllib.request
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from engine.errors import Refused
from engine.labs.metrics import host_of, served
from tests.helpers.statuses import CONTROL, a_queue_status, a_status

Read = dict[tuple[str, tuple[tuple[str, str], ...]], float]
ALERT = {"name": "backlog", "severity": "warning", "state": "firing"}
ACCEPT = {"Accept": "application/openmetrics-text; version=1.0.0"}


def scraped(status: dict[str, Any]) -> Read:
    """Every sample of an OpenMetrics scrape by its name and labels."""
    with served("127.0.0.1:0", lambda: status) as url:
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(urllib.request.Request(url, headers=ACCEPT), timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
            text = answer.read().decode()
    assert text.endswith("# EOF\n")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }


def test_the_status_of_a_broker_is_scraped() -> None:
    status = a_status(alerts=[ALERT], backlog=17, unkept=["x"])
    found = scraped(status)
    assert found["roundhouse_backlog_tasks", ()] == 17
    assert found["roundhouse_workers", (("state", "alive"),)] == status["totals"]["alive"] == 3
    assert found["roundhouse_tasks_total", (("end", "sent"),)] == status["ledger"]["sent"]
    assert found["roundhouse_tasks_total", (("end", "failed"),)] == sum(status["ledger"]["failed"].values())
    assert found["roundhouse_events_total", (("event", "violations"),)] == 3
    assert found["roundhouse_alerts", tuple(sorted({**ALERT, "alert": "backlog"}.items() - {("name", "backlog")}))] == 1
    assert found["roundhouse_problems", (("kind", "not_written"),)] == 1
    assert found["roundhouse_ledger_balanced", ()] == 1 and found["roundhouse_disk_free_bytes", ()] == 50
    assert ("roundhouse_done_tasks_per_second", ()) not in found


def test_a_store_is_scraped_where_there_is_one() -> None:
    problem = ("roundhouse_problems", (("kind", "store"),))
    assert problem not in scraped(a_status())
    found = scraped(a_status(store={"tasks": 7, "waiting": 2, "trouble": "it is full"}))
    assert found[problem] == 1 and found["roundhouse_stored_tasks", ()] == 7
    assert scraped(a_status(store={"tasks": 7, "waiting": 2, "trouble": ""}))[problem] == 0
    shared = {"waiting": 4, "leader": "", "behind": ["n2"], "copies": 3, "brokers": [{}, {}], "room_bytes": None}
    found = scraped(a_status(store={"tasks": 7, "waiting": 2, "trouble": "", "shared": shared}))
    assert found["roundhouse_shared_waiting_tasks", ()] == 4 and found["roundhouse_shared_brokers", ()] == 2
    assert found["roundhouse_problems", (("kind", "no_leader"),)] == 1 and found["roundhouse_shared_copies", ()] == 3
    assert found["roundhouse_problems", (("kind", "copies_behind"),)] == 1
    assert ("roundhouse_shared_room_bytes", ()) not in found


def test_the_counts_of_the_control_socket_are_scraped() -> None:
    found = scraped(a_status(control=CONTROL))
    assert found["roundhouse_viewers", ()] == 2 and ("roundhouse_viewers", ()) not in scraped(a_status())
    assert found["roundhouse_control_total", (("kind", "orders"),)] == 5
    assert found["roundhouse_control_malformed_total", (("reason", "version"),)] == 4
    assert found["roundhouse_connections_refused_total", (("reason", "no_key"),)] == 6


def test_the_status_of_disk_queues_is_scraped() -> None:
    found = scraped(a_queue_status())
    assert found["roundhouse_documents", (("queue", "start"), ("state", "ready"))] == 12
    assert ("roundhouse_ledger_balanced", ()) not in found


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0.0.0.0:9464", "on this machine alone"),
        ("192.0.2.1:9464", "on this machine alone"),
        ("example.org:9464", "expected HOST:PORT with an address"),
        ("9464", "expected HOST:PORT"),
        ("127.0.0.1:x", "expected HOST:PORT"),
        ("127.0.0.1:70000", "expected HOST:PORT"),
    ],
)
def test_an_address_that_is_not_local_is_refused(address: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        host_of(address)


def test_local_addresses() -> None:
    assert host_of("localhost:1") == ("127.0.0.1", 1) and host_of("[::1]:9464") == ("::1", 9464)


def test_a_port_that_is_taken_is_refused() -> None:
    with served("127.0.0.1:0", a_status) as url:
        port = url.rpartition(":")[2].partition("/")[0]
        with pytest.raises(Refused, match="can not be served"), served(f"127.0.0.1:{port}", a_status):
            pass


def test_without_the_library_it_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(Refused, match="pip install"), served("127.0.0.1:0", a_status):
        pass
