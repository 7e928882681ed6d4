"""Submit, jobs and stop against a broker of this process. With processes of their own: tests/loopback/test_jobs.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.jobs import AGAIN, JobSession, document, follow, table
from console.cli.signals import Signals
from console.cli.streams import unanswered
from engine.protocols.conversation.frontend import (
    Accepted,
    Answer,
    Hold,
    JobEnded,
    JobRow,
    JobsListed,
    ListJobs,
    Refusal,
    Request,
    Submit,
    TaskEnded,
)
from engine.protocols.conversation.messages import CANCELLED, FINISHED, RUNNING, Description

Capture = pytest.CaptureFixture[str]
NOWHERE = "ipc:///nobody/listens/here"
ROW = JobRow(Description(3, "count\x1b[2J", 50, "/srv", "/logs", "task", CANCELLED), 2, 1, 2, 40, 7)


class Counter:
    """A broker's control socket that answers what a test wrote down, one list a look; then the broker is gone."""

    def __init__(self, *looks: list[Answer]) -> None:
        self._looks = list(looks)
        self.later: list[list[Answer]] = []  # what the next broker answers
        self.linked = True
        self.orders: list[object] = []

    def order(self, request: Request) -> None:
        self.orders.append(request)

    def answers(self, timeout: float) -> list[Answer]:
        if self._looks:
            return self._looks.pop(0)
        self.linked = False
        return []

    def anew(self) -> None:
        self.linked = True
        self._looks = self.later


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[Signals]:
    monkeypatch.setattr("console.cli.jobs.STEP", 0.0)
    with Signals() as entered:
        yield entered


def session(signals: Signals, *looks: list[Answer]) -> tuple[JobSession, Counter]:
    counter = Counter(*looks)
    return JobSession(counter, signals, "tcp://h:1"), counter  # type: ignore[arg-type]


def test_an_answer_is_waited_for_and_what_came_with_it_is_kept(signals: Signals, capsys: Capture) -> None:
    ended = TaskEnded(1, 7, 1, True, "done", None)
    counter, lab = session(signals, [], [], [Accepted(1, 7), ended])
    request: Request = ListJobs()
    assert counter.ask(request) == Accepted(1, 7)
    assert lab.orders == [request]
    assert (counter.answer(), counter.answer()) == (ended, None)
    assert capsys.readouterr() == ("", "")


def test_no_is_told_and_so_is_nobody(signals: Signals, capsys: Capture) -> None:
    refused = Refusal(1, "no such job\x1b")
    assert session(signals, [refused], [])[0].ask(ListJobs()) is None
    assert capsys.readouterr().err == "roundhouse: no such job·\n"
    assert session(signals, [refused], [])[0].ask(Hold(7)) is None
    assert capsys.readouterr().err == "roundhouse: job 7: no such job·\n"
    assert session(signals)[0].ask(ListJobs()) is None
    assert capsys.readouterr().err == f"roundhouse: {unanswered('conversation', 'tcp://h:1')}\n"


def test_a_job_is_submitted_again_by_its_id_where_its_broker_does_not_answer(signals: Signals, capsys: Capture) -> None:
    request = Submit(ROW.job, ident=bytes(16))
    counter, lab = session(signals, [])
    lab.later = [[Accepted(1, 7)]]
    assert counter.ask(request) == Accepted(1, 7)
    assert lab.orders == [request, request._replace(again=True)]
    assert capsys.readouterr().err.count("submitted again, under the same id") == 1
    counter, lab = session(signals, [])
    lab.later = [[Refusal(1, "it may have run")]]
    assert counter.ask(request) is None and not counter.refused, "its script stays: it may run"
    assert session(signals, [Refusal(1, "no")])[0].ask(request) is None
    counter, lab = session(signals)
    capsys.readouterr()
    assert counter.ask(request) is None and len(lab.orders) == 1 + AGAIN
    told = capsys.readouterr().err
    assert told.count("submitted again") == 1 and unanswered("conversation", "tcp://h:1") in told


def test_a_job_is_followed_to_its_end(signals: Signals, capsys: Capture) -> None:
    good, bad = TaskEnded(1, 7, 1, True, "done", None), TaskEnded(1, 7, 2, False, "error encountered: x", None)
    assert follow(session(signals, [good, bad], [], [JobEnded(1, 7, FINISHED, 1, 1)])[0], 7) == 1
    assert capsys.readouterr() == ("finished: 1 done, 1 failed\n", "roundhouse: task 2: error encountered: x\n")
    assert follow(session(signals, [good, JobEnded(1, 7, FINISHED, 1, 0)])[0], 7) == 0
    assert capsys.readouterr() == ("finished: 1 done, 0 failed\n", "")


