"""One picture of a running process for programs: a plain dict of schema ``roundhouse.status/1``.

The rules of this file:

- It is pure: pictures, health and the facts about the process are arguments, so is the time.
- The keys are a contract: they stay as they are. What is not known is null, never zero and never left out.
- Numbers count tasks, or documents of disk queues; times are seconds. Names of peers are cleaned.
- It is bounded: ``WORKERS`` workers are listed, those with trouble first, and ``CLIENTS`` clients.
  ``totals`` counts all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from operator import attrgetter
from typing import Any, NamedTuple

from engine.labs.health import Health
from engine.labs.meter import Recent
from engine.parts.callers import ClientRow
from engine.parts.explain import show
from engine.parts.plain import clean
from engine.parts.view import BrokerView, ClientView, Kept, LedgerView, Shared, WorkerRow, WorkerView

SCHEMA = "roundhouse.status/1"
WORKERS = 10_000
CLIENTS = 1_000
GONE = ("lost", "drain", "linking")
TROUBLE = ("lost", "late", "silent")
_COUNTED = attrgetter("state", "slots", "free")
"""States of workers that are listed first where not all are."""


class Disk(NamedTuple):
    """The file system of the state folder, in bytes."""

    folder: str
    free: int
    total: int


class Process(NamedTuple):
    """Who says it. ``at``: wall clock, seconds since the epoch; ``up``: seconds since it was opened."""

    system: str
    role: str
    endpoints: tuple[str, ...]
    pid: int
    at: float
    up: float
    versions: Mapping[str, str]
    disk: Disk | None = None


class Seen(NamedTuple):
    """What a lab shows of its tasks: the parts of a status that depend on the content."""

    totals: Mapping[str, int]  # as ``totals`` makes them
    workers: list[dict[str, Any]]  # empty where nobody wants them listed
    clients: list[dict[str, Any]]
    ledger: LedgerView | None  # None where nobody here keeps one
    counters: Mapping[str, int]
    queues: list[dict[str, Any]]
    serving: bool = True
    at: float = 0.0  # when the newest picture was made; only compared with itself
    oldest: float | None = None  # seconds that the oldest task is under way; None where a lab does not tell
    measured: bool = True  # whether both sides of the ledger were counted apart from each other
    kept: Kept | None = None  # what the broker's store has; None where nothing is kept
    shared: Shared | None = None  # how it is, where brokers share it
    latency: float = 0.0  # seconds, of the slowest hundredth of the sampled tasks of the last second; 0 for none


def status_of(
    process: Process,
    seen: Seen | None,
    health: Health,
    *,
    recent: Recent | None = None,
    alerts: Sequence[Mapping[str, Any]] = (),
    unkept: Sequence[str] = (),
    control: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The status. ``seen``: None before the first picture; ``unkept``: what could not be written, in words.

    ``control``: what its control socket has counted, and connections that were refused.
    """
    seen = seen or Seen(totals(()), [], [], None, {}, [])
    ledger = seen.ledger
    lag = health.loop_lag
    return {
        "schema": SCHEMA,
        "at": datetime.fromtimestamp(process.at, UTC).isoformat(timespec="milliseconds"),
        "system": process.system,
        "role": process.role,
        "endpoints": list(process.endpoints),
        "pid": process.pid,
        "uptime_s": round(process.up, 3),
        "serving": seen.serving,
        "workers": worst_first(seen.workers, WORKERS),
        "clients": seen.clients[:CLIENTS],
        "queues": seen.queues,
        "totals": {**seen.totals, "clients": len(seen.clients)},
        "backlog": ledger.queued if ledger else None,
        "in_flight": ledger.in_flight if ledger else None,
        "oldest_s": _oldest(seen, recent),
        "rates": _rates(recent),
        "ledger": _ledger(ledger, seen.measured) if ledger else None,
        "counters": dict(seen.counters),
        "health": {
            "dead": [clean(words) for words in health.dead],
            "loop_lag_s": round(lag, 6),
            "failed": health.failed,
        },
        "disk": _disk(process.disk),
        "unkept": [clean(words) for words in unkept],
        "alerts": [dict(alert) for alert in alerts],
        "versions": dict(process.versions),
        "store": _store(seen.kept, seen.shared),
        "control": control,
    }


def of_brokers(pictures: Mapping[str, Any], names: Sequence[str], listed: bool = True) -> Seen | None:
    """What pictures of a broker (and of its fallback, by these ``names``), of workers and of a client show.

    A process without a broker shows its own workers. None before the first picture. ``listed``: name each worker.
    """
    brokers = [view for name in names if isinstance(view := pictures.get(name), BrokerView)]
    client, crew = pictures.get("client"), pictures.get("pool")
    own_client = [_client(client)] if isinstance(client, ClientView) else []
    if not brokers:
        if not isinstance(crew, Mapping):
            return None
        own = [_own(name, view) for name, view in crew.items()]
        return Seen(
            totals((row["state"], row["slots"], row["free"]) for row in own),
            own,
            own_client,
            None,
            {},
            [],
            at=max((row.at for row in crew.values()), default=0.0),
        )
    view = next((view for view in brokers if view.serving), brokers[0])
    every = totals(map(_COUNTED, view.workers))
    workers = [_worker(row, view.at) for row in view.workers] if listed else []
    clients = [_caller(row, view.at) for row in view.clients]
    oldest = max((view.at - task.accepted for task in view.oldest), default=0.0)
    return Seen(
        every,
        workers,
        clients,
        view.ledger,
        dict(view.counters),
        [],
        view.serving,
        view.at,
        oldest,
        kept=view.kept,
        shared=view.shared,
        latency=_latency(view),
    )


