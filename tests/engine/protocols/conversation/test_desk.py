"""The frontend half of the broker: bounds, the ledger, the lists and the legs."""

from __future__ import annotations

import pytest

from engine.core import Command, Note, Received, Send
from engine.parts.violations import Violations
from engine.protocols.conversation import desk as module
from engine.protocols.conversation import frontend, jobs
from engine.protocols.conversation.desk import ELSEWHERE, FRONTEND, OPEN, Desk
from engine.protocols.conversation.frontend import CancelJob, Hold, ListJobs, Refused, Release, StopWorkers, Submit
from engine.protocols.conversation.messages import Update
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import Bench, answer_in_words, array


def make(backlog: int = 100) -> Desk:
    return Desk(backlog, Violations())


def told(out: list[Command]) -> list[str]:
    return [answer_in_words(command.frames[1]) for command in out if isinstance(command, Send)]


def test_a_submission_is_taken_whole_or_refused_whole() -> None:
    bench = Bench(Options(backlog=5))
    assert bench.do("ask c1 1 submit echo 4") == ["c1 < [1] accepted 1"]
    assert bench.do("ask c1 2 submit echo 2") == ["c1 < [2] refused: full"]
    assert bench.do("ask c1 3 submit :ping") == []
    view = bench.broker.snapshot(bench.now)
    assert (view.backlog, view.ledger.sent, dict(view.counters)["refused requests"]) == (5, 5, 1)


def test_jobs_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_JOBS", 1)
    desk = make()
    out: list[Command] = []
    desk.take(b"c", 1, Submit(array("echo")), 1.0, out)
    desk.take(b"c", 2, Submit(array("echo")), 1.0, out)
    assert told(out) == ["[1] accepted 1", "[2] refused: full"]


def test_jobs_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HELD", 100)
    monkeypatch.setattr(jobs, "HISTORY", 0)
    desk = make()
    out: list[Command] = []
    for ref, command in ((1, "x" * 50), (2, "y" * 50)):
        desk.take(b"c", ref, Submit(array(command)), 1.0, out)
    desk.take(b"c", 3, CancelJob(1), 1.0, out)
    desk.take(b"c", 4, Submit(array("y" * 50)), 1.0, out)
    assert told(out)[:2] == ["[1] accepted 1", "[2] refused: full"] and told(out)[-1] == "[4] accepted 2"
    desk.jobs.check()


def test_a_list_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than a frame may be would end the client's connection."""
    monkeypatch.setattr(frontend, "MAX_LIST", 250)
    desk = make()
    out: list[Command] = []
    for name in ("a", "b", "c"):
        desk.take(b"c", 1, Submit(array("é" * 50, name=name), follow=False), 1.0, out)
    out.clear()
    desk.take(b"c", 2, ListJobs(), 1.0, out)
    assert told(out) == ["[2] 2 b waiting 1+0+0+0, 3 c waiting 1+0+0+0 and 1 more"]


def test_a_list_is_bounded_and_names_no_built_in_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "MAX_LISTED", 2)
    desk = make()
    out: list[Command] = []
    for command in ("a", ":ping", "b", "c"):
        desk.take(b"c", 1, Submit(array(command, name=f"n{command}"), follow=False), 1.0, out)
    out.clear()
    desk.take(b"c", 2, ListJobs(), 1.0, out)
    assert told(out) == ["[2] 3 nb waiting 1+0+0+0, 4 nc waiting 1+0+0+0 and 1 more"]


def test_an_array_of_built_in_tasks_is_accepted_and_ends_like_any_other() -> None:
    bench = Bench()
    bench.do("start w1 1")
    said = [line for line in bench.do("ask c1 1 submit :ping 2") if line.startswith("c1")]
    assert said == [
        "c1 < [1] accepted 1",
        "c1 < [1] task 1/1 done",
        "c1 < [1] task 1/2 done",
        "c1 < [1] job 1 finished: 2 done, 0 failed",
    ]


def test_every_sixteenth_task_of_a_run_is_timed() -> None:
    desk = make()
    for ref in (16, 17):
        out: list[Command] = []
        desk.take(b"c", ref, Submit(array(":ping")), 1.0, out)
        task = desk.jobs.next(1, 1)
        assert task is not None
        task.given = 2.0
        desk.finished(task, Update(task.job.id, 1, True, "done"), 3.0, out)
    assert desk.legs.view() == ((b"c", (16).to_bytes(8, "little"), 1.0, 2.0, 3.0),)


@pytest.mark.parametrize(
    "frames", [[], [b""], [b"", b""], [b"c"], [b"c", b"", b""], [b"c", b"\xc1"], [b"c", b"x", b"y"]]
)
def test_no_request(frames: list[bytes]) -> None:
    bench = Bench()
    out = bench.broker.handle(Received([frames], FRONTEND), bench.now)
    assert [type(command) for command in out] == [Note] and bench.broker.violations.total == 1


def test_a_keep_alive_is_answered_with_one() -> None:
    bench = Bench()
    assert bench.broker.handle(Received([[b"c", b""]], FRONTEND), bench.now) == [Send([b"c", b""], FRONTEND)]


def test_the_operators_own_notes() -> None:
    desk = make()
    out: list[Command] = []
    for answer in (
        Refused(0, "full"),
        frontend.Accepted(0, 3),
        frontend.JobEnded(0, 3, 4, 1, 2),
        frontend.JobsListed(0, (), 7),
        frontend.TaskEnded(0, 3, 1, True, "done", None),
    ):
        desk.say(b"", answer, out)
    assert out == [
        Note("warn", "refused: full"),
        Note("info", "job 3: so ordered"),
        Note("info", "job 3 cancelled: 1 done, 2 failed"),
        Note("info", "7 jobs"),
    ]


def test_over_the_open_port_a_lone_built_in_task_is_taken_and_answered_there() -> None:
    desk, out = Desk(10, Violations()), list[Command]()
    body = frontend.pack_request(3, Submit(array(":ping")))
    asked = desk.read([b"c", body], OPEN, 0.0, out)
    assert asked is not None and not out
    client, ref, request = asked
    assert client != b"c" and isinstance(request, Submit)
    desk.say(client, frontend.TaskEnded(ref, 1, 1, True, "done", None), out)
    (send,) = out
    assert isinstance(send, Send) and send.socket == OPEN and send.frames[0] == b"c"


@pytest.mark.parametrize(
    "request_",
    [Submit(array("echo")), Submit(array(":ping", 2)), ListJobs(), Hold(1), Release(1), CancelJob(1), StopWorkers(0)],
    ids=lambda request: type(request).__name__,
)
def test_over_the_open_port_everything_else_is_refused_and_counted(request_: frontend.Request) -> None:
    violations = Violations()
    desk, out = Desk(10, violations), list[Command]()
    assert desk.read([b"c", frontend.pack_request(3, request_)], OPEN, 0.0, out) is None
    (send,) = [command for command in out if isinstance(command, Send)]
    assert send == Send([b"c", frontend.pack_answer(Refused(3, ELSEWHERE))], OPEN)
    assert desk.refused == 1 and violations.total == 1


def test_a_keep_alive_is_answered_where_it_came() -> None:
    for socket in (FRONTEND, OPEN):
        out: list[Command] = []
        assert Desk(10, Violations()).read([b"c", b""], socket, 0.0, out) is None
        assert out == [Send([b"c", b""], socket)]
