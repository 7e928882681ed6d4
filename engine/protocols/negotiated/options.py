"""What can be set for negotiated; the configuration file's table ``[negotiated]`` is checked against these fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from engine.parts.limits import MAX_BACKLOG
from engine.parts.store import misnamed
from engine.schema import Range

Seconds = Annotated[float, Range(0.01, 3600.0, "seconds")]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of all roles. Brokers of one group should agree on all of them, so one file serves them all."""

    heartbeat: Seconds = 1.0
    """Seconds between two PINGs: the broker's shortest interval, and what workers and clients ask for."""

    silence: Annotated[int, Range(2, 1000)] = 3
    """Intervals without a message after which a peer counts as gone, a worker for its broker and a broker for it."""

    skew: Seconds = 30.0
    """Seconds by which a peer's wall clock may differ from the broker's before it is put out with 408."""

    doubt: Seconds = 10.0
    """Seconds that a task may be with a worker before that has to say, in a new negotiation, whether it holds it."""

    patience: Annotated[int, Range(1, 100_000)] = 4
    """Intervals that a request waits for a service that nobody offers; then its client is told 503."""

    max_deliveries: Annotated[int, Range(1, 1000)] = 3
    """How often a task is handed to a worker at most; then its client is told 503."""

    max_backlog: Annotated[int, Range(0, MAX_BACKLOG)] = 100_000
    """Tasks that wait for a worker, of all services together; beyond it the client is told 429."""

    services: str = "ping,data"
    """What a worker offers, separated by commas: ``NAME=COMMAND``, run for each request with its body as input and no
    shell; or ``NAME=module:function``, in Python. ``ping`` and ``data`` are answered by the worker itself."""

    service_seconds: Seconds = 60.0
    """Seconds that the command of a service may take; then it is killed, and its client is told so."""

    config_type: Literal["json", "xml", "zfl"] = "json"
    """The form in which a worker or client asks for its configuration."""

    config_version: Annotated[int, Range(0, 2**31 - 1)] = 1
    """The version of the configuration that a broker serves at first."""

    frontend: str = ""
    """Where the broker's clients connect; empty: the workers' endpoint, tcp port + 100 or name + ``-frontend``."""

    peer: str = ""
    """Where the fallback connects to its primary; empty: the primary's endpoint, port + 200 or name + ``-peer``."""

    primary: str = ""
    """The primary's own endpoints as its fallback knows them, separated by commas; empty: the usual ones."""

    fallback: str = ""
    """The fallback's own endpoints, separated by commas; empty: there is no fallback."""

    group: str = ""
    """The workers' endpoints of further brokers that peers may try, separated by commas."""

    backlog: str = ""
    """Where what was accepted survives the broker: ``sqlite:PATH``, or ``sqlite:`` for the usual file. Clients of ours
    that have it set name their requests by ids of 16 bytes. Empty: in memory, and in that of a fallback."""

    def __post_init__(self) -> None:
        if wrong := misnamed(self.backlog, shared=False):
            raise ValueError(wrong)
        if self.backlog and self.fallback:
            raise ValueError("backlog is for a broker without a fallback: what a fallback knows is in memory")
