"""A run record for tests of whoever keeps, lists or shows runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from engine.parts.bulk import Bulk, BulkSpec
from engine.parts.view import ClientView
from engine.runs.load import RunRecord, RunReport

BEGAN = datetime(2026, 11, 28, 1, 2, 3, 456, tzinfo=UTC)


def finished(spec: BulkSpec, latency: float = 0.001) -> ClientView:
    """The client's picture after a run that began at 100.0 in which every task took ``latency`` seconds, in turn."""
    bulk, now = Bulk(spec, 100.0), 100.0
    while (task := bulk.due(now)) is not None:
        now += latency
        bulk.replied(task, now, spec.size)
    return ClientView(now, True, bulk.view(now), 0)


def a_run(n: int = 1, *, seconds: float = 0, system: str = "roundrobin") -> RunRecord:
    """A good run of n pings that began so many seconds after ``BEGAN``."""
    spec = BulkSpec("ping", n)
    report = RunReport(system, "tcp", spec, started=BEGAN + timedelta(seconds=seconds), since=100.0)
    return report.document(finished(spec), b"client", None)
