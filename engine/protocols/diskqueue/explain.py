"""Disk queues in words. What other systems say in messages is said here by one operation on one name.

A driver's operations are the whole of its protocol: what they mean follows from the names alone (``names.py``), and
from whose number stands in them. Rules are README.md's, by their numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

from engine.core import Note
from engine.parts.explain import DOCUMENT, Decoded, Role, StateMap, plain
from engine.parts.machine import Machine
from engine.parts.view import Walked
from engine.protocols.diskqueue import names, watchdog
from engine.protocols.diskqueue.machine import DRIVER, ITEM, SEEN, STAGE, Does, Item, Rule, Seen
from engine.protocols.diskqueue.operations import (
    TROUBLE,
    Append,
    Disown,
    Done,
    Exists,
    Inherit,
    List,
    Log,
    Operation,
    Process,
    Processed,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
    WriteOut,
)
from engine.protocols.diskqueue.pipeline import PipelineView, Walks

# (from, to) of a renaming → what it does to the document.
_MOVES: dict[tuple[str, str], tuple[str, str]] = {
    ("", "ready"): ("FEED", Rule.FEED),
    ("ready", "working"): ("TAKE", Rule.TAKE),
    ("failed", "working"): ("TAKE AGAIN", Rule.AGAIN),
    ("writing", "ready"): ("PUBLISH", Rule.PUBLISH),
    ("working", "failed"): ("FAIL", Rule.FAIL),
    ("working", "kept"): ("KEEP", Rule.KEPT),
    ("working", "ready"): ("GIVE BACK", Rule.BACK),
    ("kept", "ready"): ("RETRY", Rule.RETRY),
}
_REMOVED: dict[str, tuple[str, str]] = {
    "": ("CLEAR", Rule.PUBLISH),
    "ready": ("CLEAR", Rule.PUBLISH),
    "working": ("DELETE", Rule.PUBLISH),
    "writing": ("DROP", Rule.FAIL),
    "attempts": ("FORGET", Rule.RECORD),
    "publishing": ("FORGET", Rule.COUNTS),
    "failed_twice": ("REPLACE", Rule.KEPT),
    "kept": ("REPLACE", Rule.KEPT),
}

MOVES = frozenset(
    {"FEED", "TAKE", "TAKE AGAIN", "WRITE", "PUBLISH", "DELETE", "FAIL", "RECOVER", "GIVE UP", "KEEP", "GIVE BACK"}
    | {"RETRY"}
)
"""What changes a document's name, or makes its next one."""

COMES = frozenset({"TAKE", "TAKE AGAIN", "INHERIT", "LIST", "THROTTLE", "CHECK", "READ", "LEAVE", "ENDED"})
"""What goes from ``Decoded.peer`` to whoever asked for it; everything else goes the other way."""


def queue_of(path: str) -> str:
    """The queue that a folder is, or that a file lies in."""
    return path.rpartition("/")[2].removeprefix("queue-")


def seat_of(stage: str, number: str) -> str:
    """What a driver is called: its stage, which is the queue that it publishes into, and its number."""
    return f"{stage}.{number}"


def stage_of(seat: str) -> str:
    """The stage of a driver, "" for whoever is none."""
    return seat.rpartition(".")[0]


def number_of(seat: str) -> str:
    """The number of a driver, "" for whoever is none."""
    stage, _, number = seat.rpartition(".")
    return number if stage and names.number(number) else ""


def explain(
    operation: Operation | Process,
    answer: Done | Processed | None = None,
    number: str = "",
    stage: str = "",
    back: bool = False,
) -> Decoded:
    """One operation, as it was asked for or with its answer; ``peer`` is the queue, ``task`` the document's id.

    ``number``: of the driver that asked, "" for somebody else. ``stage``: the queue that it publishes into. ``back``:
    it has put on record that it gives its document back, which names alone do not say of a second attempt.
    """
    command, rule, id = _what(operation, number, stage)
    if back and command == "FAIL":
        command, rule = "GIVE BACK", Rule.BACK
    fields = [(name, plain(value)) for name, value in _fields(operation) if value]
    violation = ""
    if isinstance(answer, Processed):
        fields += [("outcome", answer.outcome), *([("why", plain(answer.text))] if answer.text else [])]
        rule = {"failed": Rule.FAIL, "blocked": Rule.TROUBLE, "cancelled": Rule.BACK}.get(answer.outcome, rule)
    elif answer is not None:
        fields += [("outcome", answer.error or "done"), *([("says", plain(answer.text))] if answer.text else [])]
        rule, violation = _judged(operation, answer, number, rule)
    return Decoded(
        command,
        tuple(fields),
        _place(operation).encode("utf-8", "surrogateescape"),
        id.encode("utf-8", "surrogateescape"),
        DOCUMENT,
        leg="move" if command in MOVES else "",
        rule=rule,
        violation=violation,
    )


