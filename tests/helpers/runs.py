"""A run record for tests of whoever keeps, lists or shows runs."""

from __future__ import annotations

import heapq
from datetime import UTC, datetime, timedelta
from random import Random

from engine.parts.bulk import Bulk, BulkSpec
from engine.parts.view import ClientView
from engine.runs.load import RunReport
from engine.runs.record import RunRecord

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


def a_long_run() -> RunRecord:
    """One of seconds with everything that a summary tells: a tail, a stall, failures, legs."""
    spec = BulkSpec("ping", 20_000, in_flight=60)
    bulk, now, chance = Bulk(spec, 100.0), 100.0, Random(7)
    under_way: list[tuple[float, int]] = []
    while bulk.ended is None:
        while (task := bulk.due(now)) is not None:
            took = chance.lognormvariate(-4.5, 0.3) * (12 if chance.random() > 0.985 else 1)
            heapq.heappush(under_way, (now + took, task))
        at, task = heapq.heappop(under_way)
        now = 105.5 if 103.0 < at < 105.5 else at
        if task % 4001 == 4000:
            bulk.failed(task, "timeout", now)
        else:
            bulk.replied(task, now)
    report = RunReport("roundrobin", "tcp", spec, started=BEGAN, since=100.0, lane="seed")
    run = report.document(ClientView(now, True, bulk.view(now), 0), b"client", None)
    of = run["service_us"]
    run["legs_us"] = {"client": {**of, "p50": 210.0}, "backlog": {**of, "p50": 0.0}, "worker": of, "return": of}
    run["versions"] = {"roundhouse": "0.1.0"}
    return run
