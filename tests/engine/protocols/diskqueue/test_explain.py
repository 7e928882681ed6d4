"""Disk queues in words: every operation of a driver's procedures, and a document's map walked on a simulated disk."""

from __future__ import annotations

from typing import Any

import pytest

from engine.parts.explain import Decoded
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue import transitions as move
from engine.protocols.diskqueue.explain import explain, state_maps
from engine.protocols.diskqueue.operations import (
    Append,
    Done,
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
from engine.protocols.diskqueue.pipeline import Counts, PipelineView, QueueRow
from engine.sim.disk import SimDisk

WORKING, WRITING = names.working("d", "3"), names.writing("d", "3")


@pytest.mark.parametrize(
    ("operation", "command", "document"),
    [
        (Take("in", "d.ready", WORKING), "lock", b"d"),
        (Take("in", "d.failed", WORKING), "lock again", b"d"),
        (Rename("out", WRITING, "d.ready"), "publish", b"d"),
        (Rename("in", WORKING, "d.failed"), "fail", b"d"),
        (Rename("in", WORKING, "d.ready"), "give back", b"d"),
        (Rename("in", WORKING, names.kept("d")), "give up", b"d"),
        (Rename("in", names.kept("d"), "d.ready"), "retry", b"d"),
        (Rename("in", "a", "b"), "rename", b""),
        (Touch("in", names.failed_twice("d")), "give up", b"d"),
        (Touch("out", "done"), "say done", b""),
        (Remove("in", WORKING), "let go of the input", b"d"),
        (Remove("in", names.publishing("d", "3")), "published", b"d"),
        (Remove("in", names.attempts("d")), "forget the attempts", b"d"),
        (Append("in", names.attempts("d"), "x"), "record an attempt", b"d"),
        (Append("in", names.publishing("d", "3"), "out"), "promise to publish", b"d"),
        (Sync("out", WRITING), "put on the disk", b"d"),
        (Exists("out", WRITING), "look", b"d"),
        (Read("in", names.attempts("d")), "look", b"d"),
        (List("in"), "look for documents", b""),
        (WriteOut("t", "x"), "tell", b""),
        (Log("l", "x"), "tell", b""),
    ],
)
def test_every_operation_is_explained(operation: Operation, command: str, document: bytes) -> None:
    found = explain(operation)
    assert (found.command, found.task) == (command, document)
    assert dict(found.fields) == {name: value for name, value in operation._asdict().items() if value}
    assert found.rule or command == "rename"


def test_the_answer_is_told() -> None:
    found = explain(Take("in", "d.ready", WORKING), "gone")
    assert found == Decoded(
        "lock",
        (("folder", "in"), ("name", "d.ready"), ("new", WORKING), ("answer", "gone")),
        task=b"d",
        rule="003 locking: atomic file renaming",
    )


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
