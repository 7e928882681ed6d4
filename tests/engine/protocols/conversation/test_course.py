"""What stands in a store of a job, there and back."""

from __future__ import annotations

import msgpack
import pytest

from engine.core import Outcome
from engine.protocols.conversation import course, frontend
from engine.protocols.conversation.frontend import Submit
from engine.protocols.conversation.job import Course, Job
from engine.protocols.conversation.jobs import Jobs
from engine.protocols.conversation.messages import CANCELLED, FAULT, FINISHED, RUNNING, Update
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import array


def begun(jobs: Jobs, n: int = 5) -> Job:
    """Of five tasks the first is done, the second came back, the third is out again, for the second time."""
    job = jobs.add(array("echo", n), 2, b"c", 7, 1.0)
    tasks = [jobs.next(9, 9) for _ in range(3)]
    for task in tasks:
        assert task is not None
        task.attempt = 1
    first, second, third = tasks
    assert first is not None and second is not None and third is not None
    jobs.ended(first, True)
    for task in (third, second):
        jobs.back(task)
    again = jobs.next(9, 9)
    assert again is third
    third.attempt = 2
    return job


def test_a_course_is_how_far_a_job_has_come_and_a_job_goes_on_from_there() -> None:
    jobs = Jobs(Options())
    job = begun(jobs)
    packed = course.pack_course(b"id", job)
    told = course.read_course(packed, 3)
    assert told == Course(1, RUNNING, 4, 1, 0, 0, ((2, 1), (3, 1))) and packed[:2] == [b"course", b"id"]
    other = Jobs(Options())
    resumed = other.add(job.text, 2, b"c", 7, 1.0, job_id=1)
    assert other.resume(resumed, told) == 1
    other.check()
    assert (resumed.state, resumed.queued, other.ripe) == ("running", 4, 4)
    assert [task.number for _ in range(4) if (task := other.next(9, 9))] == [2, 3, 4, 5]


def test_a_task_that_was_lost_too_often_is_given_once_more() -> None:
    told = course.read_course([b"course", b"id", msgpack.packb([1, 1, 2, 0, 0, 0, [[1, 9]]])], 3)
    assert told is not None and told.out == ((1, 2),)


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x01", msgpack.packb([1, 2]), msgpack.packb([1, 1, 2, 0, 0, 0, 5])])
def test_what_is_no_course(body: bytes) -> None:
    assert course.read_course([b"course", b"id", body], 3) is None


def test_a_job_is_kept_as_its_client_said_it() -> None:
    submit = Submit(array("echo", 5), 2, True, True, b"x" * 16)
    packed = course.pack_job(submit.ident, 9, submit)
    assert course.read_job(packed) == (9, submit._replace(again=False))
    for other in (
        [],
        [b"job", b"id"],
        [b"job", b"id", b"x"],
        [b"job", b"id", frontend.pack_request(1, frontend.Hold(3))],
    ):
        assert course.read_job(other) is None


def test_how_a_job_ended_is_told_again() -> None:
    jobs = Jobs(Options())
    job = begun(jobs)
    _, dropped = jobs.cancel(job)
    assert dropped == 3
    submit = Submit(job.text, 2)
    outcome = course.outcome_of(job)
    assert outcome == Outcome("cancelled", b"job 1 cancelled: 1 done, 3 failed")
    assert course.answers(4, submit, outcome) == [
        frontend.Accepted(4, 1),
        frontend.JobEnded(4, 1, CANCELLED, 1, 3),
    ]
    right = Outcome("", b"job 3 finished: 5 done, 0 failed")
    assert course.answers(4, submit, right)[1] == frontend.JobEnded(4, 3, FINISHED, 5, 0)
    assert course.answers(4, submit._replace(follow=False), right) == [frontend.Accepted(4, 3)]
    assert course.answers(4, submit, Outcome("corrupt")) == [frontend.Refusal(4, "it has ended: corrupt")]


@pytest.mark.parametrize(
    ("success", "status", "data", "kept"),
    [
        (True, "done", b"data", Outcome("", b"data", b"w")),
        (True, "done", None, Outcome("", None, b"w")),
        (False, f"{FAULT}exit status 3", None, Outcome("failed", b"error encountered: exit status 3", b"w")),
        (False, f"{FAULT}lost", None, Outcome("lost")),
    ],
)
def test_how_a_lone_task_ended_is_told_again(success: bool, status: str, data: bytes | None, kept: Outcome) -> None:
    outcome = course.outcome_of_task(Update(1, 1, success, status, data=data), b"w")
    assert outcome == kept
    answers = course.answers(4, Submit(array(":ping")), outcome)
    assert answers == [frontend.TaskEnded(4, 0, 1, success, status, data)]


def test_a_task_of_an_array_is_kept_by_its_number() -> None:
    job = begun(Jobs(Options()))
    packed = course.pack_task(b"id", job, 3)
    found = course.read_job(packed)
    assert found is not None and found[1].job == job.text._replace(num_tasks=1) and packed[3] == b"3"
    assert not found[1].follow and found[1].slots == 2
