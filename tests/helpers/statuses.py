"""A status of a broker, and of disk queues, to be changed by a test."""

from __future__ import annotations

from typing import Any

from engine.labs.health import Health
from engine.labs.queuestatus import of_pipeline
from engine.labs.status import Disk, Process, of_brokers, status_of
from tests.helpers.fake_lab import FakeLab
from tests.helpers.fake_queues import a_view

EPOCH = 1_750_000_000.0
PROCESS = Process(
    "roundrobin", "broker", ("tcp://127.0.0.1:6714",), 4711, EPOCH, 12.5, {"roundhouse": "0.1.0"}, Disk("/srv", 50, 100)
)


def a_status(workers: int = 3, **changes: Any) -> dict[str, Any]:
    """That of a broker with so many workers."""
    seen = of_brokers(FakeLab(workers).feed.pictures, ("broker", "fallback"))
    return {**status_of(PROCESS, seen, Health((), 0.001)), **changes}


def a_queue_status(**changes: Any) -> dict[str, Any]:
    """That of a pipeline, as ``a_view`` shows it."""
    process = PROCESS._replace(system="diskqueue", role="pipeline", endpoints=("/srv/pipeline",))
    return {**status_of(process, of_pipeline(a_view()), Health((), 0.0)), **changes}
