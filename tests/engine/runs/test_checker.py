"""The judge of histories sees each kind of bad one, and says nothing of a good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.parts.bulk import Bulk, BulkSpec
from engine.runs.checker import RECORD, Event, Recorder, executions, judge, load, save

A, B = b"a" * 16, b"b" * 16
GOOD = [
    Event(1.0, "invoke", "c", A),
    Event(1.1, "exec", "w1", A),
    Event(1.2, "exec", "w2", A),
    Event(1.3, "ok", "c", A),
    Event(1.0, "invoke", "c", B),
    Event(9.0, "unknown", "c", B, "timeout"),
]


def test_a_good_history_is_good() -> None:
    found = judge(GOOD, {A: "", B: "kept"})
    assert (found.tasks, found.again, found.wrong) == (2, 1, ())
    assert found.ends == (("ok", 1), ("unknown", 1))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ([Event(2.0, "invoke", "c", b"n" * 16)], "was asked for and never ended"),
        ([Event(2.0, "invoke", "c", A)], "was asked for twice"),
        ([Event(2.0, "ok", "c", A)], "ended twice: ok , ok "),
        ([Event(2.0, "fail", "c", A, "deadline")], "ended twice: ok , fail deadline"),
        ([Event(2.0, "ok", "c", b"n" * 16)], "ended and nobody had asked for it"),
        ([Event(2.0, "exec", "w1", b"n" * 16)], "was executed and nobody had asked for it"),
        ([Event(0.5, "exec", "w1", A)], "was executed before it was asked for"),
        ([Event(17.0, "exec", "w1", A)], "was executed by w1 15.700 s after it had ended"),
    ],
)
def test_each_bad_one_is_seen(change: list[Event], wrong: str) -> None:
    (found,) = judge([*GOOD, *change], {A: ""}).wrong
    assert wrong in found


def test_what_is_ok_was_executed_before() -> None:
    (found,) = judge([event for event in GOOD if event.kind != "exec"]).wrong
    assert "is ok and was not executed before" in found


def test_a_worker_that_was_stopped_may_be_late_and_no_other() -> None:
    late = [Event(1.15, "stopped", "w3", said="8.0"), Event(22.9, "exec", "w3", A)]
    assert judge([*GOOD, *late]).wrong == ()
    assert judge([*GOOD, late[0], Event(22.9, "exec", "w4", A)]).wrong
    assert judge([*GOOD, late[0], Event(23.1, "exec", "w3", A)]).wrong


@pytest.mark.parametrize(
    ("kept", "wrong"),
    [
        ({}, "is ok and has no result"),
        ({A: "deadline"}, "is ok and its result is deadline"),
        ({A: "", b"n" * 16: ""}, "has a result and nobody had asked for it"),
    ],
)
def test_a_store_that_says_something_else_is_seen(kept: dict[bytes, str], wrong: str) -> None:
    (found,) = judge(GOOD, kept).wrong
    assert wrong in found


def test_a_history_is_what_runs_and_workers_did(tmp_path: Path) -> None:
    tag = b"t" * 12
    with Recorder() as recorder:
        bulk = Bulk(BulkSpec("ping", 3, in_flight=3, tag=tag), 0.0)
        while bulk.due(0.0) is not None:
            pass
        bulk.replied(0, 0.1)
        bulk.replied(0, 0.2)
        bulk.failed(1, "deadline", 0.2)
        bulk.failed(2, "timeout", 0.3)
    Bulk(BulkSpec("ping", 1, tag=tag), 0.0).due(0.0)
    kinds = [(event.kind, event.task[-1], event.said) for event in recorder.events]
    assert kinds[:3] == [("invoke", n, "") for n in range(3)]
    assert kinds[3:] == [("ok", 0, ""), ("fail", 1, "deadline"), ("unknown", 2, "timeout")]
    (tmp_path / "w").write_bytes(RECORD.pack(7.0, A) + b"half")
    assert executions(tmp_path / "w") == [Event(7.0, "exec", "w", A)]
    save(tmp_path / "history", [*recorder.events, *GOOD])
    assert sorted(load(tmp_path / "history")) == sorted([*recorder.events, *GOOD])
