"""The runs of one client: numbers and ids, late answers, legs, what was not sent."""

from __future__ import annotations

import pytest

from engine.core import NEVER, Command, Note
from engine.parts.bulk import BulkSpec
from engine.parts.legs import EVERY
from engine.parts.runner import Runner
from engine.parts.view import ClientLeg


def begun(spec: BulkSpec, runs: Runner | None = None) -> Runner:
    runs = runs or Runner()
    out: list[Command] = []
    assert runs.begin(spec, 1.0, out) and not out
    return runs


def ended(n: int) -> Runner:
    """After a run of so many tasks that were all answered."""
    runs = begun(BulkSpec("ping", n, in_flight=n))
    for task in runs.due(1.0):
        runs.replied(task, runs.ident(task), 2.0)
    return runs


def test_without_a_run_there_is_nothing_to_do() -> None:
    runs = Runner()
    runs.stop(1.0)
    runs.expire(1.0)
    runs.refused(1.0, 0)
    assert (runs.due(1.0), runs.repeat(), runs.wake_at(), runs.view(1.0)) == ([], [], NEVER, None)
    assert not runs.awaited(0) and (runs.late, runs.unsent) == (1, 1)
    runs.check()


def test_one_run_at_a_time_and_no_more_data_than_a_message_carries() -> None:
    runs, out = Runner(), list[Command]()
    assert not runs.begin(BulkSpec("data", 1, size=1001), 1.0, out, most=1000) and runs.view(1.0) is None
    assert not runs.begin(BulkSpec("data", 1, size=-1), 1.0, out)
    assert runs.begin(BulkSpec("ping", 1, size=1001), 1.0, out, most=1000), "a ping carries none"
    assert not runs.begin(BulkSpec("ping", 1), 1.0, out)
    bound = "bytes of data: no run"
    assert [note.text for note in out if isinstance(note, Note)] == [
        f"a task has 0 to 1,000 {bound}",
        f"a task has 0 to inf {bound}",
        "a run is going on: stop it first",
    ]
    runs.stop(1.0)
    assert runs.begin(BulkSpec("ping", 1), 1.0, []), "the one that was stopped had sent nothing"


def test_numbers_go_on_from_run_to_run_and_an_earlier_runs_answer_is_late() -> None:
    runs = ended(3)
    earlier = runs.ident(1)
    begun(BulkSpec("ping", 2), runs)
    assert runs.due(3.0) == [0, 1] and [runs.ident(task)[0] for task in (0, 1)] == [3, 4]
    assert (runs.base, runs.next) == (3, 5)
    assert not runs.awaited(runs.task(earlier)) and runs.late == 1
    assert runs.awaited(runs.task(runs.ident(1))) and runs.late == 1
    assert runs.view(3.0).ledger.succeeded == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(("size", "tag"), [(8, b""), (4, b""), (8, b"twelve bytes")])
def test_each_id_is_that_of_its_task_alone(size: int, tag: bytes) -> None:
    runs = begun(BulkSpec("ping", 300, tag=tag), Runner(first=(1 << 8 * size) - 2))
    idents = [runs.ident(task, size) for task in range(300)]
    assert [runs.task(ident, size) for ident in idents] == list(range(300)), "beyond the last number it starts at 0"
    assert {len(ident) for ident in idents} == {16 if tag else size} and len({*idents}) == 300
    for other in (b"", b"x" * (size - 1), b"x" * 16):
        assert not runs.awaited(runs.task(other, size))


def test_what_is_out_is_asked_for_again_and_what_is_given_up_is_not() -> None:
    runs = begun(BulkSpec("ping", 3, in_flight=2, timeout=5.0))
    assert runs.due(1.0) == [0, 1] and runs.due(1.0) == [] and runs.wake_at() == 6.0
    runs.replied(0, runs.ident(0), 2.0)
    assert runs.due(2.0) == [2] and runs.repeat() == [1, 2] and runs.again == 2
    runs.expire(6.0)
    assert runs.repeat() == [2] and not runs.awaited(1)
    runs.failed(2, "refused", 6.5)
    view = runs.view(7.0)
    assert view is not None and view.state == "ended" and view.ledger.failed == (("refused", 1), ("timeout", 1))
    runs.check()


def test_one_in_so_many_legs_is_noted_of_right_answers_to_what_is_tracked() -> None:
    runs = begun(BulkSpec("ping", 4 * EVERY, in_flight=4 * EVERY))
    for task in runs.due(1.0):
        if task == 0:
            runs.failed(task, "wrong data", 2.0)
        elif task == EVERY:
            runs.refused(2.0, task)
        else:
            runs.replied(task, runs.ident(task), 2.0 + task)
        runs.check()
    late = [2 * EVERY, 3 * EVERY]
    assert runs.legs.view() == tuple(ClientLeg(runs.ident(task), 1.0, 2.0 + task) for task in late)
    assert len(begun(BulkSpec("ping", 50, tracked=False), runs).due(99.0)) == 50
    runs.check()


def test_the_numbers_of_a_run_with_a_tag_begin_where_both_samples_agree() -> None:
    runs = begun(BulkSpec("ping", 2 * EVERY, in_flight=2 * EVERY, tag=b"twelve bytes"), ended(3))
    assert runs.base == EVERY and runs.next == 3 * EVERY
    for task in runs.due(3.0):
        runs.replied(task, runs.ident(task), 4.0)
    assert [leg.id for leg in runs.legs.view()[1:]] == [runs.ident(task) for task in (0, EVERY)]


def test_a_message_that_is_not_sent_fails_its_tasks_that_are_out() -> None:
    runs = begun(BulkSpec("ping", 3, in_flight=3))
    runs.due(1.0)
    runs.replied(0, runs.ident(0), 1.0)
    runs.refused(1.0, 0, 1, 99)
    runs.refused(1.0)
    assert runs.unsent == 2 and runs.late == 0
    assert runs.view(1.0).ledger.failed == (("unsent", 1),)  # type: ignore[union-attr]
