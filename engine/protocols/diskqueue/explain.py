"""Disk queues in words. What other systems say in messages is said here by one operation on one name.

A driver's operations are the whole of its protocol: what they mean follows from the names alone (``names.py``).
"""

from __future__ import annotations

from collections import Counter

from engine.parts.explain import Decoded, Edge, StateMap, plain
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import (
    Append,
    Exists,
    List,
    Log,
    Operation,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
    WriteOut,
)
from engine.protocols.diskqueue.pipeline import PipelineView

_LOCK = "003 locking: atomic file renaming"
_DISCARD = "003 tried once more, then discarded"
_RULES = {
    "ready": "003 <docid>.ready",
    "working": "003 <docid>.<N>.working",
    "writing": "003 <docid>.<N>.writing.xml",
    "failed": "003 <docid>.failed",
    "failed_twice": _DISCARD,
    "kept": "ruling 3: the input of a document that was given up",
}

# (from, to) of a renaming → what it does to the document.
_MOVES: dict[tuple[str, str], tuple[str, str]] = {
    ("ready", "working"): ("lock", _LOCK),
    ("failed", "working"): ("lock again", _LOCK),
    ("writing", "ready"): ("publish", "003 <docid>.writing.xml becomes <docid>.ready"),
    ("working", "failed"): ("fail", "003 <docid>.failed: retried once more"),
    ("working", "kept"): ("give up", _RULES["kept"]),
    ("working", "ready"): ("give back", "ruling 7: nothing was wrong with it"),
    ("kept", "ready"): ("retry", "ours: an operator gives two fresh attempts"),
}


def explain(operation: Operation, error: str = "") -> Decoded:
    """One operation, and the error of its answer if it had one. ``task`` is the document's id."""
    command, rule, id = _what(operation)
    fields = [(name, plain(value)) for name, value in operation._asdict().items() if value]
    if error:
        fields.append(("answer", plain(error)))
    return Decoded(command, tuple(fields), task=id.encode("utf-8", "surrogateescape"), rule=rule)


def _what(operation: Operation) -> tuple[str, str, str]:
    """Command, rule, document."""
    match operation:
        case Take(_, old, new) | Rename(_, old, new):
            before, id = _state(old)
            command, rule = _MOVES.get((before, _state(new)[0]), ("rename", ""))
            return command, rule, id
        case Touch(_, name) if name == names.DONE:
            return "say done", "003 done: nothing more will come", ""
        case Touch(_, name):
            state, id = _state(name)
            return ("give up" if state == "failed_twice" else "touch"), _RULES.get(state, ""), id
        case Remove(_, name):
            state, id = _state(name)
            words = {"working": "let go of the input", "attempts": "forget the attempts", "publishing": "published"}
            return words.get(state, "remove"), _RULES.get(state, _ours(state)), id
        case Append(_, name):
            state, id = _state(name)
            words = {"attempts": "record an attempt", "publishing": "promise to publish"}
            return words.get(state, "append"), _ours(state), id
        case Sync(_, name):
            state, id = _state(name)
            return "put on the disk", _RULES.get(state, ""), id
        case Exists(_, name) | Read(_, name):
            state, id = _state(name)
            return "look", _RULES.get(state, _ours(state)), id
        case List():
            return "look for documents", "003 each queue is a directory", ""
        case WriteOut() | Log():
            return "tell", "ours: timers and logs", ""


def _state(name: str) -> tuple[str, str]:
    """What a name says: an item's state, or one of ours, and the document's id."""
    item = names.parse(name)
    if isinstance(item, names.Item):
        return item.state, item.id
    if (id := names.record_of(name)) is not None:
        return "attempts", id
    if name.startswith(".") and name.endswith(".publishing"):
        return "publishing", name[1 : -len(".publishing")].rpartition(".")[0]
    return "", ""


def _ours(state: str) -> str:
    return {
        "attempts": "ruling 1: failures are written down first",
        "publishing": "ours: from here on it counts as published",
    }.get(state, "")


# ---- the state map -----------------------------------------------------------------------------------------------

_EDGES = (
    Edge("ready", "a driver takes it", "rename", "working", _LOCK),
    Edge("failed", "a driver takes it again", "rename", "working", _LOCK),
    Edge("working", "processed", "sync, rename the output, remove the input", "published", _RULES["writing"]),
    Edge("working", "the first attempt fails", "record, rename", "failed", _RULES["failed"]),
    Edge("working", "the second attempt fails", "record, mark, remove", "failed_twice", _DISCARD),
    Edge("working", "the second attempt fails, kept", "record, mark, rename", "kept", _RULES["kept"]),
    Edge("working", "given back, first attempt", "rename", "ready", "ruling 7: nothing was wrong with it"),
    Edge("working", "given back, second attempt", "rename", "failed", "ruling 7: nothing was wrong with it"),
    Edge("working", "the driver dies", "whoever recovers records, renames", "failed", "003 a QueueDriver crashed"),
    Edge("working", "the driver dies twice", "whoever recovers marks it", "failed_twice", _DISCARD),
    Edge("working", "the driver dies while it publishes", "whoever recovers goes on", "published", _ours("publishing")),
    Edge("kept", "an operator retries", "rename", "ready", "ours: an operator gives two fresh attempts"),
)


def state_maps() -> tuple[StateMap, ...]:
    """A document's life in one queue; what is published is ready in the next."""
    states = ("ready", "working", "failed", "failed_twice", "kept", "published")
    return (StateMap("item", "A document", states, _EDGES, _documents),)


def _documents(picture: PipelineView) -> Counter[str]:
    """All queues together."""
    found: Counter[str] = Counter()
    for queue in picture.queues:
        for state in ("ready", "working", "failed", "failed_twice"):
            found[state] += getattr(queue.counts, state)
    return +found
