"""The tasks of a job as a table and as JSON. With processes of their own: tests/loopback/test_jobs.py."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator

import pytest

from console.cli.jobtasks import show
from console.cli.signals import Signals
from console.cli.streams import STDOUT
from engine.protocols.conversation.frontend import Answer, JobRow, ListTasks, Request, TasksListed
from engine.protocols.conversation.messages import RUNNING, Description
from engine.protocols.conversation.past import TaskRow

Capture = pytest.CaptureFixture[str]
ROW = JobRow(Description(3, "count\x1b[2J", 50, "/srv", "/logs", "task", RUNNING), 2, 10, 2, 36, 2)
DONE = TaskRow(1, "done", "worker-1", 1, 3.2, 1.25, "done", "count_1.log")
FAILED = TaskRow(2, "failed", "worker-2", 2, 3.2, 0.002, "exit status 7\x1b[2J", "count_2-1.log")
RUNS = TaskRow(7, "running", "worker-2", 1, 75.0, None, "", "")


class Counter:
    """A broker that answers a page at a time, then says no."""

    def __init__(self, signals: Signals, *pages: TasksListed) -> None:
        self.signals = signals
        self.orders: list[Request] = []
        self._pages = list(pages)

    def ask(self, request: Request) -> Answer | None:
        self.orders.append(request)
        return self._pages.pop(0) if self._pages else None


@pytest.fixture
def signals() -> Iterator[Signals]:
    with Signals() as entered:
        yield entered


def options(failed: bool = False, **more: object) -> Namespace:
    return Namespace(**{"id": 3, "failed": failed, "json": None, **more})


def test_page_after_page_is_one_table(signals: Signals, capsys: Capture) -> None:
    counter = Counter(signals, TasksListed(1, ROW, (DONE, FAILED), 1, 34), TasksListed(2, ROW, (RUNS,), 0, 34))
    assert show(counter, options()) == 0
    assert counter.orders == [ListTasks(3, False, 0), ListTasks(3, False, 2)]
    assert capsys.readouterr().out.splitlines() == [
        "job 3 count·[2J running · 50 tasks: 10 waiting, 2 running, 36 done, 2 failed · logs in /logs",
        "task  state    worker    attempts  started   took   log            status",
        "1     done     worker-1  1         3.2s ago  1.2s   count_1.log    done",
        "2     failed   worker-2  2         3.2s ago  2.0ms  count_2-1.log  exit status 7·[2J",
        "7     running  worker-2  1         75s ago",
        "34 older tasks not remembered",
    ]


def test_as_json(signals: Signals, capsys: Capture) -> None:
    assert show(Counter(signals, TasksListed(1, ROW, (FAILED, RUNS), 0, 0)), options(True, json=STDOUT)) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["id"], found["forgotten"]) == ("roundhouse.job/1", 3, 0)
    assert found["counts"] == {"tasks": 50, "waiting": 10, "running": 2, "done": 36, "failed": 2}
    assert found["tasks"][0] == {
        "task": 2,
        "state": "failed",
        "worker": "worker-2",
        "attempts": 2,
        "started_s_ago": 3.2,
        "took_s": 0.002,
        "status": "exit status 7\x1b[2J",
        "log": "count_2-1.log",
    }
    assert (found["tasks"][1]["took_s"], found["tasks"][1]["log"]) == (None, None)


def test_no_answer_is_status_1(signals: Signals, capsys: Capture) -> None:
    assert show(Counter(signals), options()) == 1
    assert capsys.readouterr().out == ""


def test_a_job_of_which_nothing_was_given_yet_is_one_line(signals: Signals, capsys: Capture) -> None:
    assert show(Counter(signals, TasksListed(1, ROW, (), 0, 0)), options()) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
