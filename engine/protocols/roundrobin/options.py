"""What can be set for round robin; the configuration file's table ``[roundrobin]`` is checked against these fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.parts.limits import MAX_BACKLOG, MAX_FRAME
from engine.parts.store import misnamed
from engine.schema import Range

Seconds = Annotated[float, Range(0.01, 86_400, "seconds")]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of all three roles. Broker and peers of one system should agree on ``heartbeat`` and ``expiry``."""

    heartbeat: Seconds = 1.0
    """Seconds: worker and client PING the broker so often; it PINGs a worker after three quarters of it in silence, and
    one of ours, which PINGs by itself, after one and a quarter."""

    expiry: Seconds = 3.0
    """Seconds of silence after which a worker is lost, or a peer takes its link to the broker for broken. Less than the
    5 s that an original client waits for a task, or a worker that freezes would fail what another could have done."""

    task_deadline: Seconds = 60.0
    """Seconds that a worker may hold a task; after that the task has failed and its slot is free again."""

    max_deliveries: Annotated[int, Range(1, 1000)] = 3
    """How often a task is handed to a worker at most; a worker that is lost with it spends one."""

    max_backlog: Annotated[int, Range(0, MAX_BACKLOG)] = 100_000
    """Tasks that wait for a free slot; what comes on top is dropped and counted."""

    lost_shown: Seconds = 30.0
    """Seconds for which a lost worker stays on show, and is a worker again as soon as it is heard."""

    max_stream: Annotated[int, Range(1, MAX_FRAME // 2, "bytes")] = 1_048_576
    """Bytes that a worker sends for one stream request; a larger request is answered with an aborted stream."""

    packed: bool = False
    """Whether peers of ours ask for the packed lane, and a broker of ours agrees; others never see it either way."""

    backlog: str = ""
    """Where what was accepted survives the broker: ``sqlite:PATH``, or ``sqlite:`` for the usual file; or
    ``nats://HOST:PORT/NAME``, a queue that brokers share. Clients of ours that have it set name their tasks
    by ids of 16 bytes. Empty: in memory, lost with the broker."""

    def __post_init__(self) -> None:
        if wrong := misnamed(self.backlog, shared=True):
            raise ValueError(wrong)
