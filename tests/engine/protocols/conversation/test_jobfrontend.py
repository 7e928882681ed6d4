"""The frontend half of the broker: bounds, the ledger, the lists and the legs."""

from __future__ import annotations

import pytest

from engine.core import Command, Note, Ordered, Received, Send
from engine.parts.orders import Withdraw
from engine.parts.view import BrokerLeg
from engine.parts.violations import Violations
from engine.protocols.conversation import frontend, jobs
from engine.protocols.conversation import jobfrontend as module
from engine.protocols.conversation.frontend import CancelJob, Hold, ListJobs, Refusal, Release, StopWorkers, Submit
from engine.protocols.conversation.jobfrontend import ELSEWHERE, FRONTEND, OPEN, JobFrontend
from engine.protocols.conversation.messages import Update
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import Bench, answer_in_words, array


def make(backlog: int = 100) -> JobFrontend:
    return JobFrontend(Options(max_backlog=backlog), Violations())


def told(out: list[Command]) -> list[str]:
    return [answer_in_words(command.frames[1]) for command in out if isinstance(command, Send)]


def test_a_submission_is_taken_whole_or_refused_whole() -> None:
    bench = Bench(Options(max_backlog=5))
    assert bench.do("ask c1 1 submit echo 4") == ["c1 < [1] accepted 1"]
    assert bench.do("ask c1 2 submit echo 2") == ["c1 < [2] refused: full"]
    assert bench.do("ask c1 3 submit :ping") == []
    view = bench.broker.snapshot(bench.now)
    assert (view.backlog, view.ledger.sent, dict(view.counters)["refused requests"]) == (5, 5, 1)


def test_jobs_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_JOBS", 1)
    jobfrontend = make()
    out: list[Command] = []
    jobfrontend.take(b"c", 1, Submit(array("echo")), 1.0, out)
    jobfrontend.take(b"c", 2, Submit(array("echo")), 1.0, out)
    assert told(out) == ["[1] accepted 1", "[2] refused: full"]


def test_jobs_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HELD", 100)
    monkeypatch.setattr(jobs, "HISTORY", 0)
    jobfrontend = make()
    out: list[Command] = []
    for ref, command in ((1, "x" * 50), (2, "y" * 50)):
        jobfrontend.take(b"c", ref, Submit(array(command)), 1.0, out)
    jobfrontend.take(b"c", 3, CancelJob(1), 1.0, out)
    jobfrontend.take(b"c", 4, Submit(array("y" * 50)), 1.0, out)
    assert told(out)[:2] == ["[1] accepted 1", "[2] refused: full"] and told(out)[-1] == "[4] accepted 2"
    jobfrontend.jobs.check()


def test_a_list_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than a frame may be would end the client's connection."""
    monkeypatch.setattr(frontend, "MAX_LIST", 250)
    jobfrontend = make()
    out: list[Command] = []
    for name in ("a", "b", "c"):
        jobfrontend.take(b"c", 1, Submit(array("é" * 50, name=name), follow=False), 1.0, out)
    out.clear()
    jobfrontend.take(b"c", 2, ListJobs(), 1.0, out)
    assert told(out) == ["[2] 2 b waiting 1+0+0+0, 3 c waiting 1+0+0+0 and 1 more"]


def test_a_list_is_bounded_and_lone_built_in_tasks_that_wait_are_one_row_a_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frontend, "MAX_LISTED", 2)
    jobfrontend = make()
    out: list[Command] = []
    for command in ("a", ":ping", "b", "c", ":data 7"):
        jobfrontend.take(b"c", 1, Submit(array(command, name=f"n{command}"), follow=False), 1.0, out)
    jobfrontend.take(b"d", 1, Submit(array(":ping"), follow=False), 1.0, out)
    out.clear()
    jobfrontend.take(b"c", 2, ListJobs(), 1.0, out)
    rows = "3 nb waiting 1+0+0+0, 4 nc waiting 1+0+0+0, 2 c waiting 2+0+0+0, 6 d waiting 1+0+0+0"
    assert told(out) == [f"[2] {rows} and 1 more"]


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