def test_a_job_that_nobody_knows_any_more_is_not_waited_for(
    signals: Signals, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("console.cli.jobs.ASSURE", 1)
    known, unknown = JobsListed(2, (ROW,), 0), JobsListed(3, (), 0)
    counter, lab = session(signals, [], [], [known], [], [unknown], [])
    assert follow(counter, 3) == 1
    assert set(lab.orders) == {ListJobs()}
    assert capsys.readouterr().err == "roundhouse: the broker does not know job 3 any more: it was started again\n"
    assert follow(session(signals, [])[0], 3) == 1
    assert capsys.readouterr().err == "roundhouse: the broker does not answer any more\n"


def test_a_job_whose_broker_was_started_again_with_its_store_is_followed_by_its_list(
    signals: Signals, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("console.cli.jobs.ASSURE", 1)
    going, over = (
        JobsListed(2, (JobRow(ROW.job._replace(status=status), 1, 0, running, 7, 1),), 0)
        for status, running in ((RUNNING, 1), (FINISHED, 0))
    )
    told = JobEnded(1, 3, FINISHED, 8, 0)
    assert follow(session(signals, [going], [over], [told])[0], 3) == 0, "the list is ahead of what is told"
    capsys.readouterr()
    assert follow(session(signals, [going], [over], [over])[0], 3) == 1
    assert capsys.readouterr().out == "finished: 7 done, 1 failed\n"


def test_a_job_that_no_worker_is_large_enough_for_is_told_once_and_when_one_is(
    signals: Signals, capsys: Capture
) -> None:
    waiting = JobRow(ROW.job._replace(status=RUNNING), 9, 3, 0, 0, 0)
    small, large = (JobsListed(2, (waiting,), 0, largest) for largest in (4, 9))
    counter, lab = session(signals, [small], [small], [large], [JobEnded(1, 3, FINISHED, 3, 0)])
    assert follow(counter, 3) == 0 and lab.orders == [ListJobs()]
    assert capsys.readouterr().err.splitlines() == [
        "roundhouse: job 3 needs 9 processors, the largest worker has 4",
        "roundhouse: job 3 fits a worker now",
    ]
    assert table(small).splitlines()[-1] == "job 3 waits: it needs 9 processors, the largest worker has 4"
    (found,) = json.loads(document(small))["jobs"]
    assert found["wants"] == "needs 9 processors, the largest worker has 4"


def test_a_signal_ends_the_waiting_and_not_the_job(signals: Signals, capsys: Capture) -> None:
    signals.caught = 15
    assert follow(session(signals)[0], 3) == 143
    assert session(signals, [])[0].ask(ListJobs()) is None
    assert capsys.readouterr() == ("", "roundhouse: job 3 goes on\n")


def test_the_list_as_a_table_and_as_json() -> None:
    assert table(JobsListed(1, (ROW,), 4)).splitlines() == [
        "job  name       status     tasks  waiting  running  done  failed  processors  command",
        "3    count·[2J  cancelled  50     1        2        40    7       2           task",
        "and 4 older ones",
    ]
    found = json.loads(document(JobsListed(1, (ROW,), 4)))
    assert list(found) == ["schema", "jobs", "older"]
    assert (found["schema"], found["older"]) == ("roundhouse.jobs/1", 4)
    assert found["jobs"] == [
        {
            "id": 3,
            "name": "count\x1b[2J",
            "status": "cancelled",
            "tasks": 50,
            "waiting": 1,
            "running": 2,
            "done": 40,
            "failed": 7,
            "processors": 2,
            "command": "task",
            "dir": "/srv",
            "logs": "/logs",
            "wants": None,
        }
    ]


def test_no_broker_of_this_user_is_status_2_and_says_where_orders_go(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(home)
    for line in ("jobs", "jobs hold 3", "stop 4", "stop --now --yes"):
        assert main([*line.split(), "--connect", NOWHERE]) == 2
    assert main(["submit", "--connect", NOWHERE, "--", "x", "of", "several", "words"]) == 2
    assert list(home.rglob("*.sh")) == [], "a script is made for a broker that is there"
    out, err = capsys.readouterr()
    assert (
        out == "" and err.count(f"roundhouse: no broker of this user is at {NOWHERE}: orders go over its control") == 5
    )
    assert err.count("give them on the broker's machine, as its user") == 5


def test_jobs_are_those_of_the_conversation(home: Path, capsys: Capture) -> None:
    assert main(["--system", "pingpong", "jobs"]) == 2
    assert capsys.readouterr().err == "roundhouse: --system: jobs are those of conversation, not of pingpong\n"


@pytest.mark.parametrize(
    ("answer", "scripts"), [(Refusal(1, "full"), []), (None, ["echo.sh"])], ids=["no", "nobody says whether"]
)
def test_a_script_goes_with_a_job_that_was_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, signals: Signals, answer: Answer | None, scripts: list[str]
) -> None:
    made = session(signals, [answer] if answer is not None else [])[0]
    monkeypatch.setattr("console.cli.jobs.session", lambda *_: nullcontext(made))
    monkeypatch.chdir(home)
    assert main(["submit", "--", "echo", "hello"]) == 1
    assert [path.name for path in home.rglob("*.sh")] == scripts
