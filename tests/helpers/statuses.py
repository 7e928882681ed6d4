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


CONTROL: dict[str, Any] = {
    "viewers": 2, "requests": 1200, "orders": 5, "refused": 1, "failed": 0, "unsent": 3,
    "malformed": {"frames": 0, "message": 0, "version": 4, "fields": 0},
    "connections": {"old_version": 0, "stranger": 0, "no_key": 6, "endless": 0, "put_off": 0},
}  # fmt: skip
"""What a control socket has counted."""


def a_status(workers: int = 3, **changes: Any) -> dict[str, Any]:
    """That of a broker with so many workers."""
    seen = of_brokers(FakeLab(workers).feed.pictures, ("broker", "fallback"))
    return {**status_of(PROCESS, seen, Health((), 0.001)), **changes}


def a_queue_status(**changes: Any) -> dict[str, Any]:
    """That of a pipeline, as ``a_view`` shows it."""
    process = PROCESS._replace(system="diskqueue", role="pipeline", endpoints=("/srv/pipeline",))
    return {**status_of(process, of_pipeline(a_view()), Health((), 0.0)), **changes}