@pytest.mark.parametrize("client", [b"c", jobs.OPEN_KEY + b"c"])
def test_every_sixteenth_task_of_a_run_is_timed_under_its_clients_routing_id(client: bytes) -> None:
    jobfrontend = make()
    for ref in (16, 17):
        out: list[Command] = []
        jobfrontend.take(client, ref, Submit(array(":ping")), 1.0, out)
        task = jobfrontend.jobs.next(1, 1)
        assert task is not None
        task.given, task.worker, task.attempt = 2.0, b"w", 1
        jobfrontend.finished(task, Update(task.job.id, 1, True, "done"), 3.0, out)
    assert jobfrontend.legs.view() == (BrokerLeg(b"c", (16).to_bytes(8, "little"), 1.0, 2.0, 3.0, b"w", 1),)


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
    jobfrontend = make()
    out: list[Command] = []
    for answer in (
        Refusal(0, "full"),
        frontend.Accepted(0, 3),
        frontend.JobEnded(0, 3, 4, 1, 2),
        frontend.JobsListed(0, (), 7),
        frontend.TaskEnded(0, 3, 1, True, "done", None),
    ):
        jobfrontend.say(b"", answer, out)
    assert out == [
        Note("warn", "refused: full"),
        Note("info", "job 3: so ordered"),
        Note("info", "job 3 cancelled: 1 done, 2 failed"),
        Note("info", "7 jobs"),
    ]


def test_over_the_open_port_a_lone_built_in_task_is_taken_and_answered_there() -> None:
    jobfrontend, out = JobFrontend(Options(max_backlog=10), Violations()), list[Command]()
    body = frontend.pack_request(3, Submit(array(":ping")))
    asked = jobfrontend.read([b"c", body], OPEN, 0.0, out)
    assert asked is not None and not out
    client, ref, request = asked
    assert client != b"c" and isinstance(request, Submit)
    jobfrontend.say(client, frontend.TaskEnded(ref, 1, 1, True, "done", None), out)
    (send,) = out
    assert isinstance(send, Send) and send.socket == OPEN and send.frames[0] == b"c"


@pytest.mark.parametrize(
    "request_",
    [Submit(array("echo")), Submit(array(":ping", 2)), ListJobs(), Hold(1), Release(1), CancelJob(1), StopWorkers(0)],
    ids=lambda request: type(request).__name__,
)
def test_over_the_open_port_everything_else_is_refused_and_counted(request_: frontend.Request) -> None:
    violations = Violations()
    jobfrontend, out = JobFrontend(Options(max_backlog=10), violations), list[Command]()
    assert jobfrontend.read([b"c", frontend.pack_request(3, request_)], OPEN, 0.0, out) is None
    (send,) = [command for command in out if isinstance(command, Send)]
    assert send == Send([b"c", frontend.pack_answer(Refusal(3, ELSEWHERE))], OPEN)
    assert jobfrontend.refused == 1 and violations.total == 1


def test_a_keep_alive_is_answered_where_it_came() -> None:
    for socket in (FRONTEND, OPEN):
        out: list[Command] = []
        assert JobFrontend(Options(max_backlog=10), Violations()).read([b"c", b""], socket, 0.0, out) is None
        assert out == [Send([b"c", b""], socket)]


# ---- owners -----------------------------------------------------------------------------------------------------


def books(bench: Bench) -> tuple[int, int, dict[str, int]]:
    view = bench.broker.snapshot(bench.now)
    assert view.ledger.balanced
    return view.backlog, view.in_flight, dict(view.ledger.failed)


def test_one_message_for_all_tasks_of_the_backlog_leaves_room_and_is_seen_and_removed() -> None:
    """One asked for 999,999 tasks of 1,024 processors: nobody saw it, and 167 of 200 honest ones were refused."""
    bench = Bench()
    refused = "full: more than 100000 tasks of one client may not wait"
    assert bench.do("ask greedy 1 submit :ping 999999 slots 1024") == [f"greedy < [1] refused: {refused}"]
    assert bench.do("ask greedy 2 submit :ping 100000 slots 1024") == ["greedy < [2] accepted 1"]
    assert bench.do("ask greedy 3 submit :ping slots 1024") == [f"greedy < [3] refused: {refused}"]
    for client in range(200):
        assert bench.do(f"ask h{client} 1 submit echo") == [f"h{client} < [1] accepted {client + 2}"]
    assert books(bench) == (100_200, 0, {})
    assert dict(bench.broker.snapshot(bench.now).terms)["client greedy"] == "100,000 tasks waiting, of 1 job, 21 bytes"
    (listed,) = bench.do("ask operator 1 jobs")
    assert listed.startswith("operator < [1] 1 job waiting 100000+0+0+0, 2 job waiting 1+0+0+0")
    assert bench.do("ask operator 2 cancel 1") == [
        "greedy < [2] job 1 cancelled: 0 done, 100000 failed",
        "operator < [2] accepted 1",
    ]
    assert books(bench) == (200, 0, {"cancelled": 100_000})


