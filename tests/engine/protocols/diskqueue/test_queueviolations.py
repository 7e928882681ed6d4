"""Rules that were broken: seen once as long as they stand, told once for each kind, named with the rule."""

from __future__ import annotations

import pytest

from engine.core import Note
from engine.protocols.diskqueue import queueviolations
from engine.protocols.diskqueue.operations import Done, Remove, Rename, Take
from engine.protocols.diskqueue.pipeline import Survey, log_line, survey
from engine.protocols.diskqueue.queueviolations import (
    ASTRAY,
    FOREIGN,
    RULES,
    STAYS,
    STRANGE,
    TAKEN,
    TOUCHED,
    UNLOCKED,
    Broken,
    QueueViolations,
    accusation,
    findings,
    touched,
)
from engine.protocols.diskqueue.transitions import Held

HELD = Held("/src", "/dst", "a", "7", 1)


def a_look(*found: str) -> dict[str, Survey]:
    return {"start": survey(found)}


def told(made: QueueViolations) -> list[tuple[str, str, int]]:
    return [(one.peer.decode(), one.reason, one.times) for one in made.incidents]


def test_what_follows_the_rules_breaks_none() -> None:
    good = ("a.ready", "b.7.working", ".7.working.lock", "c.failed", ".c.attempts", "done", "d.failed_twice")
    made = QueueViolations()
    assert made.look(a_look(*good), [], 1.0) == []
    assert made.look(a_look(*good), [], 100.0) == []
    assert made.incidents == ()


def test_a_strange_name_is_counted_once_while_it_stands_and_again_when_it_comes_again() -> None:
    made = QueueViolations()
    assert made.look(a_look("a.x.working"), [], 1.0) == [
        Note("bad", f"violation: a.x.working: {STRANGE}: no driver number", b"start")
    ]
    assert made.look(a_look("a.x.working", "b.y.working"), [], 2.0) == []
    assert told(made) == [("start", f"{STRANGE}: no driver number", 2)]
    made.look(a_look(), [], 3.0)
    made.look(a_look("a.x.working"), [], 4.0)
    assert told(made) == [("start", f"{STRANGE}: no driver number", 3)]
    assert made.incidents[0].at == 4.0


def test_a_name_without_a_meaning_in_utf_8_is_told_in_ascii() -> None:
    (note,) = QueueViolations().look({"start": survey([], [("x\udcff.ready", "a folder")])}, [], 1.0)
    assert note == Note("bad", f"violation: x\\xff.ready: {STRANGE}: it is a folder", b"start")


def test_a_document_that_is_worked_on_without_a_lock_is_held_against_its_number() -> None:
    made = QueueViolations()
    made.look(a_look("a.7.working", "b.8.working", ".8.working.lock"), [], 1.0)
    assert told(made) == [], "its name may be an old one, seen just before it changed"
    made.look(a_look("a.7.working", "b.8.working", ".8.working.lock"), [], 2.0)
    assert told(made) == [("start: driver 7", UNLOCKED, 1)]


def test_a_foreign_file_may_be_a_feeders_for_a_while() -> None:
    made = QueueViolations()
    made.look(a_look("a.tmp"), [], 1.0)
    made.look(a_look("a.tmp", "b.tmp"), [], STAYS)
    assert told(made) == []
    made.look(a_look("a.tmp", "b.tmp"), [], 1.0 + STAYS)
    assert told(made) == [("start", FOREIGN, 1)]
    made.look(a_look("a.tmp"), [], 2.0 + STAYS)
    made.look(a_look("a.tmp", "b.tmp"), [], 1.0 + 2 * STAYS)
    assert told(made) == [("start", FOREIGN, 1)], "b went away meanwhile"


def test_what_stands_against_drivers_and_what_they_say_of_others() -> None:
    made = QueueViolations()
    made.look({}, [Broken("driver 9", ASTRAY, "")], 1.0)
    made.look({}, [Broken("driver 9", ASTRAY, "")], 2.0)
    assert made.add("parse.7", TAKEN, 3.0) == [Note("bad", f"violation: {TAKEN}", b"parse.7")]
    assert made.add("parse.7", TAKEN, 4.0) == []
    assert told(made) == [("driver 9", ASTRAY, 1), ("parse.7", TAKEN, 2)]
    assert [(found.name, found.rule, found.times) for found in findings(made.incidents)] == [
        ("driver 9", RULES[ASTRAY], 1),
        ("parse.7", RULES[TAKEN], 2),
    ]


def test_every_reason_has_its_rule() -> None:
    words = {value for name, value in vars(queueviolations).items() if name.isupper() and isinstance(value, str)}
    assert words - {queueviolations.ACCUSES} == set(RULES)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Done(Rename("/src", "a.7.working", "a.failed"), "gone"), True),
        (Done(Remove("/src", "a.7.working"), "gone"), True),
        (Done(Remove("/src", "a.7.working")), False),
        (Done(Remove("/src", "a.8.working"), "gone"), False),
        (Done(Remove("/dst", "a.7.working"), "gone"), False),
        (Done(Take("/src", "a.7.working", "x"), "gone"), False),
    ],
)
def test_a_document_that_was_taken_out_of_a_drivers_hands(answer: Done, expected: bool) -> None:
    assert touched(answer, HELD) is expected


def test_an_accusation_is_a_line_of_a_log() -> None:
    row = log_line(accusation(5.0, "a", TOUCHED), "parse", "7")
    assert row is not None and (row.id, row.outcome, row.text) == ("a", queueviolations.ACCUSES, TOUCHED)
