"""Explains from a replay why a broker gave a task to a worker: it needs the table as it was before that event.

An event may hold many messages, and each changes the table. So a copy of the broker is told the messages one by one, up
to the one with which the task was given.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple

from engine.core import Core, Event, Received, Send
from engine.journal.codec import kept
from engine.journal.format import EVENT, SEAT
from engine.labs.replay import Replay
from engine.parts.explain import Candidate, Candidates, Decoded, Explain, plain, show, task_name
from engine.parts.inflight import TaskKey
from engine.parts.plain import several

SHOWN = 8  # workers that are listed, and tasks that are explained


class Choice(NamedTuple):
    """One task that was given: to whom, with which message, and who could have been given it just before."""

    task: TaskKey | None
    worker: bytes
    command: str
    cause: str
    candidates: Candidates


def why(replay: Replay, record: int, task: TaskKey | None = None) -> str:
    """Why the tasks that were given at this record (or one of them) went where they went. The position stays."""
    found = [choice for choice in choices(replay, record) if task is None or choice.task == task]
    if not found:
        return "no task was given here"
    more = f"\n\nand {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "\n\n".join(map(words, found[:SHOWN])) + more


def choices(replay: Replay, record: int) -> list[Choice]:
    """Every task that a broker gave at this record."""
    seat = _broker(replay, record)
    if seat is None:
        return []
    position, event, at = replay.position, replay.records[record][3], replay.records[record][1]
    replay.seek(record)
    core = copy.deepcopy(replay.core(*seat))
    replay.seek(position)
    if core is None:
        return []
    explain, found = replay.system.explain, list[Choice]()
    events = list(_one_by_one(event))
    given = list(_given(copy.deepcopy(core), explain, events, at))
    for one, messages in zip(events, given, strict=True):
        found += [
            Choice(task, message.peer or b"", message.command, _cause(explain, one), explain.candidates(core, message))
            for task, message in messages
        ]
        core.handle(kept(one), at)
    return found


def words(choice: Choice) -> str:
    """One choice for people."""
    order = choice.candidates.order
    place = next((at for at, standing in enumerate(order) if standing.key == choice.worker), None)
    name = plain(order[place].name) if place is not None else show(choice.worker)
    what = "a task" if choice.task is None else f"task {task_name(choice.task[1])} of {show(choice.task[0])}"
    lines = [f"{name} was given {what} ({choice.command}), when this came: {choice.cause}."]
    if place is None:
        waited = f", and {several(choice.candidates.waiting, 'task')} waited" if choice.candidates.waiting else ""
        lines.append(f"It could take none before{waited}; now it could.")
    elif place:
        lines.append(
            f"Of those that could take it, it was number {place + 1}; the ones before it were given tasks first."
        )
    else:
        lines.append("Of those that could take it, it was the one used least recently.")
    lines += [_standing(standing) for standing in order[:SHOWN]]
    if len(order) > SHOWN:
        lines.append(f"  and {len(order) - SHOWN} more")
    return "\n".join([*lines, choice.candidates.rule])


def _standing(standing: Candidate) -> str:
    return f"  {plain(standing.name)}: {standing.free} of {standing.slots} free"


def _broker(replay: Replay, record: int) -> tuple[str, str] | None:
    """Where the broker sits that was given this record; None for any other record."""
    if not 0 <= record < len(replay.records) or replay.records[record][0] != EVENT:
        return None
    number = replay.records[record][2]
    for kind, _, other, *rest in replay.records[:record]:
        if kind == SEAT and other == number:
            node, name, role = rest[:3]
            return (node, name) if role == "broker" else None
    return None


def _one_by_one(event: Event) -> Iterator[Event]:
    if isinstance(event, Received):
        for frames in event.messages:
            yield Received([frames], event.socket)
    else:
        yield event


def _given(
    core: Core, explain: Explain, events: list[Event], at: float
) -> Iterator[list[tuple[TaskKey | None, Decoded]]]:
    """The ``give`` messages of each event."""
    for event in events:
        found: list[tuple[TaskKey | None, Decoded]] = []
        for command in core.handle(kept(event), at):
            if type(command) is not Send:
                continue
            whose = explain.whose(core, command) if explain.whose is not None else None
            for message in explain.decode("broker", "out", command.frames, command.socket):
                if message.leg == "give":
                    key = (message.client, message.task) if message.task else None
                    found.append((whose or key, message))
        yield found


def _cause(explain: Explain, event: Event) -> str:
    if not isinstance(event, Received):
        return type(event).__name__.lower()
    message = explain.decode("broker", "in", event.messages[0], event.socket)[0]
    sender = f" from {show(message.peer)}" if message.peer else ""
    task = f" {task_name(message.task)}" if message.task else ""
    return f"{message.command}{task}{sender}"