def test_what_waits_of_a_client_that_is_gone_is_withdrawn_and_it_is_told() -> None:
    bench = Bench()
    bench.do("ask gone 1 submit echo 5")
    bench.do("ask gone 2 submit :ping")
    bench.do("ask here 1 submit echo 2")
    for _ in range(6):
        assert bench.do("wait 0.99") == []
        bench.event("broker", Received([[b"here", b""]], FRONTEND))
        bench.take()
    assert bench.do("wait 0.1") == [
        "gone < [1] job 1 cancelled: 0 done, 5 failed",
        "gone < [2] task 2/1 error encountered: withdrawn",
        "broker: 6 tasks withdrawn from the backlog: clients are silent",
    ]
    assert books(bench) == (2, 0, {"withdrawn": 6})


def test_a_job_that_nobody_follows_goes_on_without_its_client_as_the_operators() -> None:
    bench = Bench()
    bench.do("ask gone 1 submit echo 3 quiet")
    bench.do("ask gone 2 submit :ping 3 quiet")  # whose end nobody else can want to know
    assert bench.do("wait 7") == ["broker: 3 tasks withdrawn from the backlog: clients are silent"]
    assert books(bench) == (3, 0, {"withdrawn": 3})
    assert bench.do("ask operator 1 jobs") == ["operator < [1] 1 job waiting 3+0+0+0"]
    assert bench.do("start w1 3")[-3:] == [f"w1 starts {n}: echo {n} /srv /srv/logs/job_{n}" for n in (1, 2, 3)]


def test_what_came_through_the_control_socket_is_the_operators() -> None:
    """It sends no keep-alives, and a ``submit --wait`` that is interrupted says that its job goes on."""
    bench = Bench()
    assert bench.do("ask control 1 submit echo 200000") == ["control < [1] accepted 1"]
    assert bench.do("wait 60") == []
    assert books(bench) == (200_000, 0, {})


def test_over_the_open_port_what_waits_of_a_client_that_is_gone_is_withdrawn_too() -> None:
    bench = Bench()
    body = frontend.pack_request(1, Submit(array(":ping")))
    for client in (b"gone", b"here"):
        bench.event("broker", Received([[client, body]], OPEN))
    assert dict(bench.broker.snapshot(bench.now).terms)["client gone"] == "1 task waiting, of 1 job, 21 bytes"
    assert bench.do("ask operator 1 jobs") == ["operator < [1] 1 gone waiting 1+0+0+0, 2 here waiting 1+0+0+0"]
    bench.do("wait 5")
    bench.event("broker", Received([[b"here", b""]], OPEN))
    bench.do("wait 1")
    assert books(bench) == (1, 0, {"withdrawn": 1})
    bench.event("broker", Ordered(Withdraw(b"here")))
    assert books(bench) == (0, 0, {"withdrawn": 2})


def test_over_the_open_port_a_task_takes_one_processor() -> None:
    """A flipped bit asked for 65 processors, and the task waited as long as its client lived."""
    bench = Bench()
    bench.event("broker", Received([[b"c", frontend.pack_request(1, Submit(array(":ping"), 65))]], OPEN))
    assert books(bench) == (0, 0, {}) and bench.broker.jobfrontend.refused == 1


def test_what_runs_of_a_client_that_is_gone_ends_but_is_not_given_again() -> None:
    bench = Bench()
    bench.do("start w1 1")
    bench.do("start w2 1")
    bench.do("ask gone 1 submit echo 2")
    bench.do("wait 7")
    assert books(bench) == (0, 2, {})
    bench.do("end w1 done")
    said = bench.do("gone w2")
    assert said == [
        "gone < [1] task 1/2 error encountered: cancelled",
        "gone < [1] job 1 cancelled: 1 done, 1 failed",
        "broker: w2 is unreachable, 1 task out",
    ]
    assert books(bench) == (0, 0, {"cancelled": 1})


