"""The settings of ping-pong; the first three are the seed's constants with the original's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.parts.limits import MAX_BACKLOG
from engine.parts.store import misnamed
from engine.schema import Range

FRONTEND_STEP = 100  # from a backend's tcp port to its frontend's
LAST_PORT = 65_535

Seconds = Annotated[float, Range(0.01, 86_400, "seconds")]


@dataclass(frozen=True, slots=True)
class Options:
    """The TOML table ``[pingpong]``. Broker and peers should agree on the three constants of the seed."""

    broker_timeout: Seconds = 1.0
    """BROKER_TIMEOUT: seconds of one period in which a worker expects to hear its broker."""

    n_timeouts: Annotated[int, Range(1, 1000)] = 3
    """N_TIMEOUTS: so many silent periods in a row, and the worker opens its socket anew."""

    worker_expiry: Seconds = 3.0
    """WORKER_EXPIRE_SECONDS: seconds of silence after which an idle worker is lost."""

    ping_every: Seconds = 1.0
    """Seconds between two PINGs of a worker or client; two missed ones make an idle worker late."""

    task_deadline: Seconds = 60.0
    """Seconds that a worker may take for a job before the job is handed to another one."""

    probe_deadline: Seconds = 4.0
    """The same for ping and data tasks, which are answered at once."""

    max_deliveries: Annotated[int, Range(1, 1000)] = 3
    """Deliveries of one task before its client is told FAILED."""

    max_backlog: Annotated[int, Range(0, MAX_BACKLOG)] = 10_000
    """Tasks that may wait for a worker; beyond it the client is told FULL."""

    frontend: str = ""
    """Where clients connect; empty: derived from the endpoint of the workers, see ``frontend_of``."""

    backlog: str = ""
    """Where what was accepted survives the broker: ``sqlite:PATH``, or ``sqlite:`` for the usual file. Clients of ours
    that have it set name their tasks by ids of 16 bytes. Empty: in memory, lost with the broker."""

    def __post_init__(self) -> None:
        if wrong := misnamed(self.backlog, shared=False):
            raise ValueError(wrong)

    def frontend_of(self, endpoint: str) -> str:
        """The clients' endpoint beside a workers' endpoint.

        ``tcp://HOST:PORT`` gives the port 100 higher (lower where there is none), any other transport the same
        name with ``-frontend``. Raises ValueError where a tcp port is not a number from 1 to 65535.
        """
        if self.frontend:
            return self.frontend
        if not endpoint.startswith("tcp://"):
            return f"{endpoint}-frontend"
        host, _, text = endpoint.rpartition(":")
        port = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 0
        if not 1 <= port <= LAST_PORT:
            raise ValueError(f"{endpoint} has no port to derive the clients' endpoint from: set pingpong.frontend")
        step = FRONTEND_STEP if port + FRONTEND_STEP <= LAST_PORT else -FRONTEND_STEP
        return f"{host}:{port + step}"
