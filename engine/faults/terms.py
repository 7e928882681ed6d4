"""What a script may contain for a system: its keys, runs, orders and faults.

The rules of this file:

- Systems with a broker share their terms; disk queues have others: stages for workers, documents for tasks.
- Every reader raises ``Refused`` with what is wrong and what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from engine.errors import Refused
from engine.faults import faults, queuefaults
from engine.labs.queuesandbox import STAGES
from engine.parts.bulk import BulkSpec
from engine.parts.limits import MAX_FRAME, MAX_SLOTS
from engine.protocols.diskqueue.pipeline import Stage, check_stages, parse_stage
from engine.schema import Range, nearest
from engine.system import QueueSystem, System

MOST = 1_000_000  # tasks of a run, workers of an order
FED = 10_000  # documents of a run: all of them lie on a simulated disk
DAY = 86_400.0  # seconds

ORDERS = {"add": True, "remove": True, "bulk": False, "endbulk": False, "register": False, "deregister": False,
          "stop": False}  # fmt: skip
"""What can be ordered, and whether a number follows."""

RUNS = {"ping": False, "pingt": False, "data": False, "bulkping": True, "bulkdata": True}
"""The seeds' words for runs, and whether a number follows."""

QUEUE_ORDERS = {"add": True, "remove": True, "pause": True, "resume": True, "done": False}
"""What can be ordered of disk queues, and whether a stage follows."""

QUEUE_RUNS = {"feed": True}
"""Documents, and how many."""

_DO: dict[str, Any] = {
    "at": Annotated[float, Range(0.0, DAY, "seconds")],
    "run": str,
    "fault": str,
    "order": str,
    "expect": Literal["pass", "fail"],
}


class Feed(NamedTuple):
    """A run of documents."""

    n: int
    rate: float | None  # documents a second; None: all at once


Spec = BulkSpec | Feed


class Crew(NamedTuple):
    """The actors of the sandbox; ``stages``, with their drivers, only for disk queues."""

    workers: int = 0
    slots: int = 0
    stages: tuple[Stage, ...] = ()


class Terms(NamedTuple):
    """``head``: keys of a script beside the common ones. ``do``: keys of one act; ``of_runs``: those of runs alone."""

    head: Mapping[str, Any]
    do: Mapping[str, Any]
    of_runs: tuple[str, ...]
    crew: Callable[[Mapping[str, Any]], Crew]
    fault: Callable[[str], object]
    order: Callable[[str], object]
    run: Callable[[str, Mapping[str, Any]], Spec]


def terms_of(system: System | QueueSystem) -> Terms:
    """The terms of one system."""
    if isinstance(system, QueueSystem):
        return _QUEUES
    return _TASKS._replace(fault=lambda text: faults.read(system, text))


def words_of(text: str, known: Mapping[str, bool], most: int = MOST) -> tuple[str, int]:
    """A word and the number behind it, 1 where none belongs there. Raises Refused."""
    name, rest = _word(text, known)
    if not known[name]:
        return name, 1
    if not (rest.isascii() and rest.isdecimal() and 1 <= int(rest[:9]) <= most):
        raise Refused(f"{name} needs a number from 1 to {most:,}, got {rest!r}")
    return name, int(rest[:9])


def queue_order(text: str) -> tuple[str, str]:
    """A word and the stage behind it, empty where none belongs there. Raises Refused."""
    name, stage = _word(text, QUEUE_ORDERS)
    if QUEUE_ORDERS[name] and not stage:
        raise Refused(f"{name} needs a stage")
    return name, stage


def _word(text: str, known: Mapping[str, bool]) -> tuple[str, str]:
    name, _, rest = text.partition(" ")
    if name not in known:
        raise Refused(f"no {name!r}{nearest(name, known)}; there are {', '.join(known)}")
    if rest and not known[name]:
        raise Refused(f"{name} takes nothing after it, got {rest!r}")
    return name, rest


# ---- systems with a broker ----------------------------------------------------------------------------------------


def spec_of(text: str, given: Mapping[str, Any]) -> BulkSpec:
    """What a run's words ask of the client. Raises Refused."""
    name, n = words_of(text, RUNS)
    data = name.endswith("data")
    return BulkSpec(
        kind="data" if data else "ping",
        n=n,
        size=given.get("bytes", 1024) if data else 0,
        in_flight=given.get("in_flight", 10),
        rate=given.get("rate"),
        timeout=given.get("timeout", 5.0),
        tracked=name != "ping",
    )


_TASKS = Terms(
    {"workers": Annotated[int, Range(1, 1000)], "slots": Annotated[int, Range(1, MAX_SLOTS)]},
    {
        **_DO,
        "rate": Annotated[float, Range(0.001, 100_000.0, "tasks a second")],
        "in_flight": Annotated[int, Range(1, 100_000)],
        "timeout": Annotated[float, Range(0.001, 3600.0, "seconds")],
        "bytes": Annotated[int, Range(1, MAX_FRAME // 2, "bytes")],
    },
    ("rate", "in_flight", "timeout", "bytes", "expect"),
    lambda head: Crew(head.get("workers", 10), head.get("slots", 10)),
    lambda text: None,
    lambda text: words_of(text, ORDERS),
    spec_of,
)


# ---- disk queues --------------------------------------------------------------------------------------------------


def _stages(head: Mapping[str, Any]) -> Crew:
    try:
        stages = check_stages(map(parse_stage, head["stages"])) if "stages" in head else STAGES
    except ValueError as error:
        raise Refused(str(error)) from None
    return Crew(sum(stage.workers for stage in stages), 1, stages)


def _feed(text: str, given: Mapping[str, Any]) -> Feed:
    return Feed(words_of(text, QUEUE_RUNS, FED)[1], given.get("rate"))


_QUEUES = Terms(
    {"stages": tuple[str, ...]},
    {**_DO, "rate": Annotated[float, Range(0.001, 1000.0, "documents a second")]},
    ("rate", "expect"),
    _stages,
    queuefaults.read,
    queue_order,
    _feed,
)