def test_an_operator_withdraws_what_waits_of_a_client() -> None:
    bench = Bench()
    for client in ("c1", "c2"):
        bench.do(f"ask {client} 1 submit echo 2 quiet")
        bench.do(f"ask {client} 2 submit :ping")
    bench.event("broker", Ordered(Withdraw(b"c1")))
    assert bench.take() == ["c1 < [2] task 2/1 error encountered: withdrawn"]
    bench.event("broker", Ordered(Withdraw(b"")))  # not the operator's own
    assert books(bench) == (3, 0, {"withdrawn": 3})


def test_to_cancel_a_row_of_lone_tasks_drops_all_of_that_client() -> None:
    bench = Bench()
    for client in ("c1", "c2"):
        for ref in (1, 2):
            bench.do(f"ask {client} {ref} submit :ping")
    assert bench.do("ask operator 1 jobs") == ["operator < [1] 1 c1 waiting 2+0+0+0, 3 c2 waiting 2+0+0+0"]
    assert bench.do("ask operator 2 cancel 1") == [
        "c1 < [1] task 1/1 error encountered: withdrawn",
        "c1 < [2] task 2/1 error encountered: withdrawn",
        "operator < [2] accepted 1",
    ]
    assert books(bench) == (2, 0, {"withdrawn": 2})


def again(bench: Bench, ref: int, submit: Submit) -> list[str]:
    body = frontend.pack_request(ref, submit._replace(again=True))
    bench.event("broker", Received([[b"c1", body]], FRONTEND))
    return bench.take()


def test_what_is_asked_for_again_is_taken_once_and_answered_with_what_became_of_it() -> None:
    bench = Bench()
    bench.do("ask c1 1 submit echo 2")
    bench.do("ask c1 2 submit :ping")
    assert again(bench, 1, Submit(array("echo", 2))) == ["c1 < [1] accepted 1"]
    assert again(bench, 2, Submit(array(":ping"))) == []
    assert books(bench) == (3, 0, {})
    bench.do("start w1 3")
    for _ in range(2):
        bench.do("end w1 done")
    assert again(bench, 1, Submit(array("echo", 2))) == [
        "c1 < [1] accepted 1",
        "c1 < [1] job 1 finished: 2 done, 0 failed",
    ]
    assert dict(bench.broker.snapshot(bench.now).counters)["asked again"] == 3
    assert bench.broker.snapshot(bench.now).ledger.sent == 3


def test_a_submission_that_comes_twice_is_taken_once() -> None:
    jobfrontend = make()
    out: list[Command] = []
    job = Submit(array("echo", 2), 1, False)
    for ref, submit in (
        (1, job),
        (1, job),
        (2, job),
        (1, Submit(array("date"), 1, False)),
        (3, Submit(array(":ping"))),
    ):
        jobfrontend.take(b"c", ref, submit, 1.0, out)
    assert told(out) == ["[1] accepted 1", "[1] accepted 1", "[2] accepted 2", "[1] accepted 3"]
    jobfrontend.take(b"c", 3, Submit(array(":ping")), 1.0, out)
    assert len(told(out)) == 4 and jobfrontend.jobs.queued == 6 == jobfrontend.ledger.sent and jobfrontend.again == 2


def test_numbers_of_the_control_socket_repeat() -> None:
    jobfrontend = make()
    out: list[Command] = []
    for _ in range(2):
        jobfrontend.take(frontend.CONTROL, 1, Submit(array("echo"), 1, False), 1.0, out)
    assert told(out) == ["[1] accepted 1", "[1] accepted 2"]


def test_a_command_that_is_not_known_is_not_run_because_it_is_asked_for_again() -> None:
    bench = Bench()
    refused = "c1 < [1] refused: not taken, or not known any more: it may have run"
    assert again(bench, 1, Submit(array("echo"))) == [refused]
    assert again(bench, 2, Submit(array(":ping"))) == []
    assert books(bench) == (1, 0, {})


def test_kinds_of_worker_that_one_client_asks_for_are_bounded() -> None:
    bench = Bench()
    for slots in range(1, 65):
        bench.do(f"ask c1 {slots} submit :ping slots {slots}")
    refused = "full: one client may not ask for more than 64 kinds of worker"
    assert bench.do("ask c1 65 submit :ping slots 65") == [f"c1 < [65] refused: {refused}"]
    assert bench.do("ask c2 1 submit :ping slots 65") == []


