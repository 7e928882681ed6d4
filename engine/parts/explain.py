"""What a system's ``explain.py`` says about its own protocol: messages in words, state maps, who is next and why.

Nothing here runs unless somebody looks. Every function is total: an unreadable message is explained as unreadable.
Texts are for people; what a peer sent is made printable by ``plain``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple
from unicodedata import combining, east_asian_width

from engine.core import Core, Frames, Send
from engine.parts.inflight import TaskKey
from engine.parts.view import BrokerView, ClientView, WorkerView

Role = Literal["broker", "worker", "client"]

Direction = Literal["in", "out", "refused", "note"]
"""refused: sent, and handed back by the socket · note: no message, but a fact that a core told its operator."""

Leg = Literal["", "request", "give", "answer", "reply", "denial", "move"]
"""Which part of a task's way a message is: client → broker, broker → worker, worker → broker, broker → client; a denial
is a reply that says that there will be none. A move is a document's, from one name to the next."""

DOCUMENT = b""
"""Stands for the client in the key of a document: documents have names and no client."""

UNKNOWN = "?"
"""The command shown for a message that is none of its protocol."""

SHOWN = 96  # characters of a value that are shown


class Decoded(NamedTuple):
    """One message in words.

    ``task`` is the id that its client gave it, ``client`` that client's routing id. Where a message does not say the
    client, it is the peer at the other end, or whoever speaks here. Where it does not say the task, ``alias`` may: a
    name that broker and worker have for it; empty: the one task that this worker holds.
    """

    command: str
    fields: tuple[tuple[str, str], ...] = ()
    peer: bytes | None = None  # the routing id in front: of the sender or the receiver; None on a DEALER
    task: bytes = b""
    client: bytes = b""
    alias: bytes = b""
    leg: Leg = ""
    rule: str = ""  # of the seed, by number and in short; or of our README
    violation: str = ""  # why it is no message


class Edge(NamedTuple):
    """One row of a state machine: state, event, action and next state."""

    state: str
    event: str
    action: str
    next: str
    rule: str


class StateMap(NamedTuple):
    """The state machine of one role, or of a broker's record of a worker.

    ``current(picture)``: how many stand in which state, out of what ``Core.snapshot`` gave. ``visits(picture)``: how
    often each state was entered, where the core counts that; else empty. ``walked(picture)``: how often each edge was
    walked, by its state and event, without those that never were; None where they are not counted.
    ``counted(picture)``: whether this picture has the counts. ``uncounted``: edges that each task walks, that change
    nothing, and that no other total shows.
    """

    role: Role | Literal["item"]
    title: str
    states: tuple[str, ...]
    edges: tuple[Edge, ...]
    current: Callable[[Any], Mapping[str, int]]
    visits: Callable[[Any], Mapping[str, int]] = lambda picture: {}
    walked: Callable[[Any], Mapping[tuple[str, str], int]] | None = None
    uncounted: frozenset[tuple[str, str]] = frozenset()
    counted: Callable[[Any], bool] = lambda picture: True


class Candidate(NamedTuple):
    """One worker that could be given a task."""

    key: bytes
    name: str
    free: int
    slots: int


class Candidates(NamedTuple):
    """The workers that could be given a task, the next one first, and what waits."""

    order: tuple[Candidate, ...]
    waiting: int
    rule: str


class Finding(NamedTuple):
    """One kind of violation. ``peer`` and ``at`` are None where a broker counts it for all its peers together."""

    peer: bytes | None
    name: str
    reason: str
    rule: str
    times: int
    at: float | None  # monotonic seconds, the last time


class Explain(NamedTuple):
    """Everything that a system explains; each ``explain.py`` holds one, under the name ``EXPLAIN``.

    ``rules``: the reasons of violations → the rule that was broken. ``counted``: names of a picture's counters that
    are about peers out of step → the rule. ``whose(core, send)``: the task that a broker's message carries, read from
    the core that has just sent it; None where the message tells it. ``candidates(core, message)``: the workers that
    could have been given the task of this ``give`` message.
    """

    decode: Callable[[Role, Direction, Frames, str], list[Decoded]]
    state_maps: Callable[[], tuple[StateMap, ...]]
    rules: Mapping[str, str]
    counted: Mapping[str, str]
    candidates: Callable[[Any, Decoded], Candidates]
    whose: Callable[[Core, Send], TaskKey | None] | None = None


def walked(picture: BrokerView | WorkerView | ClientView) -> Counter[tuple[str, str]]:
    """The counts of a core's edges."""
    return Counter(dict(picture.walked))


def unknown(reason: str, peer: bytes | None = None, size: int = 0) -> Decoded:
    """An unreadable message."""
    return Decoded(UNKNOWN, (("bytes", str(size)),), peer, violation=reason)


def to_broker(role: Role, direction: Direction) -> bool:
    """Whether a message seen at this end goes to the broker."""
    return (role == "broker") == (direction == "in")


def plain(text: str, most: int = SHOWN) -> str:
    """Make text printable: each character takes one column and has no other effect."""
    found = "".join(
        c if c.isprintable() and not combining(c) and east_asian_width(c) not in "WF" else "?" for c in text[: most + 1]
    )
    return found if len(found) <= most else f"{found[: most - 1]}…"


def show(value: bytes, most: int = SHOWN) -> str:
    """Bytes for people: as text where they are printable ASCII, else in hexadecimal digits."""
    if value and value.isascii() and (text := value.decode("ascii")).isprintable():
        return plain(text, most)
    return plain(value[: most // 2 + 1].hex(), most)


def task_name(task: bytes) -> str:
    """A task's id for people: our clients' are little-endian counters of 4 or 8 bytes."""
    return str(int.from_bytes(task, "little")) if len(task) in (4, 8) else show(task)


def key_name(task: TaskKey) -> str:
    """The same by its whole key: a document's id is text, of whatever length."""
    client, ident = task
    return plain(ident.decode("utf-8", "replace")) if client == DOCUMENT else task_name(ident)


def rule_of(explain: Explain, reason: str) -> str:
    """The rule that a violation broke: by its whole reason, else by the longest beginning that is known."""
    known = [start for start in explain.rules if reason.startswith(start)]
    return explain.rules[max(known, key=len)] if known else ""


def conformance(explain: Explain, picture: BrokerView) -> tuple[Finding, ...]:
    """Which peer broke which rule, how often, newest last; then what a broker counts for all peers together."""
    names = {row.key: row.name for row in picture.workers}
    rows = [
        Finding(
            incident.peer,
            plain(names.get(incident.peer) or show(incident.peer)),
            incident.reason,
            rule_of(explain, incident.reason),
            incident.times,
            incident.at,
        )
        for incident in picture.incidents
    ]
    rows += [
        Finding(None, "all peers", name, explain.counted[name], times, None)
        for name, times in picture.counters
        if times and name in explain.counted
    ]
    return tuple(rows)
