"""What happened to each task of a run, as its clients and workers saw it, and what of that must not be.

The rules of this file:

- An invocation ends as ok, fail or unknown (nothing was heard in time), as in Jepsen; each event has a monotonic time,
  which all processes of a machine share.
- At least once: who was told ok had its task executed before. A worker that was stopped may execute what has ended
  meanwhile; any other worker may not begin it.
- A task ends once, and nobody hears of tasks that nobody asked for.
"""

from __future__ import annotations

import json
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from engine.core import Outcome
from engine.parts.bulk import Bulk
from engine.parts.store import GLOBAL, KEPT

Kind = Literal["invoke", "ok", "fail", "unknown", "exec", "stopped"]
RECORD = struct.Struct(f"d{GLOBAL}s")  # what a worker writes of each execution
GRACE = 15.0  # seconds that a worker on a busy machine may take until it executes what it was given


class Event(NamedTuple):
    """``who``: the client or the worker; ``said``: what it was told; of ``stopped`` until when, in seconds."""

    at: float
    kind: Kind
    who: str
    task: bytes = b""
    said: str = ""


class Judgement(NamedTuple):
    """How many tasks, how many executions more than one a task, and in words all that must not be."""

    tasks: int
    ends: tuple[tuple[str, int], ...]
    again: int
    wrong: tuple[str, ...]


def judge(events: Iterable[Event], kept: dict[bytes, str] | None = None) -> Judgement:
    """``kept``: of each task that a store knows at the end, why it failed; empty where it did not."""
    invoked: dict[bytes, Event] = {}
    ended: dict[bytes, Event] = {}
    executed: defaultdict[bytes, list[Event]] = defaultdict(list)
    stopped: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    wrong: list[str] = []
    for event in sorted(events, key=lambda event: event.at):
        task = event.task.hex()
        match event.kind:
            case "stopped":
                stopped[event.who].append((event.at, float(event.said)))
            case "exec":
                executed[event.task].append(event)
            case "invoke":
                if event.task in invoked:
                    wrong.append(f"{task} was asked for twice")
                invoked.setdefault(event.task, event)
            case _:
                before = ended.setdefault(event.task, event)
                if event.task not in invoked:
                    wrong.append(f"{task} ended and nobody had asked for it")
                if before is not event:
                    wrong.append(f"{task} ended twice: {before.kind} {before.said}, {event.kind} {event.said}")
    for ident, event in invoked.items():
        wrong += _wrong_of(ident, event, ended.get(ident), executed.get(ident, []), stopped)
        if kept is not None:
            wrong += _unlike(ident, ended.get(ident), kept.get(ident))
    wrong += [f"{ident.hex()} was executed and nobody had asked for it" for ident in executed if ident not in invoked]
    if kept is not None:
        wrong += [f"{ident.hex()} has a result and nobody had asked for it" for ident in kept if ident not in invoked]
    ends = Counter(event.kind for event in ended.values())
    again = sum(len(times) - 1 for times in executed.values())
    return Judgement(len(invoked), tuple(sorted(ends.items())), again, tuple(wrong))


def _wrong_of(
    ident: bytes,
    asked: Event,
    end: Event | None,
    executed: list[Event],
    stopped: dict[str, list[tuple[float, float]]],
) -> Iterable[str]:
    task = ident.hex()
    if end is None:
        yield f"{task} was asked for and never ended"
        return
    if end.kind == "ok" and not any(event.at <= end.at for event in executed):
        yield f"{task} is ok and was not executed before"
    for event in executed:
        if event.at < asked.at:
            yield f"{task} was executed before it was asked for"
        held = any(
            since <= event.at <= until + GRACE and since <= end.at + GRACE for since, until in stopped[event.who]
        )
        if end.kind == "ok" and event.at > end.at + GRACE and not held:
            yield f"{task} was executed by {event.who} {event.at - end.at:.3f} s after it had ended"


def _unlike(ident: bytes, end: Event | None, kept: str | None) -> Iterable[str]:
    """Where a client and the store disagree."""
    if end is None or end.kind == "unknown":
        return
    if kept is None and end.kind == "ok":
        yield f"{ident.hex()} is ok and has no result"
    elif kept is not None and (kept == "") != (end.kind == "ok"):
        yield f"{ident.hex()} is {end.kind} and its result is {kept or 'ok'}"


# ---- how it is written -----------------------------------------------------------------------------------------------


class Recorder:
    """Notes what the bulk runs of this process do, each task under its global id. A context manager."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Recorder:
        self._wrap("due", lambda bulk, task, _: None if task is None else ("invoke", task, ""))
        self._wrap("replied", lambda bulk, done, asked: ("ok", asked[0], "") if done else None)
        self._wrap("failed", lambda bulk, done, asked: (_failure(asked[1]), asked[0], asked[1]) if done else None)
        return self

    def __exit__(self, *_: object) -> None:
        for undo in self._undo:
            undo()

    def _wrap(self, name: str, told: Callable[[Bulk, Any, tuple[Any, ...]], tuple[Kind, int, str] | None]) -> None:
        before = getattr(Bulk, name)

        def noted(bulk: Bulk, *asked: Any) -> Any:
            answer = before(bulk, *asked)
            if bulk.spec.tag and (found := told(bulk, answer, asked)) is not None:
                kind, task, said = found
                ident = bulk.spec.tag + task.to_bytes(GLOBAL - len(bulk.spec.tag), "big")
                self.events.append(Event(time.monotonic(), kind, bulk.spec.tag.hex(), ident, said))
            return answer

        setattr(Bulk, name, noted)
        self._undo.append(lambda: setattr(Bulk, name, before))


def _failure(why: str) -> Kind:
    return "unknown" if why in ("timeout", "unsent") else "fail"


def outcomes(result: Callable[[bytes], Outcome | str | None], events: Iterable[Event]) -> dict[bytes, str]:
    """What a store knows at the end of the tasks that were asked for, as ``judge`` takes it; ``result``: its method."""
    kept = {event.task: result(event.task) for event in events if event.kind == "invoke"}
    return {task: KEPT if isinstance(one, str) else one.why for task, one in kept.items() if one is not None}


def execution(ident: bytes) -> bytes:
    """What a worker writes when it executes a task with such an id."""
    return RECORD.pack(time.monotonic(), ident)


def executions(path: Path) -> list[Event]:
    """What a worker wrote, which may have been killed while it did."""
    content = path.read_bytes()
    content = content[: len(content) // RECORD.size * RECORD.size]
    return [Event(at, "exec", path.name, ident) for at, ident in RECORD.iter_unpack(content)]


def save(path: Path, events: Iterable[Event]) -> None:
    """As lines of JSON."""
    with path.open("w", encoding="utf-8") as file:
        for event in sorted(events, key=lambda event: event.at):
            file.write(json.dumps(event._replace(task=event.task.hex())._asdict()) + "\n")  # type: ignore[arg-type]


def load(path: Path) -> list[Event]:
    """What ``save`` wrote."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [Event(**{**line, "task": bytes.fromhex(line["task"])}) for line in lines]
