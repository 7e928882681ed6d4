"""What the trace shows: entries, one end of a message each; arrows between two ends; the life of one task.

The rules of this file:

- Links keep order: what is received is the oldest send of the same frames on its link; sends that it overtakes are
  lost. A message that says several things is one message with one arrow for each.
- A worker's word for a task (``alias``) means the task that it was given last under that word.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Literal, NamedTuple

from engine.core import Frames
from engine.parts.explain import Decoded, Direction, Role
from engine.parts.inflight import TaskKey

State = Literal["arrived", "under way", "lost", "refused", "heard", "note"]
"""arrived: both ends saw it · under way: sent, and not heard of since · lost: overtaken on its link · refused: the
socket did not take it · heard: only who received it is traced · note: no message."""


class Entry(NamedTuple):
    """One message as one end saw it; a message that says several things gives several, with the same ``number``.

    ``link`` is the routing id that tells the link apart: of whoever is not the broker. ``record`` is the record of the
    journal that is replayed, None while nothing is replayed.
    """

    number: int
    part: int
    at: float
    node: str
    seat: str
    role: Role
    direction: Direction
    source: str
    target: str
    command: str
    fields: tuple[tuple[str, str], ...]
    size: int  # bytes
    rule: str
    violation: str
    task: TaskKey | None
    decoded: Decoded
    frames: Frames
    socket: str
    link: bytes
    record: int | None

    @property
    def line(self) -> str:
        """Everything that free text is looked for in."""
        fields = " ".join(f"{name}={value}" for name, value in self.fields)
        return f"{self.source} {self.target} {self.command} {fields} {self.rule} {self.violation}"


class Arrow(NamedTuple):
    """One message, or one part of one, on its way. At least one end is known."""

    sent: Entry | None
    received: Entry | None
    state: State

    @property
    def ends(self) -> tuple[Entry, ...]:
        """The ends that are known, the sender's first."""
        return tuple(end for end in (self.sent, self.received) if end is not None)

    @property
    def entry(self) -> Entry:
        """The end that knows more: who received it."""
        return self.ends[-1]

    @property
    def source(self) -> str:
        """Who sent it."""
        return self.ends[0].source

    @property
    def target(self) -> str:
        """Who received it, or should have."""
        return self.ends[-1].target

    @property
    def at(self) -> float:
        """When it was sent, else when it was received."""
        return self.ends[0].at

    @property
    def transit(self) -> float | None:
        """Seconds under way, where both ends are known."""
        return self.received.at - self.sent.at if self.sent is not None and self.received is not None else None

    @property
    def task(self) -> TaskKey | None:
        """The task that it is about."""
        return next((end.task for end in self.ends if end.task is not None), None)


class Leg(NamedTuple):
    """One moment of a task's life."""

    what: str
    at: float
    after: float  # seconds since the leg before; 0.0 for the first
    where: str  # the seat that saw it
    entry: Entry


class Life(NamedTuple):
    """A task from its client and back, as far as it was traced. ``deliveries``: times that it was given.

    ``ended``: its client has heard of it, or the broker has said the last word.
    """

    task: TaskKey
    legs: tuple[Leg, ...]
    deliveries: int
    ended: bool = False

    @property
    def seconds(self) -> float:
        """From the first leg to the last."""
        return self.legs[-1].at - self.legs[0].at if self.legs else 0.0


class _Way:
    """Parts of one message that was sent and not yet heard of."""

    def __init__(self, parts: list[Entry]) -> None:
        self.parts = parts
        self.frames = _without_peer(parts[0])