def test_a_routing_id_that_no_socket_can_have_is_refused() -> None:
    bench = Bench()
    for frames in ([b"x" * 256, b""], [b"x" * 256, frontend.pack_request(1, Submit(array(":ping")))]):
        out = bench.broker.handle(Received([frames], FRONTEND), bench.now)
        assert all(type(command) is Note for command in out)
    (incident,) = bench.broker.violations.newest()
    assert (incident.reason, incident.times, len(incident.peer)) == ("routing id too long", 2, 255)
    assert books(bench) == (0, 0, {})


# ---- tasks of a job ---------------------------------------------------------------------------------------------


def test_each_task_of_a_job_is_told_with_its_worker_its_attempts_its_times_and_its_log() -> None:
    bench = Bench()
    for name in ("w1", "w2"):
        bench.do(f"start {name} 1")
    bench.do("ask c1 1 submit echo 4")
    bench.now += 0.5
    assert "broker: job 1, task 1 failed on w1: exit status 7" in bench.do("end w1 exit_status_7 job_1.log")
    bench.do("end w2 done job_2-1.log")
    bench.now += 0.25
    tasks = ["1 failed w1 x1 0.75/0.5 exit status 7 job_1.log", "2 done w2 x1 0.75/0.5 done job_2-1.log"]
    running = ["3 running w1 x1 0.25", "4 running w2 x1 0.25"]
    assert bench.do("ask c1 2 tasks 1") == ["c1 < [2] 1: " + ", ".join(tasks + running)]
    assert bench.do("ask c1 3 tasks 1 failed") == [f"c1 < [3] 1: {tasks[0]}"]
    assert bench.do("ask c1 4 tasks 1 3") == [f"c1 < [4] 1: {running[1]}"]
    bench.do("gone w2")
    told = bench.do("ask c1 5 tasks 1")
    assert told == [f"c1 < [5] 1: {', '.join([*tasks, running[0], '4 waiting w2 x1 0.25 lost'])}"]
    bench.do("end w1 done ../../etc/passwd")
    assert bench.do("ask c1 6 tasks 1 2")[0].startswith("c1 < [6] 1: 3 done w1 x1 0.25/0.25 done, 4 running w1 x2 0")


def test_tasks_of_what_is_no_job_are_refused() -> None:
    bench = Bench()
    bench.do("ask c1 1 submit :ping")
    assert bench.do("ask c1 2 tasks 1") == ["c1 < [2] refused: no such job"]
    assert bench.do("ask c1 3 tasks 7") == ["c1 < [3] refused: no such job"]


def test_an_answer_has_a_bound_and_says_what_is_left_and_what_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "MAX_TASKS", 2)
    monkeypatch.setattr("engine.protocols.conversation.past.KEPT", 3)
    bench = Bench()
    bench.do("start w1 4")
    bench.do("ask c1 1 submit echo 6")
    for _ in range(4):
        bench.do("end w1 done")
    bench.do("ask c1 2 cancel 1")
    (told,) = bench.do("ask c1 3 tasks 1")
    assert told == "c1 < [3] 1: 2 done w1 x1 0/0 done, 3 done w1 x1 0/0 done and 3 more, 1 forgotten"


def test_failures_are_told_one_by_one_up_to_a_bound() -> None:
    bench = Bench()
    bench.do("start w1 30")
    bench.do("ask c1 1 submit echo 30")
    told = [line for _ in range(30) for line in bench.do("end w1 exit_status_1") if line.startswith("broker: ")]
    assert len(told) == module.TOLD
    assert told[-1].endswith("exit status 1; its further failures are not told one by one")


def test_a_task_that_no_worker_is_large_enough_for_says_so_until_one_is() -> None:
    bench = Bench()
    bench.do("start w1 4")
    bench.do("start w2 2")
    bench.do("ask c1 1 submit echo 2 slots 9")
    waits = "c1 < [2] 1 job waiting 2+0+0+0 needs 9 processors, the largest worker has 4"
    assert bench.do("ask c1 2 jobs") == [waits]
    bench.do("order w1 leave")
    assert bench.do("ask c1 3 jobs")[0].endswith("the largest worker has 2")
    bench.do("start w3 9")
    assert bench.do("ask c1 4 jobs") == ["c1 < [4] 1 job running 1+1+0+0"]
