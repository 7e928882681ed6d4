"""What an operator sees of a core: frozen pictures that cross from the engine's threads to a screen or a file.

Times are monotonic seconds of the engine that made the picture; a reader compares them with ``at`` only.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from engine.core import Shared as Shared
from engine.parts.bulk import BulkView
from engine.parts.callers import ClientRow as ClientRow
from engine.parts.callers import Underway as Underway
from engine.parts.ledger import LedgerView as LedgerView
from engine.parts.served import Took

State = Literal["ready", "busy", "late", "silent", "lost", "drain"]
"""ready: free slots · busy: none · late: a heartbeat is overdue · silent: quiet, but known to work · lost: expired ·
drain: leaving."""


Walked = tuple[tuple[tuple[str, str], int], ...]
"""(state, event) of an edge of a state map → how often it was walked. A core that goes through a machine
(``engine.parts.machine``) counts all of them; a core without one counts in other totals what each task walks."""


class WorkerRow(NamedTuple):
    """One worker at a broker. Rows are immutable: an unchanged worker keeps its row object between pictures."""

    key: bytes  # the true routing id
    name: str  # for people; may hold anything a peer sent, so it passes the sanitiser before it is shown
    state: State
    slots: int
    free: int
    in_flight: int  # tasks given and not yet answered
    done: int  # tasks completed
    failed: int  # tasks that it lost or answered wrongly
    violations: int
    joined: float
    heard: float  # last message from it
    lost_at: float  # when silence would make it lost, NEVER for none
    rtt: float | None  # seconds, of the last heartbeat round trip
    terms: tuple[tuple[str, str], ...] = ()  # in the protocol's own words: ("nproc", "3"), ("state", "SV_LOOP2") …
    took: Took | None = None  # its service times of the last minute; None where it answered nothing in it


class TaskRow(NamedTuple):
    """One task that a worker holds."""

    client: bytes
    id: bytes
    kind: str  # ping, data, …
    given: float
    attempt: int  # 1 for the first delivery


class Incident(NamedTuple):
    """The newest violation of one kind by one peer."""

    at: float
    peer: bytes
    reason: str
    times: int


SHOWN_ORDER = 64  # workers in a broker's order


class Detail(NamedTuple):
    """What ``Inspect`` asked for."""

    key: bytes
    tasks: tuple[TaskRow, ...]
    incidents: tuple[Incident, ...]
    counters: tuple[tuple[str, int], ...]


class BrokerLeg(NamedTuple):
    """When one sampled task passed the broker (``engine.parts.legs``)."""

    client: bytes
    id: bytes
    accepted: float
    given: float
    answered: float
    worker: bytes = b""  # the worker that answered; empty where that is not noted
    attempt: int = 1  # deliveries


class ClientLeg(NamedTuple):
    """When one sampled task left its client and came back."""

    id: bytes
    sent: float
    received: float


class Kept(NamedTuple):
    """What a broker's store keeps: tasks that have not ended, how many of them are only there, and what is wrong."""

    tasks: int
    waiting: int
    trouble: str  # why tasks are refused; empty while they are not


class BrokerView(NamedTuple):
    """A broker: what ``Core.snapshot`` of every broker core returns."""

    at: float
    workers: tuple[WorkerRow, ...]
    backlog: int
    in_flight: int
    ledger: LedgerView
    counters: tuple[tuple[str, int], ...]  # named totals: violations, re-deliveries, late replies …
    incidents: tuple[Incident, ...]  # newest last, bounded
    detail: Detail | None = None
    legs: tuple[BrokerLeg, ...] = ()  # of sampled tasks, newest last, bounded
    terms: tuple[tuple[str, str], ...] = ()  # the protocol's own words about the broker itself
    serving: bool = True  # False of a fallback that stands by, and of a primary that waits
    walked: Walked = ()  # of the machines of its workers, and of its own
    apart: int = 0  # of the backlog: tasks that wait for a worker that holds nothing, whatever slots are free
    order: tuple[bytes, ...] = ()  # workers that get the next tasks, least recently used first; ``SHOWN_ORDER`` at most
    peaks: tuple[tuple[float, int], ...] = ()  # (when, how many waited), see ``engine.parts.peak``
    clients: tuple[ClientRow, ...] = ()  # those that have most under way first
    oldest: tuple[Underway, ...] = ()  # tasks under way, oldest first, bounded
    kept: Kept | None = None  # of a broker whose tasks survive it
    limits: tuple[tuple[bytes, float], ...] = ()  # tasks a second that are given out, by client; empty: of all
    shared: Shared | None = None  # how the store is, where brokers share it


class WorkerView(NamedTuple):
    """A worker's own picture of itself."""

    at: float
    state: str  # the protocol's own name for it
    slots: int
    running: int
    done: int
    broker_heard: float
    terms: tuple[tuple[str, str], ...] = ()
    joined: bool = False  # the broker has taken it in, as far as it knows
    walked: Walked = ()


class ClientView(NamedTuple):
    """A client: its link, and its newest bulk run if it had one."""

    at: float
    linked: bool
    run: BulkView | None
    late: int  # replies that came after their timeout
    legs: tuple[ClientLeg, ...] = ()  # of sampled tasks, newest last, bounded
    terms: tuple[tuple[str, str], ...] = ()
    answers: tuple[object, ...] = ()  # to orders, in the protocol's own types, newest last, bounded
    walked: Walked = ()
