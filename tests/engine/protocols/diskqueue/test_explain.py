"""Disk queues in words: every operation of a driver's procedures, and a document's map walked on a simulated disk."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Note
from engine.parts.explain import Decoded
from engine.parts.machine import Machine, Row, Walk
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue import transitions as move
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.explain import MOVES, explain, noted, refused, state_maps, supervised
from engine.protocols.diskqueue.machine import DRIVER, ITEM, SEEN, STAGE, If, Item, On
from engine.protocols.diskqueue.operations import (
    Append,
    Done,
    Exists,
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
from engine.protocols.diskqueue.pipeline import Counts, DriverRow, PipelineView, QueueRow, StageRow, Walks
from engine.protocols.diskqueue.watchdog import Ended, Kill, Look, Quit, Recover, Recovered, Spawn
from engine.sim.disk import SimDisk
from engine.sim.owners import STRANGER

WORKING, WRITING = names.working("d", "3"), names.writing("d", "3")


@pytest.mark.parametrize(
    ("operation", "command", "document"),
    [
        (Rename("in", "d.tmp", "d.ready"), "FEED", b"d"),
        (Take("in", "d.ready", WORKING), "TAKE", b"d"),
        (Take("in", "d.failed", WORKING), "TAKE AGAIN", b"d"),
        (Process("d", 1, f"in/{WORKING}", f"out/{WRITING}"), "WRITE", b"d"),
        (Rename("out", WRITING, "d.ready"), "PUBLISH", b"d"),
        (Rename("in", WORKING, "d.failed"), "FAIL", b"d"),
        (Rename("in", names.working("d", "4"), "d.failed"), "RECOVER", b"d"),
        (Rename("in", WORKING, "d.ready"), "GIVE BACK", b"d"),
        (Rename("in", WORKING, names.kept("d")), "KEEP", b"d"),
        (Rename("in", names.kept("d"), "d.ready"), "RETRY", b"d"),
        (Rename("in", "a", "b"), "RENAME", b""),
        (Touch("in", names.failed_twice("d")), "GIVE UP", b"d"),
        (Touch("out", "done"), "DONE", b""),
        (Touch("out", "x"), "TOUCH", b""),
        (Remove("in", WORKING), "DELETE", b"d"),
        (Remove("out", WRITING), "DROP", b"d"),
        (Remove("out", "d"), "CLEAR", b"d"),
        (Remove("out", "d.ready"), "CLEAR", b"d"),
        (Remove("in", names.kept("d")), "REPLACE", b"d"),
        (Remove("in", names.publishing("d", "3")), "FORGET", b"d"),
        (Remove("in", names.attempts("d")), "FORGET", b"d"),
        (Append("in", names.attempts("d"), "x"), "RECORD", b"d"),
        (Append("in", names.publishing("d", "3"), "out"), "PROMISE", b"d"),
        (Sync("out", WRITING), "SYNC", b"d"),
        (Exists("out", WRITING), "CHECK", b"d"),
        (Exists("w", "quit"), "CHECK", b""),
        (Read("in", names.attempts("d")), "READ", b"d"),
        (Read("in", names.publishing("d", "3")), "READ", b"d"),
        (List("in"), "LIST", b""),
        (List("root/queue-out"), "THROTTLE", b""),
        (WriteOut("w/times", "x"), "TIMES", b""),
        (Log("w/log", "x"), "LOG", b""),
    ],
)
def test_every_operation_is_explained(operation: Operation | Process, command: str, document: bytes) -> None:
    found = explain(operation, number="3", stage="out")
    assert (found.command, found.task, found.client) == (command, document, b"")
    assert found.rule or command in ("RENAME", "TOUCH")
    assert (found.leg == "move") == (command in MOVES)
    own = isinstance(operation, WriteOut | Log | Exists) and not document
    assert found.peer == (b"" if own else b"out" if "out" in str(operation[:1]) or command == "WRITE" else b"in")


NO = "003 row 8: a name with a number is its driver's"


@pytest.mark.parametrize(
    ("operation", "answer", "rule", "violation", "no"),
    [
        (Take("in", "d.ready", WORKING), Done(Sync(""), "gone"), "003 row 6: the loser goes on to the next", "", True),
        (Take("in", "d.ready", WORKING), Done(Sync(""), "exists"), NO, "somebody else works under number 3", True),
        (Rename("in", WORKING, "d.failed"), Done(Sync(""), "gone"), NO, "somebody else has touched d.3.working", True),
        (Remove("in", WORKING), Done(Sync(""), "gone"), NO, "somebody else has touched d.3.working", False),
        (
            Remove("in", "d"),
            Done(Sync(""), "gone"),
            "003 row 2: write, rename, delete the input",
            "",
            False,
        ),
        (Sync("in"), Done(Sync(""), "full", "no space"), "ruling 8: a disk in trouble is nobody's failure", "", True),
        (
            Process("d", 1, "in/a", "out/b"),
            Processed("blocked"),
            "ruling 8: a disk in trouble is nobody's failure",
            "",
            True,
        ),
        (
            Process("d", 1, "in/a", "out/b"),
            Processed("failed", "no"),
            "003 row 3: .working becomes .failed, tried once more",
            "",
            True,
        ),
        (
            Process("d", 1, "in/a", "out/b"),
            Processed("done"),
            "003 row 2: write, rename, delete the input",
            "",
            False,
        ),
    ],
)
def test_the_answer_is_told(
    operation: Operation | Process, answer: Done | Processed, rule: str, violation: str, no: bool
) -> None:
    found = explain(operation, answer, "3")
    assert (found.rule, found.violation, refused(operation, answer)) == (rule, violation, no)
    outcome = answer.outcome if isinstance(answer, Processed) else answer.error
    assert dict(found.fields)["outcome"] == outcome


def test_fields_are_names_as_they_are_on_the_disk() -> None:
    found = explain(Take("/q/queue-in", "d.ready", WORKING), Done(Sync("")), "3")
    assert found.fields == (("name", "d.ready"), ("new", WORKING), ("outcome", "done"))
    assert explain(Append("in", ".d.attempts", "fail\t1"), None).fields == (("name", ".d.attempts"), ("line", "fail 1"))


@pytest.mark.parametrize(
    ("what", "command", "fields"),
    [
        (Spawn("parse", "7"), "SPAWN", {"stage": "parse"}),
        (Quit("7"), "QUIT", {}),
        (Kill("7"), "KILL", {}),
        (Recover("parse", "7"), "SETTLE", {}),
        (Recovered("parse", "7", 1), "SETTLED", {"documents": "1"}),
        (Ended("7", -9, True, 3, ""), "ENDED", {"exit": "signal 9", "docs": "3"}),
        (Ended("7", None, True, 3, ""), "ENDED", {"exit": "unknown", "docs": "3"}),
    ],
)
def test_what_a_watchdog_does(what: object, command: str, fields: dict[str, str]) -> None:
    found = supervised(what)
    assert found is not None and (found.command, dict(found.fields), found.peer) == (command, fields, b"7")
    assert found.rule and supervised(Look()) is None


def test_a_name_that_is_none_is_a_violation() -> None:
    found = noted(Note("warn", "not a document: no id", b".ready"))
    assert (found.violation, dict(found.fields)["about"]) == ("not a document: no id", ".ready")
    assert noted(Note("info", "left: done")) == Decoded("info", (("text", "left: done"),))


# ---- the state map -----------------------------------------------------------------------------------------------


class Folder:
    """One document between two queues, in the hands of driver 3."""

    def __init__(self, name: str) -> None:
        self.disk = SimDisk("in", "out")
        self.disk.lock("in", "out", "3")
        self.disk.put("in", name, "text")

    def do(self, steps: Any, most: int = 1000) -> Any:
        """Carry out a procedure, or its first operations only."""
        answer: Done | None = None
        for _ in range(most):
            try:
                operation = next(steps) if answer is None else steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = self.disk.perform(operation, "3")
        return None

    @property
    def state(self) -> str:
        """Where the document is, by the names that there are."""
        found = {item.state for name in self.disk.folders["in"] if isinstance(item := names.parse(name), names.Item)}
        if found == {"failed_twice", "kept"}:
            return "kept"
        if not found and names.ready("d") in self.disk.folders["out"]:
            return "published"
        assert len(found) == 1, found
        promised = names.publishing("d", "3") in self.disk.folders["in"]
        return Item.PUBLISHING if promised else found.pop()


def held(attempt: int) -> move.Held:
    return move.Held("in", "out", "d", "3", attempt)


def walk() -> Walk:
    return Walk(ITEM)


def taken(attempt: int) -> Folder:
    folder = Folder("d.ready" if attempt == 1 else "d.failed")
    if attempt > 1:
        folder.disk.put("in", names.attempts("d"), move.line("fail", held(1), 1.0, "why") + "\n")
    folder.do(move.take(held(attempt), Item.READY if attempt == 1 else Item.FAILED, frozenset(), 1.0, walk()))
    folder.disk.put("out", WRITING, "output")
    return folder


def given_up() -> Folder:
    folder = taken(2)
    folder.do(move.fail(held(2), "why", True, 1.0, walk()))
    return folder


def promised() -> Folder:
    """Its output is complete, and has not its name yet."""
    folder = taken(1)
    folder.do(move.publish(held(1), walk()), 3)
    return folder


def recover(folder: Folder, keep: bool = False) -> None:
    folder.do(move.recover("in", "out", "3", keep, 1.0))


def refuse(folder: Folder) -> None:
    """A stranger swaps its output when all is promised."""

    def swap(operation: Any) -> Any:
        if isinstance(operation, Exists):
            folder.disk.put("out", WRITING, "a stranger's", owner=STRANGER)
        return ""

    folder.disk.meddle = swap
    folder.do(move.publish(held(1), walk()))


WALK: dict[tuple[str, str, str], tuple[Any, Any]] = {
    (Item.READY, On.TAKEN, ""): (
        lambda: Folder("d.ready"),
        lambda f: f.do(move.take(held(1), Item.READY, frozenset(), 1.0, walk())),
    ),
    (Item.FAILED, On.TAKEN, ""): (
        lambda: Folder("d.failed"),
        lambda f: f.do(move.take(held(2), Item.FAILED, frozenset(), 1.0, walk())),
    ),
    (Item.WORKING, On.PROCESSED, ""): (lambda: taken(1), lambda f: f.do(move.publish(held(1), walk()), 3)),
    (Item.WORKING, On.FAILS, ""): (
        lambda: taken(1),
        lambda f: f.do(move.fail(held(1), "why", False, 1.0, walk())),
    ),
    (Item.WORKING, On.FAILS, If.SECOND): (
        lambda: taken(2),
        lambda f: f.do(move.fail(held(2), "why", False, 1.0, walk())),
    ),
    (Item.WORKING, On.FAILS, If.KEPT): (
        lambda: taken(2),
        lambda f: f.do(move.fail(held(2), "why", True, 1.0, walk())),
    ),
    (Item.WORKING, On.BACK, ""): (lambda: taken(1), lambda f: f.do(move.give_back(held(1), False, 1.0, walk()))),
    (Item.WORKING, On.BACK, If.SECOND): (
        lambda: taken(2),
        lambda f: f.do(move.give_back(held(2), False, 1.0, walk())),
    ),
    (Item.WORKING, On.DIES, ""): (lambda: taken(1), recover),
    (Item.WORKING, On.DIES, If.SECOND): (lambda: taken(2), recover),
    (Item.WORKING, On.DIES, If.KEPT): (lambda: taken(2), lambda f: recover(f, True)),
    (Item.PUBLISHING, On.RENAMED, ""): (promised, lambda f: f.do(move.publish(held(1), walk()))),
    (Item.PUBLISHING, On.REFUSED, ""): (promised, refuse),
    (Item.PUBLISHING, On.DIES, ""): (promised, recover),
    (Item.KEPT, On.RETRIED, ""): (given_up, lambda f: f.do(move.retry("in", "d"))),
}
"""The rows that give a document another name, or another promise: how it gets there, and what happens then."""


@pytest.mark.parametrize("row", ITEM.rows, ids=lambda row: " ".join(row.key))
def test_a_document_has_the_names_of_the_state_that_its_row_leads_to(row: Row) -> None:
    if row.key not in WALK:
        assert row.next in (row.state, Item.GONE) or row.guard == If.UNTRUE, "its names change, so try it"
        return
    make, happen = WALK[row.key]
    folder = make()
    assert folder.state == row.state
    happen(folder)
    assert folder.state == row.next


@pytest.mark.parametrize(("at", "machine"), list(enumerate([ITEM, DRIVER, SEEN, STAGE])))
def test_the_maps_are_the_machines(at: int, machine: Machine) -> None:
    assert (state_maps()[at].states, state_maps()[at].edges) == (machine.states, machine.edges)


def test_documents_are_counted_over_all_queues() -> None:
    states = state_maps()[0]
    queues = (QueueRow("start", "a", Counts(ready=2, failed=1)), QueueRow("end", "b", Counts(ready=1, writing=4)))
    picture = PipelineView(0.0, "/", "running", queues, (), (), ())
    assert states.current(picture) == {"ready": 3, "failed": 1}


@pytest.mark.parametrize("at", range(4))
def test_a_map_tells_its_own_rows_and_whether_they_are_counted(at: int) -> None:
    """A document and a driver have states and events of the same name."""
    states, picture = state_maps()[at], PipelineView(0.0, "/", "running", (), (), (), ())
    assert states.walked is not None and not states.counted(picture) and states.walked(picture) == {}
    counts = tuple(((("working", "processed"), times),) for times in (1, 2, 3, 4))
    picture = picture._replace(walks=Walks(*counts))
    assert states.counted(picture) and states.walked(picture) == {("working", "processed"): at + 1}


def test_drivers_and_stages_are_counted_by_their_states() -> None:
    times = DriverTimes(0.0, 0.0, 0.0, 0.0, 0)
    rows = [
        DriverRow(number, "a", 1, 0.0, 0, 0.0, id, times, leaving)
        for number, id, leaving in (("1", "d", False), ("2", "", False), ("3", "e", True))
    ]
    stages = tuple(StageRow(name, "done", "", 1, 0, 0, 0, 0.0, times) for name in "ab")
    picture = PipelineView(0.0, "/", "running", (), stages, tuple(rows), ())
    found = [dict(states.current(picture)) for states in state_maps()[1:]]
    assert found == [{"working": 2}, {"running": 2, "leaving": 1}, {"done": 2}]