class _Matcher:
    def __init__(self) -> None:
        self.found: list[Arrow] = []
        self.under_way: dict[tuple[bytes, bool], deque[_Way]] = defaultdict(deque)
        self.tasks: dict[tuple[bytes, bytes], TaskKey] = {}  # (worker, alias) → the task given last

    def message(self, parts: list[Entry]) -> None:
        """All entries of one message, at one end."""
        first = parts[0]
        if first.direction == "note":
            self.found.append(Arrow(first, None, "note"))
            return
        link = (first.link, (first.decoded.peer is not None) == (first.direction == "in"))  # True: to the ROUTER
        if first.direction == "out":
            self.under_way[link].append(_Way([self._told(part, None) for part in parts]))
        elif first.direction == "in":
            self._received(parts, link)
        else:
            self._refused(parts, link)

    def _received(self, parts: list[Entry], link: tuple[bytes, bool]) -> None:
        waiting, frames = self.under_way[link], _without_peer(parts[0])
        if not any(way.frames == frames for way in waiting):
            self.found += [Arrow(None, self._told(part, None), "heard") for part in parts]
            return
        while (way := waiting.popleft()).frames != frames:
            self.found += [Arrow(part, None, "lost") for part in way.parts]
        for sent, part in zip(way.parts, parts, strict=False):
            received = self._told(part, sent.task)
            if sent.task is None and received.task is not None:
                sent = sent._replace(task=received.task)
            self.found.append(Arrow(sent, received, "arrived"))

    def _refused(self, parts: list[Entry], link: tuple[bytes, bool]) -> None:
        waiting, frames = self.under_way[link], _without_peer(parts[0])
        way = next((way for way in reversed(waiting) if way.frames == frames), None)
        if way is not None:
            waiting.remove(way)
        sent = way.parts if way is not None else [self._told(part, None) for part in parts]
        self.found += [Arrow(part, None, "refused") for part in sent]

    def _told(self, entry: Entry, task: TaskKey | None) -> Entry:
        """The entry with its task: what it says itself, what the other end knows, what its worker was given."""
        decoded = entry.decoded
        task = entry.task or task
        if decoded.leg in ("give", "answer"):
            word = (entry.link, decoded.alias)
            if decoded.leg == "give" and task is not None:
                self.tasks[word] = task
            task = task or self.tasks.get(word)
        return entry if task == entry.task else entry._replace(task=task)

    def end(self) -> list[Arrow]:
        """Every arrow, in the order in which they began."""
        for waiting in self.under_way.values():
            self.found += [Arrow(part, None, "under way") for way in waiting for part in way.parts]
        return sorted(self.found, key=lambda arrow: (arrow.ends[0].number, arrow.ends[0].part))


def _without_peer(entry: Entry) -> Frames:
    return entry.frames if entry.decoded.peer is None else entry.frames[1:]


def arrows(entries: Iterable[Entry]) -> list[Arrow]:
    """Arrows out of entries in the order of their numbers, in the order in which they began."""
    matcher, parts = _Matcher(), list[Entry]()
    for entry in entries:
        if parts and parts[0].number != entry.number:
            matcher.message(parts)
            parts = []
        parts.append(entry)
    if parts:
        matcher.message(parts)
    return matcher.end()


_WORDS = {
    ("request", "out"): "sent",
    ("request", "in"): "accepted",
    ("give", "out"): "given",
    ("give", "in"): "taken",
    ("answer", "out"): "answered",
    ("answer", "in"): "returned",
    ("reply", "out"): "relayed",
    ("reply", "in"): "received",
    ("denial", "out"): "denied",
    ("denial", "in"): "told no",
}


def life(task: TaskKey, found: Iterable[Arrow]) -> Life:
    """The legs of one task among arrows, in the order in which they were seen.

    ``accepted`` is called ``queued`` where the task was not given at once; from the second time on, ``given`` is
    ``given again``.
    """
    ends = [(end, arrow.state) for arrow in found if arrow.task == task for end in arrow.ends if end.decoded.leg]
    ends.sort(key=lambda pair: (pair[0].number, pair[0].part))
    given = next((end for end, _ in ends if end.decoded.leg == "give" and end.direction == "out"), None)
    legs: list[Leg] = []
    deliveries = 0
    for end, state in ends:
        words = [_WORDS[(end.decoded.leg, "in" if end.direction == "in" else "out")]]
        if words == ["accepted"] and (given is None or given.at > end.at):
            words = ["queued"]
        elif words == ["given"]:
            deliveries += 1
            words = ["given again" if deliveries > 1 else "given"]
        if state == "refused":
            words.append("refused by the socket")
        for what in words:
            legs.append(Leg(what, end.at, end.at - legs[-1].at if legs else 0.0, end.seat, end))
    ended = any(leg.entry.decoded.leg in ("reply", "denial") for leg in legs)
    return Life(task, tuple(legs), deliveries, ended)
