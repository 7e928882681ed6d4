"""What a rule may measure: one number out of a status (``roundhouse.status/1``), or None where it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Status = Mapping[str, Any]


class Measure(NamedTuple):
    """``unit``: as Nagios writes it behind a number: nothing, ``s`` or ``%``."""

    of: Callable[[Status], float | None]
    unit: str
    words: str
    why: Callable[[Status], Sequence[str]] = lambda status: ()  # what the number stands for, in words of the process


def _at(*keys: str) -> Callable[[Status], float | None]:
    def value(status: Status) -> float | None:
        found: Any = status
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return float(found) if isinstance(found, int | float) else None

    return value


def _workers(status: Status) -> float | None:
    """Workers that can take tasks; None of a process that has none by design."""
    if status["role"] == "worker" or not status["serving"]:
        return None
    if status["queues"] and not status["counters"].get("wanted_drivers"):
        return None
    return _at("totals", "alive")(status)


def _percent(*keys: str) -> Callable[[Status], float | None]:
    def value(status: Status) -> float | None:
        share = _at(*keys)(status)
        return None if share is None else round(100 * share, 4)

    return value


def _unbalanced(status: Status) -> float | None:
    balanced = (status["ledger"] or {}).get("balanced")
    return None if balanced is None else float(not balanced)


def _trouble(status: Status) -> float | None:
    store = status.get("store")  # an older process does not tell
    return float(bool(_why(status))) if store else None


def _why(status: Status) -> list[str]:
    """What is wrong with a store, in words."""
    store = status["store"]
    leaderless = _shared(status).get("leader") == ""
    return [why for why in (store["trouble"], leaderless and "its queue has no leader") if why]


def _shared(status: Status) -> Status:
    """What is told of a store that brokers share; nothing where none is."""
    return (status.get("store") or {}).get("shared") or {}


def _behind(status: Status) -> float | None:
    behind = _shared(status).get("behind")
    return None if behind is None else float(len(behind))


MEASURES: Mapping[str, Measure] = {
    "workers": Measure(_workers, "", "workers that can take tasks"),
    "lost_workers": Measure(_at("totals", "lost"), "", "lost workers"),
    "backlog": Measure(_at("backlog"), "", "tasks in the backlog"),
    "oldest": Measure(_at("oldest_s"), "s", "age of the oldest task in the backlog"),
    "failed": Measure(_percent("rates", "failed_share"), "%", "share of failed tasks in the last minute"),
    "loop_lag": Measure(_at("health", "loop_lag_s"), "s", "lag of the slowest loop"),
    "dead_threads": Measure(
        lambda status: float(len(status["health"]["dead"])), "", "dead threads", lambda status: status["health"]["dead"]
    ),
    "unbalanced": Measure(_unbalanced, "", "ledgers that do not balance"),
    "disk_free": Measure(_percent("disk", "free_share"), "%", "free space where the state folder is"),
    "dead_tasks": Measure(_at("counters", "dead tasks"), "", "dead tasks that a store has for an operator"),
    "unkept": Measure(
        lambda status: float(len(status["unkept"])),
        "",
        "things that could not be written to the disk",
        lambda status: status["unkept"],
    ),
    "stopped_stages": Measure(_at("counters", "stopped_stages"), "", "stages that stopped after errors"),
    "store_trouble": Measure(_trouble, "", "stores that refuse tasks or can not be reached", _why),
    "store_used": Measure(_percent("store", "shared", "used_share"), "%", "used room of the queue that brokers share"),
    "store_behind": Measure(
        _behind, "", "servers whose copy of the queue is behind", lambda status: _shared(status)["behind"]
    ),
}