def refused(operation: Operation | Process, answer: Done | Processed) -> bool:
    """Whether the answer is a no: to a question a no is an answer like any other."""
    if isinstance(answer, Processed):
        return answer.outcome != "done"
    return answer.error in TROUBLE or (bool(answer.error) and isinstance(operation, Take | Rename))


def _what(operation: Operation | Process, number: str, stage: str) -> tuple[str, str, str]:
    """Command, rule, document."""
    match operation:
        case Process(id):
            return "WRITE", Rule.PUBLISH, id
        case Take(_, old, new) | Rename(_, old, new):
            return _renamed(old, new, number)
        case Touch(_, name) if name == names.DONE:
            return "DONE", Rule.DONE, ""
        case Touch(_, name):
            state, id = _state(name)
            return ("GIVE UP", Rule.DISCARD, id) if state == "failed_twice" else ("TOUCH", "", id)
        case Remove(_, name):
            state, id = _state(name)
            command, rule = _REMOVED.get(state, ("REMOVE", ""))
            return command, rule, id or name
        case Append(_, name):
            state, id = _state(name)
            return ("PROMISE", Rule.COUNTS, id) if state == "publishing" else ("RECORD", Rule.RECORD, id)
        case Sync(_, name):
            return "SYNC", Rule.SYNC, _state(name)[1]
        case Exists(_, name):
            state, id = _state(name)
            return "CHECK", Rule.PUBLISH if state else Rule.FILES, id
        case Read(_, name):
            state, id = _state(name)
            return "READ", Rule.COUNTS if state == "publishing" else Rule.RECORD, id
        case List(folder):
            return ("THROTTLE", Rule.ROOM, "") if stage and queue_of(folder) == stage else ("LIST", Rule.ORDER, "")
        case Inherit(_, name):
            return "INHERIT", Rule.INHERIT, _state(name)[1]
        case Disown():
            return "DISOWN", Rule.INHERIT, ""
        case WriteOut():
            return "TIMES", Rule.FILES, ""
        case Log():
            return "LOG", Rule.LOG, ""


def _renamed(old: str, new: str, number: str) -> tuple[str, str, str]:
    before, id = _state(old)
    after, other = _state(new)
    command, rule = _MOVES.get((before, after), ("RENAME", ""))
    item = names.parse(old)
    if command == "FAIL" and isinstance(item, names.Item) and item.number != number:
        command, rule = "RECOVER", Rule.CRASH
    return command, rule, id or other


def _judged(operation: Operation | Process, answer: Done, number: str, rule: str) -> tuple[str, str]:
    """The rule that an answer follows, and why somebody broke one, or the empty string."""
    if answer.error in TROUBLE:
        return Rule.TROUBLE, ""
    if isinstance(operation, Take) and answer.error == "exists":
        return Rule.LOCKED, f"somebody else works under number {number}"
    if isinstance(operation, Take) and answer.error == "gone":
        return Rule.RACE, ""
    if isinstance(operation, Rename | Remove) and answer.error == "gone" and number:
        item = names.parse(operation.name)
        if isinstance(item, names.Item) and item.state == "working" and item.number == number:
            return Rule.LOCKED, f"somebody else has touched {plain(operation.name)}"
    return rule, ""


def _fields(operation: Operation | Process) -> list[tuple[str, str]]:
    """Names as they are on the disk; the folder is the lane."""
    match operation:
        case Process(_, attempt, input, output):
            return [("name", _name(input)), ("new", _name(output)), ("attempt", str(attempt))]
        case WriteOut(path) | Log(path):
            return [("name", _name(path))]
        case Append(_, name, line):
            return [("name", name), ("line", " ".join(line.split()))]
        case List():
            return []
        case Take(_, name, new) | Rename(_, name, new):
            return [("name", name), ("new", new)]
        case _:
            return [("name", operation.name)]


