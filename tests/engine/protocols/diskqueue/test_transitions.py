"""Records of attempts, retries, and what a listing means; the renames themselves stand in the transcripts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.machine import Walk
from engine.protocols.diskqueue.machine import ITEM, Item, On
from engine.protocols.diskqueue.operations import Entry, Steps
from engine.protocols.diskqueue.transitions import Held, agenda, give_back, in_hand, line, read_record, retry
from engine.sim.disk import SimDisk

HELD = Held("src", "dst", "x", "3", 1)


def test_a_record_line_comes_back_and_holds_its_reason_in_one_line() -> None:
    text = line("fail", HELD, 5.0, "no\n good\t at all" + "!" * 1000)
    (found,) = read_record(text + "\n")
    assert (found.what, found.attempt, found.number, found.at) == ("fail", 1, "3", 5.0)
    assert found.reason.startswith("no good at all!")
    assert len(found.reason) == 500


@given(st.text(max_size=200))
def test_any_record_is_read(text: str) -> None:
    read_record(text)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", (1, False)),
        ("fail 1 2", (1, True)),
        ("fail 1 3", (1, True)),
        ("fail 1 2|begin 2 3", (2, False)),
        ("fail 1 3|begin 2 3", (2, False)),
        ("fail 1 3|begin 2 3|fail 2 3", (2, True)),
        ("fail 1 2|begin 2 3|back 2 3", (1, True)),
        ("fail 1 2|begin 2 4", (1, True)),
    ],
)
def test_which_attempt_a_dead_driver_was_at(lines: str, expected: tuple[int, bool]) -> None:
    text = "".join("\t".join([*entry.split(), "1.0", ""]) + "\n" for entry in lines.split("|") if entry)
    assert in_hand(read_record(text), "3") == expected


def run(disk: SimDisk, steps: Steps[Any]) -> str:
    operation = next(steps)
    while True:
        try:
            operation = steps.send(disk.perform(operation, ""))
        except StopIteration as end:
            return str(end.value)


def test_an_operator_gives_a_document_two_fresh_attempts() -> None:
    disk = SimDisk("q")
    for name in ("x.failed_twice", "x.failed_twice.input", ".x.attempts"):
        disk.put("q", name, name)
    assert run(disk, retry("q", "x")) == ""
    assert list(disk.folders["q"]) == ["x.ready"]
    assert disk.text("q", "x.ready") == "x.failed_twice.input"


def test_a_retry_that_cannot_be_says_why_and_changes_nothing() -> None:
    disk = SimDisk("q")
    disk.put("q", "x.failed_twice")
    assert run(disk, retry("q", "x")) == "its input was not kept"
    disk.put("q", "x.failed_twice.input")
    disk.put("q", "x.ready")
    assert run(disk, retry("q", "x")) == "x.ready waits already"
    assert sorted(disk.folders["q"]) == ["x.failed_twice", "x.failed_twice.input", "x.ready"]
    with pytest.raises(StopIteration) as end:
        next(retry("q", "../x"))
    assert end.value.value == "id starts with a dot"


@pytest.mark.parametrize(
    ("attempt", "there", "comes", "event", "left"),
    [
        (1, True, "returned", On.BACK, ["x.ready"]),
        (2, True, "returned", On.BACK, ["x.failed", ".x.attempts"]),
        (1, False, "gone", On.TAKEN_AWAY, []),
    ],
)
def test_what_is_given_back_counts_the_row_by_which_it_went(
    attempt: int, there: bool, comes: str, event: str, left: list[str]
) -> None:
    disk, walk = SimDisk("src", "dst"), Walk(ITEM)
    if there:
        disk.put("src", "x.3.working")
    assert run(disk, give_back(HELD._replace(attempt=attempt), True, 1.0, walk)) == comes
    assert sorted(disk.folders["src"]) == sorted(left)
    (((state, walked), times),) = walk.walked()
    assert (state, times) == (Item.WORKING, 1) and walked.startswith(event)


def test_an_agenda_is_in_the_order_of_ruling_2() -> None:
    entries = [("old.failed", 1), ("b.ready", 5), ("a.ready", 5), ("c.ready", 4), ("d.7.working", 1), ("done", 9)]
    found = agenda(tuple(Entry(name, mtime, 1) for name, mtime in entries))
    assert [item.id for item in found.takeable] == ["c", "a", "b", "old"]
    assert found.live == 5
    assert found.done
