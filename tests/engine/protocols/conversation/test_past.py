"""What is remembered of tasks has a bound, and goes with its job."""

from __future__ import annotations

import pytest

from engine.protocols.conversation import past
from engine.protocols.conversation.past import DONE, FAILED, Past, TaskRow, short


def row(number: int, state: str = DONE) -> TaskRow:
    return TaskRow(number, state, "w1", 1, 10.0, 0.5, "", "")


def test_the_newest_of_each_kind_are_remembered_over_all_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "KEPT", 2)
    kept = Past()
    kept.add(1, row(9, FAILED))
    for job_id, number in ((1, 1), (1, 2), (2, 1)):
        kept.add(job_id, row(number))
    assert [each.number for each in kept.of(1)] == [9, 2] and kept.of(2) == [row(1)]


def test_a_job_that_is_forgotten_takes_its_tasks_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "KEPT", 2)
    kept = Past()
    kept.add(1, row(1))
    kept.forget(1)
    kept.forget(7)
    assert kept.of(1) == []
    for number in range(3):
        kept.add(2, row(number))
    assert [each.number for each in kept.of(2)] == [1, 2]


def test_a_status_is_told_without_the_words_that_it_failed_and_cut() -> None:
    assert short("error encountered: exit status 7") == "exit status 7"
    assert len(short("x" * 1000)) == past.MAX_TEXT