def _place(operation: Operation | Process) -> str:
    """The queue that an operation touches; "" for a driver's own files."""
    match operation:
        case Process():
            return queue_of(operation.output.rpartition("/")[0])
        case WriteOut() | Log():
            return ""
        case Exists(_, name) if not _state(name)[0]:  # the quit file
            return ""
        case _:
            return queue_of(operation.folder)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


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


# ---- the watchdog, and what is only told --------------------------------------------------------------------------


def supervised(what: object) -> Decoded | None:
    """What a watchdog does to its drivers and hears of them; ``peer`` is the driver's number.

    None for what changes nothing, its looks among it.
    """
    match what:
        case watchdog.Spawn(stage, number):
            return _to(number, "SPAWN", Rule.WATCH, ("stage", stage))
        case watchdog.Quit(number):
            return _to(number, "QUIT", "ruling 7: the document at hand is finished")
        case watchdog.Kill(number):
            return _to(number, "KILL", Rule.CRASH)
        case watchdog.Ended(number, code, _, docs):
            exit = "unknown" if code is None else f"signal {-code}" if code < 0 else f"status {code}"
            return _to(number, "ENDED", Rule.WATCH, ("exit", exit), ("docs", str(docs)))
        case watchdog.Recover(_, number):
            return _to(number, "SETTLE", Rule.CRASH)
        case watchdog.Recovered(_, number, documents, error):
            return _to(number, "SETTLED", Rule.CRASH, ("documents", str(documents)), ("why", error))
    return None


def _to(number: str, command: str, rule: str, *fields: tuple[str, str]) -> Decoded:
    shown = tuple((name, plain(value)) for name, value in fields if value)
    return Decoded(command, shown, number.encode(), rule=rule)


def noted(note: Note) -> Decoded:
    """What a core tells its operator; a name that is none of ours breaks a rule."""
    id = note.subject
    fields = (("text", plain(note.text)), *((("about", plain(id.decode("utf-8", "replace"))),) if id else ()))
    strange = note.text.startswith("not a document")
    return Decoded(
        note.level, fields, rule=Rule.LOCKED if strange else "", violation=plain(note.text) if strange else ""
    )


# ---- the state map -----------------------------------------------------------------------------------------------


def state_maps() -> tuple[StateMap, ...]:
    """A document's life in one queue (what is published is ready in the next), and of those who see to it."""
    return (
        _map("item", "A document", ITEM, _documents, lambda walks: walks.documents),
        _map("worker", "A driver, and whether it has a document", DRIVER, _busy, lambda walks: walks.drivers),
        _map("broker", "A driver at its watchdog", SEEN, _drivers, lambda walks: walks.seen),
        _map("broker", "A stage at its watchdog", STAGE, _stages, lambda walks: walks.stages),
    )


def _map(
    role: Role | Literal["item"],
    title: str,
    machine: Machine,
    current: Callable[[PipelineView], Counter[str]],
    walked: Callable[[Walks], Walked | None],
) -> StateMap:
    return StateMap(
        role,
        title,
        machine.states,
        machine.edges,
        current,
        walked=lambda picture: dict(walked(picture.walks) or ()),
        counted=lambda picture: walked(picture.walks) is not None,
    )


def _documents(picture: PipelineView) -> Counter[str]:
    """All queues together."""
    found: Counter[str] = Counter()
    for queue in picture.queues:
        for state in (Item.READY, Item.WORKING, Item.FAILED, Item.FAILED_TWICE):
            found[state] += getattr(queue.counts, state)
    return +found


def _busy(picture: PipelineView) -> Counter[str]:
    """From outside nothing else of a driver can be told."""
    return Counter(Does.WORKING for row in picture.drivers if row.document)


def _drivers(picture: PipelineView) -> Counter[str]:
    return Counter(Seen.LEAVING if row.leaving else Seen.RUNNING for row in picture.drivers)


def _stages(picture: PipelineView) -> Counter[str]:
    return Counter(row.state for row in picture.stages)
