"""Arrays of tasks: the order in which they are given, and that none is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.conversation import jobs as module
from engine.protocols.conversation import messages
from engine.protocols.conversation.job import Job, JobTask
from engine.protocols.conversation.jobs import Jobs
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import array
from tests.helpers.examples import examples


def add(jobs: Jobs, n: int = 1, slots: int = 1, command: str = "echo") -> Job:
    return jobs.add(array(command, n), slots, b"client", 7, 1.0)


def given_(jobs: Jobs, slots: int = 9, free: int = 9) -> str:
    task = jobs.next(slots, free)
    jobs.check()
    return f"{task.job.id}/{task.number}" if task is not None else "-"


def test_running_first_by_id_then_the_oldest_that_waits() -> None:
    jobs = Jobs(Options())
    one, two = add(jobs, 2), add(jobs, 2)
    add(jobs, 1)
    jobs.hold(one)
    assert given_(jobs) == "2/1" and two.status == messages.RUNNING
    jobs.release(one)
    assert one.status == messages.WAITING
    assert [given_(jobs) for _ in range(6)] == ["2/2", "1/1", "1/2", "3/1", "-", "-"]


def test_what_comes_back_goes_out_first() -> None:
    jobs = Jobs(Options())
    add(jobs, 3)
    first = jobs.next(1, 1)
    assert first is not None and given_(jobs) == "1/2"
    jobs.back(first)
    assert [given_(jobs) for _ in range(3)] == ["1/1", "1/3", "-"]


def test_sizes() -> None:
    jobs = Jobs(Options())
    add(jobs, slots=3)
    add(jobs, slots=1)
    assert given_(jobs, slots=4, free=2) == "-"  # it fits, but not now: nothing may overtake it here
    assert given_(jobs, slots=2, free=2) == "2/1"  # it never fits here
    assert given_(jobs, slots=4, free=3) == "1/1"


def test_life_of_a_job() -> None:
    jobs = Jobs(Options())
    job = add(jobs, 2)
    assert job.description.job_id == 1 and job.description.status == messages.WAITING and jobs.open == 1
    first, second = jobs.next(1, 1), jobs.next(1, 1)
    assert first is not None and second is not None
    assert not jobs.ended(first, True) and jobs.ended(second, False)
    assert (job.status, job.done, job.failed, jobs.open) == (messages.FINISHED, 1, 1, 0)
    assert jobs.hold(job) == jobs.release(job) == "job is finished" and jobs.cancel(job) == ("job is finished", 0)
    assert jobs.get(1) is job and jobs.all() == [job]
    jobs.check()


def test_hold_while_tasks_are_out() -> None:
    jobs = Jobs(Options())
    job = add(jobs, 2)
    task = jobs.next(1, 1)
    assert task is not None
    jobs.hold(job)
    jobs.back(task)
    assert given_(jobs) == "-" and jobs.queued == 2 and jobs.ripe == 0
    jobs.release(job)
    assert job.status == messages.RUNNING and given_(jobs) == "1/1"


def test_cancel_a_held_job() -> None:
    jobs = Jobs(Options())
    job = add(jobs, 5)
    jobs.hold(job)
    assert jobs.cancel(job) == ("", 5) and jobs.settle(job)
    jobs.check()
    assert given_(jobs) == "-"


def test_built_in_jobs_leave_no_trace_and_others_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HISTORY", 2)
    jobs = Jobs(Options())
    for command in (":ping", "a", "b", "c"):
        add(jobs, command=command)
        task = jobs.next(1, 1)
        assert task is not None and jobs.ended(task, True)
    assert [job.text.command for job in jobs.all()] == ["b", "c"] and jobs.open == 0
    assert given_(jobs) == "-"


@examples(100)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "next", "end", "back", "hold", "release", "cancel"]), st.integers(0, 9)))
)
def test_whatever_happens_the_counts_agree(acts: list[tuple[str, int]]) -> None:
    jobs = Jobs(Options())
    out: list[JobTask] = []
    for act, n in acts:
        known = jobs.all()
        job = known[n % len(known)] if known else None
        if act == "add":
            add(jobs, n % 4 + 1, n % 3 + 1, ":ping" if n % 2 else "echo")
        elif act == "next" and (task := jobs.next(n, n)) is not None:
            assert task not in out and task.job.slots <= n
            out.append(task)
        elif act == "end" and out:
            jobs.ended(out.pop(n % len(out)), n > 4)
        elif act == "back" and out and out[n % len(out)].job.status != messages.CANCELLED:
            jobs.back(out.pop(n % len(out)))
        elif act == "hold" and job is not None:
            jobs.hold(job)
        elif act == "release" and job is not None:
            jobs.release(job)
        elif act == "cancel" and job is not None and not jobs.cancel(job)[0]:
            jobs.settle(job)
        jobs.check()


def test_of_two_jobs_of_one_number_the_newest_is_known_by_it() -> None:
    """A submission may come twice, and a client that has started anew counts from 1."""
    jobs = Jobs(Options())
    add(jobs, command=":ping")
    newest = add(jobs, command=":ping")
    assert jobs.asked(b"client", 7) is newest and jobs.asked(b"client", 8) is None
    first, second = jobs.next(1, 1), jobs.next(1, 1)
    assert first is not None and second is not None
    assert jobs.ended(second, True) and jobs.asked(b"client", 7) is None
    jobs.check()
    assert jobs.ended(first, True)
    jobs.check()


def test_a_job_goes_on_as_the_operators() -> None:
    jobs = Jobs(Options())
    job = add(jobs, 3)
    jobs.next(1, 1)
    jobs.adopt(job, 2.0)
    jobs.check()
    assert jobs.of(b"client") == [] and jobs.of(b"") == [job] and job.client == b"client"
