"""Explains from a recording why a driver took a document: it holds what the driver had listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.labs.replay import Step
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.explain import queue_of
from engine.protocols.diskqueue.operations import Done, List, Take
from engine.protocols.diskqueue.transitions import agenda

SHOWN = 8  # documents that are listed
BACK = 20_000  # records that are looked through for the listing
Steps = Callable[[int], Step | None]
"""What was done at a record; None where it is no event."""

RULE = "ruling 2: ready before failed, oldest first by time of content, then by name"


def last_taken(step_at: Steps, position: int) -> int | None:
    """The record at which a document was taken last before a position; None where none was lately."""
    records = range(position - 1, max(-1, position - BACK), -1)
    return next((record for record in records if _taken(step_at(record)) is not None), None)


def why(step_at: Steps, record: int) -> str:
    """Why the document that was taken at this record was."""
    step = step_at(record)
    take = _taken(step)
    if step is None or take is None:
        return "no document was taken here"
    tried: dict[str, str] = {}  # name → what became of it, since the listing
    for before in range(record - 1, max(-1, record - BACK), -1):
        earlier = step_at(before)
        event: Any = earlier.event if earlier is not None and earlier.name == step.name else None
        if type(event) is not Done:
            continue
        if isinstance(event.operation, Take):
            tried[event.operation.name] = "another driver was quicker" if event.error else "taken by this one before"
        elif isinstance(event.operation, List) and event.operation.folder == take.folder and not event.error:
            assert earlier is not None
            return _words(step.name, take, event, step.at - earlier.at, tried)
    return f"{step.name} took {take.name}, out of a listing that is no part of the recording.\n{RULE}"


def _words(seat: str, take: Take, listing: Done, seconds: float, tried: dict[str, str]) -> str:
    items = agenda(listing.entries).takeable
    order = [names.ready(item.id) if item.state == "ready" else names.failed(item.id) for item in items]
    lines = [f"{seat} took {take.name} out of {queue_of(take.folder)}, which it had listed {seconds:.3f} s before."]
    place = order.index(take.name) if take.name in order else None
    if place is None:
        lines.append("It was not in that listing.")
    elif place == 0:
        lines.append(f"Of {len(order)} that could be taken it was the first.")
    else:
        lines.append(f"Of {len(order)} that could be taken it was number {place + 1}; those before it came first.")
    first = max(0, (place or 0) - SHOWN // 2)
    for name in order[first : first + SHOWN]:
        fate = f": {tried[name]}" if name in tried and name != take.name else ""
        lines.append(f"  {'▸' if name == take.name else ' '} {name}{fate}")
    more = len(order) - first - SHOWN
    return "\n".join([*lines, *([f"    and {more} more"] if more > 0 else []), RULE])


def _taken(step: Step | None) -> Take | None:
    event: Any = step.event if step is not None else None
    took = type(event) is Done and isinstance(event.operation, Take) and not event.error
    return event.operation if took else None
