"""The newest status as metrics for Prometheus, in its text format or OpenMetrics, as the asker wants it.

The rules of this file:

- Every number comes from a status (``engine.labs.status``); nothing is counted here. What is not known is left out.
- No metric has a label that a peer can choose: a hostile one could make them endless. Workers are counted, not listed.
- The endpoint is on this machine alone: it has no password. Whoever wants it elsewhere puts a proxy before it.
- ``prometheus-client`` is an extra: without it, asking for metrics is refused in words.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from engine.errors import Refused

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

Status = Mapping[str, Any]
GAUGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("backlog_tasks", "tasks in the backlog", ("backlog",)),
    ("in_flight_tasks", "tasks that workers hold", ("in_flight",)),
    ("oldest_task_seconds", "age of the oldest task in the backlog", ("oldest_s",)),
    ("done_tasks_per_second", "tasks that succeeded a second, over the last five seconds", ("rates", "done_per_s")),
    ("failed_share", "share of failed tasks, over the last minute", ("rates", "failed_share")),
    ("loop_lag_seconds", "how late the slowest loop is for its timers", ("health", "loop_lag_s")),
    ("disk_free_bytes", "free space where the state folder is", ("disk", "free_bytes")),
    ("uptime_seconds", "seconds since it was started", ("uptime_s",)),
    ("serving", "1 where it serves, 0 where it stands by", ("serving",)),
    ("slots", "slots of all workers", ("totals", "slots")),
    ("free_slots", "free slots of all workers", ("totals", "free")),
    ("clients", "clients", ("totals", "clients")),
    ("stored_tasks", "tasks that the store keeps", ("store", "tasks")),
    ("shared_waiting_tasks", "tasks that wait in the queue that brokers share", ("store", "shared", "waiting")),
    ("shared_leased_tasks", "tasks of it that brokers have leased", ("store", "shared", "leased")),
    ("shared_redelivered_tasks", "those of them that are leased once more", ("store", "shared", "redelivered")),
    ("shared_bytes", "bytes of the queue that brokers share", ("store", "shared", "used_bytes")),
    ("shared_room_bytes", "bytes that it may have", ("store", "shared", "room_bytes")),
    ("ledger_balanced", "1 where every task is accounted for", ("ledger", "balanced")),
)
"""Name, what it is, and where it stands in a status."""

ENDS = ("sent", "succeeded", "dropped")
ASKED = ("requests", "orders", "refused", "failed", "unsent")


def families(status: Status) -> Iterator[Metric]:
    """All metrics of a status."""
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

    about = {"system": status["system"], "role": status["role"], **status["versions"]}
    yield InfoMetricFamily("roundhouse_build", "what runs", value={key: str(value) for key, value in about.items()})
    for name, words, keys in GAUGES:
        if (value := _at(status, keys)) is not None:
            yield GaugeMetricFamily(f"roundhouse_{name}", words, value=value)
    workers = GaugeMetricFamily("roundhouse_workers", "workers by state", labels=["state"])
    for state in ("alive", "late", "lost"):
        workers.add_metric([state], status["totals"][state])
    yield workers
    health = GaugeMetricFamily("roundhouse_problems", "things that are wrong, by kind", labels=["kind"])
    health.add_metric(["dead_threads"], len(status["health"]["dead"]))
    health.add_metric(["not_written"], len(status["unkept"]))
    if store := status["store"]:
        health.add_metric(["store"], bool(store["trouble"]))
        if shared := store.get("shared"):
            health.add_metric(["no_leader"], not shared["leader"])
            health.add_metric(["copies_behind"], len(shared["behind"]))
    yield health
    if (shared := (status["store"] or {}).get("shared")) is not None:
        yield GaugeMetricFamily("roundhouse_shared_brokers", "brokers that share the queue", len(shared["brokers"]))
        yield GaugeMetricFamily("roundhouse_shared_copies", "servers that have a copy of it", shared["copies"])
    if ledger := status["ledger"]:
        tasks = CounterMetricFamily("roundhouse_tasks", "tasks by what became of them", labels=["end"])
        for end in ENDS:
            tasks.add_metric([end], ledger[end])
        tasks.add_metric(["failed"], sum(ledger["failed"].values()))
        yield tasks
    events = CounterMetricFamily("roundhouse_events", "what the system itself counts", labels=["event"])
    for name, count in status["counters"].items():
        events.add_metric([name], count)
    yield events
    if control := status["control"]:
        yield GaugeMetricFamily("roundhouse_viewers", "who looks over the control socket", value=control["viewers"])
        for name, words, label, counts in (
            (
                "control",
                "requests at the control socket, by what they were",
                "kind",
                {key: control[key] for key in ASKED},
            ),
            ("control_malformed", "requests that can not be read, by reason", "reason", control["malformed"]),
            ("connections_refused", "connections that were let in by nobody", "reason", control["connections"]),
        ):
            family = CounterMetricFamily(f"roundhouse_{name}", words, labels=[label])
            for key, count in counts.items():
                family.add_metric([key], count)
            yield family
    documents = GaugeMetricFamily("roundhouse_documents", "documents by queue and state", labels=["queue", "state"])
    for queue in status["queues"]:
        for state in ("ready", "working", "failed", "failed_twice"):
            documents.add_metric([queue["name"], state], queue[state])
    yield documents
    alerts = GaugeMetricFamily(
        "roundhouse_alerts", "alerts that are not cleared", labels=["alert", "severity", "state"]
    )
    for alert in status["alerts"]:
        alerts.add_metric([alert["name"], alert["severity"], alert["state"]], 1)
    yield alerts


@contextmanager
def served(address: str, status: Callable[[], Status]) -> Iterator[str]:
    """Serve metrics at ``HOST:PORT`` as long as this lasts; where they are, as a URL.

    Raises Refused where the address is not of this machine, can not be bound, or ``prometheus-client`` is missing.
    """
    host, port = host_of(address)
    try:
        from prometheus_client import CollectorRegistry, start_http_server
        from prometheus_client.registry import Collector
    except ImportError:
        raise Refused("metrics need prometheus-client: pip install 'roundhouse[metrics]'") from None

    class Statuses(Collector):
        def collect(self) -> Iterator[Metric]:
            return families(status())

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Statuses())
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise Refused(f"metrics can not be served at {address}: {error.strerror or error}") from None
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def host_of(address: str) -> tuple[str, int]:
    """Host and port of ``127.0.0.1:9464`` or ``[::1]:9464``. Raises Refused for any other."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    host = "127.0.0.1" if host == "localhost" else host
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise Refused(f"{address}: expected HOST:PORT with an address of this machine, like 127.0.0.1:9464") from None
    if not (port.isascii() and port.isdigit() and int(port) < 2**16):
        raise Refused(f"{address}: expected HOST:PORT, like 127.0.0.1:9464")
    if not local:
        raise Refused(f"{address}: metrics are served on this machine alone; put a proxy with a password before them")
    return host, int(port)


def _at(status: Status, keys: tuple[str, ...]) -> float | None:
    found: Any = status
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return None if found is None else float(found)
