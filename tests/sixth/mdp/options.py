"""The settings of Majordomo. The RFC names a heartbeat and a multiple of it; it gives no values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.parts.limits import MAX_BACKLOG
from engine.schema import Range

Seconds = Annotated[float, Range(0.01, 86_400, "seconds")]


@dataclass(frozen=True, slots=True)
class Options:
    """The TOML table ``[mdp]``. Broker and workers should agree on the first two."""

    heartbeat: Seconds = 1.0
    """Seconds between two HEARTBEATs, of the broker to each worker and of each worker to the broker."""

    liveness: Annotated[int, Range(2, 1000)] = 3
    """So many heartbeats without a message, and the peer is disconnected."""

    service: str = "echo"
    """What our workers offer and our clients ask for."""

    task_deadline: Seconds = 60.0
    """Seconds that a worker may take for a request before the request is given to another one."""

    probe_deadline: Seconds = 4.0
    """The same for ping and data tasks, which are answered at once."""

    max_deliveries: Annotated[int, Range(1, 1000)] = 3
    """Deliveries of one request before it has failed."""

    max_backlog: Annotated[int, Range(0, MAX_BACKLOG)] = 10_000
    """Requests that may wait at the broker, of all services together."""

    @property
    def expiry(self) -> float:
        """Seconds of silence after which a peer is disconnected."""
        return self.heartbeat * self.liveness