def _latency(view: BrokerView) -> float:
    newest = takewhile(lambda leg: leg.answered > view.at - 1.0, reversed(view.legs))
    took = sorted(leg.answered - leg.accepted for leg in newest)
    return took[(len(took) - 1) * 99 // 100] if took else 0.0


def totals(workers: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """Workers in all and by state, and their slots; of each its state, slots and free slots are given."""
    found = {"workers": 0, "alive": 0, "lost": 0, "late": 0, "slots": 0, "free": 0}
    for (state, slots, free), times in Counter(workers).items():  # of thousands of workers most are alike
        found["workers"] += times
        found["lost"] += times * (state == "lost")
        found["late"] += times * (state in ("late", "silent"))
        if state not in GONE:
            found["alive"] += times
            found["slots"] += times * slots
            found["free"] += times * free
    return found


def worst_first(workers: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """So many workers: all in their order, or where there are more those in trouble first."""
    if len(workers) <= most:
        return workers
    return sorted(workers, key=lambda worker: worker["state"] not in TROUBLE)[:most]


def _worker(row: WorkerRow, now: float) -> dict[str, Any]:
    return {
        "name": clean(row.name),
        "key": row.key.hex(),
        "state": row.state,
        "slots": row.slots,
        "free": row.free,
        "in_flight": row.in_flight,
        "done": row.done,
        "failed": row.failed,
        "violations": row.violations,
        "silent_s": round(max(0.0, now - row.heard), 3),
        "rtt_s": None if row.rtt is None else round(row.rtt, 6),
    }


def _own(name: str, view: WorkerView) -> dict[str, Any]:
    """A worker of this process as it sees itself. One that has not joined is ``linking``."""
    return {
        "name": clean(name),
        "key": None,
        "state": clean(view.state) if view.joined else "linking",
        "slots": view.slots,
        "free": max(0, view.slots - view.running),
        "in_flight": view.running,
        "done": view.done,
        "failed": None,
        "violations": None,
        "silent_s": round(max(0.0, view.at - view.broker_heard), 3) if view.joined else None,
        "rtt_s": None,
    }


def _oldest(seen: Seen, recent: Recent | None) -> float | None:
    if seen.oldest is not None:
        return round(seen.oldest, 3)
    return recent.oldest if recent else None


def _caller(row: ClientRow, now: float) -> dict[str, Any]:
    """A client as its broker sees it."""
    return {
        "name": show(row.key),
        "sent": row.sent,
        "waiting": row.waiting,
        "in_flight": row.in_flight,
        "oldest_s": round(max(0.0, now - row.oldest), 3) if row.waiting or row.in_flight else None,
        "silent_s": round(max(0.0, now - row.heard), 3),
    }


def _client(view: ClientView) -> dict[str, Any]:
    run = view.run
    return {
        "name": "client",
        "linked": view.linked,
        "late": view.late,
        "run": None if run is None else {"kind": run.spec.kind, "state": run.state, "n": run.spec.n, "sent": run.sent},
    }


def _ledger(ledger: LedgerView, measured: bool) -> dict[str, Any]:
    return {
        "sent": ledger.sent,
        "succeeded": ledger.succeeded,
        "failed": dict(ledger.failed),
        "in_flight": ledger.in_flight,
        "queued": ledger.queued,
        "dropped": ledger.dropped,
        "balanced": ledger.balanced if measured else None,
    }


def _rates(recent: Recent | None) -> dict[str, Any] | None:
    if recent is None:
        return None
    return {
        "seconds": recent.seconds,
        "done_per_s": recent.done,
        "failed_share": recent.failed_share,
        "done_seconds": recent.done_seconds,
    }


def _store(kept: Kept | None, shared: Shared | None) -> dict[str, Any] | None:
    if kept is None:
        return None
    told = None if shared is None else _shared(shared)
    return {"tasks": kept.tasks, "waiting": kept.waiting, "trouble": clean(kept.trouble), "shared": told}


def _shared(shared: Shared) -> dict[str, Any]:
    return {
        "place": clean(shared.place),
        "waiting": shared.waiting,
        "leased": shared.leased,
        "redelivered": shared.redelivered,
        "leader": clean(shared.leader),
        "copies": shared.copies,
        "behind": [clean(name) for name in shared.behind],
        "used_bytes": shared.used,
        "room_bytes": shared.room or None,
        "used_share": round(shared.used / shared.room, 6) if shared.room else None,
        "brokers": [one._asdict() | {"name": clean(one.name)} for one in shared.brokers],
    }


def _disk(disk: Disk | None) -> dict[str, Any] | None:
    if disk is None:
        return None
    share = round(disk.free / disk.total, 6) if disk.total else None
    return {"folder": disk.folder, "free_bytes": disk.free, "free_share": share}
