"""The settings of the conversation; the configuration file's table ``[conversation]`` is checked against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.parts.limits import MAX_BACKLOG
from engine.parts.store import misnamed
from engine.schema import Range

Seconds = Annotated[float, Range(0.01, 86_400, "seconds")]


@dataclass(frozen=True, slots=True)
class Options:
    """One set for the three roles; each reads what concerns it."""

    heartbeat: Seconds = 1.0
    """Seconds between two keep-alives of a ZeroMQ worker or a client. Ours: the seed has none."""

    expiry: Seconds = 3.0
    """Seconds of silence after which a ZeroMQ peer has disconnected, and within which a greeting must be complete."""

    tries: Annotated[int, Range(1, 1000)] = 3
    """How often one task is given to a worker before it has failed as ``lost`` (ruling 10)."""

    max_backlog: Annotated[int, Range(0, MAX_BACKLOG)] = MAX_BACKLOG
    """Tasks that may wait at the broker; a submission that does not fit is refused whole."""

    body_limit: Annotated[int, Range(1024, 2**30, "bytes")] = 16 * 1024 * 1024
    """Bytes of one message body; a longer one is refused by its header alone (ruling 11)."""

    frontend: str = ""
    """Endpoint for clients. Empty: derived from the broker's (``endpoints``)."""

    stream: str = ""
    """Endpoint for workers over plain TCP. Empty: derived from the broker's; ``none``: not offered."""

    backlog: str = ""
    """Where jobs survive their broker: ``sqlite:PATH``, or ``sqlite:`` for the usual file. Clients of ours that have it
    set name their tasks by ids of 16 bytes. Empty: in memory, lost with the broker."""

    def __post_init__(self) -> None:
        if wrong := misnamed(self.backlog, shared=False):
            raise ValueError(wrong)
