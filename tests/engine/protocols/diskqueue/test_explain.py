"""Disk queues in words: every operation of a driver's procedures, and a document's map walked on a simulated disk."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Note
from engine.parts.explain import Decoded
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue import transitions as move
from engine.protocols.diskqueue.explain import MOVES, explain, noted, refused, state_maps, supervised
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
from engine.protocols.diskqueue.pipeline import Counts, PipelineView, QueueRow
from engine.protocols.diskqueue.watchdog import Ended, Kill, Look, Quit, Recover, Recovered, Spawn
from engine.sim.disk import SimDisk

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
        return found.pop()


def held(attempt: int) -> move.Held:
    return move.Held("in", "out", "d", "3", attempt)


def taken(attempt: int) -> Folder:
    folder = Folder("d.ready" if attempt == 1 else "d.failed")
    if attempt > 1:
        folder.disk.put("in", names.attempts("d"), move.line("fail", held(1), 1.0, "why") + "\n")
    folder.do(move.take(held(attempt), "d.ready" if attempt == 1 else "d.failed", frozenset(), 1.0))
    folder.disk.put("out", WRITING, "output")
    return folder


def given_up() -> Folder:
    folder = taken(2)
    folder.do(move.fail(held(2), "why", True, 1.0))
    return folder


WALK: dict[tuple[str, str], tuple[Any, Any]] = {
    ("ready", "a driver takes it"): (
        lambda: Folder("d.ready"),
        lambda f: f.do(move.take(held(1), "d.ready", frozenset(), 1.0)),
    ),
    ("failed", "a driver takes it again"): (
        lambda: Folder("d.failed"),
        lambda f: f.do(move.take(held(2), "d.failed", frozenset(), 1.0)),
    ),
    ("working", "processed"): (lambda: taken(1), lambda f: f.do(move.publish(held(1)))),
    ("working", "the first attempt fails"): (
        lambda: taken(1),
        lambda f: f.do(move.fail(held(1), "why", False, 1.0)),
    ),
    ("working", "the second attempt fails"): (
        lambda: taken(2),
        lambda f: f.do(move.fail(held(2), "why", False, 1.0)),
    ),
    ("working", "the second attempt fails, kept"): (
        lambda: taken(2),
        lambda f: f.do(move.fail(held(2), "why", True, 1.0)),
    ),
    ("working", "given back, first attempt"): (lambda: taken(1), lambda f: f.do(move.give_back(held(1), False, 1.0))),
    ("working", "given back, second attempt"): (lambda: taken(2), lambda f: f.do(move.give_back(held(2), False, 1.0))),
    ("working", "the driver dies"): (lambda: taken(1), lambda f: f.do(move.recover("in", "out", "3", False, 1.0))),
    ("working", "the driver dies twice"): (
        lambda: taken(2),
        lambda f: f.do(move.recover("in", "out", "3", False, 1.0)),
    ),
    ("working", "the driver dies while it publishes"): (
        lambda: taken(1),
        lambda f: (f.do(move.publish(held(1)), 3), f.do(move.recover("in", "out", "3", False, 1.0))),
    ),
    ("kept", "an operator retries"): (given_up, lambda f: f.do(move.retry("in", "d"))),
}


def test_a_document_walks_every_edge_of_its_map() -> None:
    (states,) = state_maps()
    assert {(edge.state, edge.event) for edge in states.edges} == WALK.keys()
    for edge in states.edges:
        make, happen = WALK[(edge.state, edge.event)]
        folder = make()
        assert folder.state == edge.state, edge
        happen(folder)
        assert folder.state == edge.next, edge
        assert edge.rule


def test_documents_are_counted_over_all_queues() -> None:
    (states,) = state_maps()
    queues = (QueueRow("start", "a", Counts(ready=2, failed=1)), QueueRow("end", "b", Counts(ready=1, writing=4)))
    picture = PipelineView(0.0, "/", "running", queues, (), (), ())
    assert states.current(picture) == {"ready": 3, "failed": 1}
