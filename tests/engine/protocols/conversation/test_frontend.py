"""What clients and the broker say to each other: both ways, and what is refused."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.conversation import frontend
from engine.protocols.conversation.frontend import (
    Accepted,
    CancelJob,
    Hold,
    JobEnded,
    JobRow,
    JobsListed,
    ListJobs,
    ListTasks,
    Refusal,
    Release,
    Stopping,
    StopWorkers,
    Submit,
    TaskEnded,
    TasksListed,
)
from engine.protocols.conversation.header import STOP_NOW
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.past import TaskRow

JOB = Description(3, "name", 5, "/srv", "/srv/logs", "echo", 1)


@pytest.mark.parametrize(
    "request_",
    [
        Submit(JOB, 2, True),
        Submit(JOB, follow=False),
        Submit(JOB, again=True, ident=b"x" * 16),
        ListJobs(),
        ListTasks(3),
        ListTasks(3, True, 7),
        Hold(3),
        Release(2**62),
        CancelJob(1),
        StopWorkers(0),
        StopWorkers(7),
        StopWorkers(STOP_NOW),
    ],
)
def test_requests_both_ways(request_: frontend.Request) -> None:
    assert frontend.request(frontend.pack_request(9, request_)) == (9, request_)


ANSWERS = [
    Accepted(1, 2),
    Stopping(1, 7, 4, 2, 0),
    Refusal(1, "full"),
    TaskEnded(1, 2, 3, True, "done", None),
    TaskEnded(1, 2, 3, False, "error encountered: x", b"abc"),
    JobEnded(1, 2, 4, 5, 6),
    JobsListed(1, (), 0),
    JobsListed(1, (JobRow(JOB, 2, 3, 4, 5, 6), JobRow(JOB, 1, 0, 0, 0, 0)), 9, 7),
    TasksListed(1, JobRow(JOB, 2, 3, 4, 5, 6), (), 0, 0),
    TasksListed(
        1,
        JobRow(JOB, 2, 3, 4, 5, 6),
        (
            TaskRow(2, "running", "w1", 1, 0.5, None, "", ""),
            TaskRow(3, "failed", "w2", 3, 9.0, 1.5, "exit status 7", "name_3-1.log"),
        ),
        4,
        5,
    ),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_both_ways(answer: frontend.Answer) -> None:
    assert frontend.answer(frontend.pack_answer(answer)) == answer


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"Ask": "jobs"},
        {"Ask": "jobs", "Ref": -1},
        {"Ask": "jobs", "Ref": True},
        {"Ask": "fly", "Ref": 1},
        {"Ask": ["jobs"], "Ref": 1},
        {"Ask": "hold", "Ref": 1},
        {"Ask": "tasks", "Ref": 1},
        {"Ask": "tasks", "Ref": 1, "JobId": 1, "Failed": 1},
        {"Ask": "tasks", "Ref": 1, "JobId": 1, "After": -1},
        {"Ask": "hold", "Ref": 1, "JobId": "1"},
        {"Ask": "stop", "Ref": 1, "NumProc": 2**32},
        {"Ask": "submit", "Ref": 1},
        {"Ask": "submit", "Ref": 1, "JobDescription": {}, "NumProc": frontend.MAX_SIZE + 1},
        {"Ask": "submit", "Ref": 1, "JobDescription": {}, "Follow": 1},
    ],
)
def test_refused_requests(value: object) -> None:
    assert frontend.request(msgpack.packb(value)) == "unreadable request"


def tasks(rows: object) -> object:
    about = {"JobDescription": {}, **dict.fromkeys(("NumProc", "Waiting", "Running", "Done", "Failed"), 0)}
    return {"Say": "tasks", "Ref": 1, "Job": about, "Tasks": rows, "More": 0, "Forgotten": 0}


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"Say": "accepted", "JobId": 1},
        {"Say": "accepted", "Ref": 1, "JobId": True},
        {"Say": "nothing", "Ref": 1},
        {"Say": {}, "Ref": 1},
        {"Say": "task", "Ref": 1, "JobId": 1, "Task": 1, "Success": True, "Status": "", "Data": "text"},
        {"Say": "jobs", "Ref": 1, "Jobs": None, "More": 0},
        {"Say": "jobs", "Ref": 1, "Jobs": [], "More": None},
        {"Say": "jobs", "Ref": 1, "Jobs": [3], "More": 0},
        {"Say": "jobs", "Ref": 1, "Jobs": [{"JobDescription": {}}], "More": 0},
        {"Say": "tasks", "Ref": 1, "Job": {}, "Tasks": [], "More": 0, "Forgotten": 0},
        tasks(None),
        tasks([[1, "done", "w1", 1, 0.5, 0.5, "done"]]),
        tasks([[1, "done", "w1", 1, 0.5, "0.5", "done", ""]]),
    ],
)
def test_refused_answers(value: object) -> None:
    assert frontend.answer(msgpack.packb(value)) == "unreadable answer"


@given(st.binary(max_size=60))
def test_total(raw: bytes) -> None:
    assert isinstance(frontend.request(raw), tuple | str)
    assert isinstance(frontend.answer(raw), tuple | str)


def test_what_can_be_run() -> None:
    assert frontend.refusal(Submit(JOB)) == ""
    assert frontend.refusal(Submit(Description(0, "", 1, "", "", ":ping"))) == ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"num_tasks": 0}, "no tasks"),
        ({"command": ":pong"}, "unknown built-in command"),
        ({"command": ""}, "unusable command or path"),
        ({"command": "a\0b"}, "unusable command or path"),
        ({"logging_dir": "/" * 5000}, "unusable command or path"),
        ({"command": "\udcff\U0001f600"}, "command or path is not UTF-8"),
        ({"command": ":ping", "name": "x" * 5000}, "unusable command or path"),
        ({"name": ""}, "unusable name: 1 to 128 characters, none of them a slash"),
        ({"name": "../x"}, "unusable name: 1 to 128 characters, none of them a slash"),
        ({"name": "x" * 129}, "unusable name: 1 to 128 characters, none of them a slash"),
        ({"working_dir": "here"}, "working and log directories must be absolute"),
        ({"logging_dir": ""}, "working and log directories must be absolute"),
    ],
)
def test_what_can_not_be_run(change: dict[str, object], why: str) -> None:
    assert frontend.refusal(Submit(JOB._replace(**change))) == why  # type: ignore[arg-type]
