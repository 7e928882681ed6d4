"""The client core: bulk runs, orders and their answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Command, Finished, Note, Ordered, Paused, Received, Reopen, Send, Started, Unsent, Woken
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.orders import StopRun
from engine.parts.view import ClientView
from engine.protocols.conversation import client as module
from engine.protocols.conversation import frontend, messages
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.frontend import (
    Accepted,
    Answer,
    CancelJob,
    JobEnded,
    ListJobs,
    Refusal,
    StopWorkers,
    Submit,
    TaskEnded,
)
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import Bench, array
from tests.helpers.examples import examples


class Told:
    """A client, and what it says."""

    def __init__(self) -> None:
        self.core = Client(Options())
        self.now = 10.0
        self.notes: list[str] = []
        self.give(Started())

    def give(self, event: object) -> list[tuple[int, frontend.Request]]:
        """The requests that follow from an event; keep-alives are left out, notes kept."""
        out: list[Command] = self.core.handle(event, self.now)  # type: ignore[arg-type]
        self.core.check()
        asked = []
        for command in out:
            if isinstance(command, Note):
                self.notes.append(command.text)
            elif isinstance(command, Send) and command.frames != [b""]:
                request = frontend.request(command.frames[0])
                assert not isinstance(request, str)
                asked.append(request)
        return asked

    def order(self, order: object) -> list[tuple[int, frontend.Request]]:
        return self.give(Ordered(order))

    def hear(self, *answers: Answer) -> list[tuple[int, frontend.Request]]:
        return self.give(Received([[frontend.pack_answer(answer)] for answer in answers]))

    @property
    def view(self) -> ClientView:
        return self.core.snapshot(self.now)

    @property
    def run(self) -> BulkView:
        assert self.view.run is not None
        return self.view.run

    @property
    def answers(self) -> list[object]:
        return [numbered[1] for numbered in self.view.answers if isinstance(numbered, tuple)]


def done(ref: int, data: bytes | None = None) -> TaskEnded:
    return TaskEnded(ref, ref, 1, True, "done", data)


@pytest.mark.parametrize("spec", [BulkSpec("ping", 300), BulkSpec("data", 300, size=100, in_flight=7)])
def test_a_run_through_broker_and_workers_passes(spec: BulkSpec) -> None:
    bench = Bench()
    for line in ("start w1 4", "start w2 4", "client c1"):
        bench.do(line)
    bench.event("c1", Ordered(spec))
    view = bench.cores["c1"].snapshot(bench.now)
    assert view.linked and view.run.passed and view.run.bytes == 300 * spec.size and len(view.legs) == 300 // 16
    broker = bench.broker.snapshot(bench.now)
    assert broker.ledger.succeeded == 300 and broker.ledger.balanced and len(broker.legs) == len(view.legs)


def test_an_untracked_run_is_done_when_it_is_sent() -> None:
    told = Told()
    [(_, request)] = told.order(BulkSpec("ping", 1, tracked=False))
    assert request == Submit(messages.Description(0, "", 1, "", "", ":ping"), 1, False)
    assert told.run.passed and told.view.legs == ()


def test_a_window_is_kept_and_refilled() -> None:
    told = Told()
    refs = [ref for ref, _ in told.order(BulkSpec("ping", 5, in_flight=2))]
    assert refs == [1, 2]
    assert [ref for ref, _ in told.hear(done(2), done(1))] == [3, 4]


def test_wrong_data_failures_and_refusals() -> None:
    told = Told()
    told.order(BulkSpec("data", 6, size=3))
    right = messages.answer(":data 3")
    told.hear(
        done(1, right),
        done(2, b"xyz"),
        TaskEnded(3, 3, 1, False, "error encountered: lost", None),
        TaskEnded(6, 3, 1, False, messages.WITHDRAWN, None),
        Refusal(4, "full: more than 3 tasks of one client may not wait"),
        Refusal(5, "whatever a broker says"),
    )
    assert dict(told.run.ledger.failed) == {"wrong data": 1, "failed": 1, "withdrawn": 1, "full": 1, "refused": 1}
    assert told.run.ledger.succeeded == 1 and told.run.bytes == 3 and told.run.state == "ended"
    told.hear(done(2, right))
    assert told.view.late == 1


def test_timeouts_and_what_comes_after_them() -> None:
    told = Told()
    told.order(BulkSpec("ping", 16, in_flight=16, timeout=2.0))
    told.now += 2.0
    told.give(Woken())
    assert dict(told.run.ledger.failed) == {"timeout": 16}
    told.order(BulkSpec("ping", 1))
    told.hear(done(3), done(17))
    assert told.run.passed and told.view.late == 1


def test_one_run_at_a_time_and_its_end() -> None:
    told = Told()
    told.order(BulkSpec("ping", 10, in_flight=1))
    assert told.order(BulkSpec("ping", 1)) == [] and told.notes == ["a run is going on: stop it first"]
    told.order(StopRun())
    told.hear(done(1))
    assert told.run.state == "ended" and told.run.stopped
    told.order(BulkSpec("data", 1, size=messages.MAX_DATA + 1))
    assert told.notes[1:] == [f"a task has 0 to {messages.MAX_DATA:,} bytes of data: no run"]
    assert Told().order(StopRun()) == []


def test_a_message_that_can_not_be_sent() -> None:
    told = Told()
    out = told.core.handle(Ordered(BulkSpec("ping", 1)), told.now)
    told.core.handle(Ordered(ListJobs()), told.now)
    for command in out:
        if isinstance(command, Send):
            told.give(Unsent(command.frames, "full"))
    told.give(Unsent([frontend.pack_request(2, ListJobs())], "full"))
    told.give(Unsent([b""], "full"))
    assert dict(told.run.ledger.failed) == {"unsent": 1} and told.answers == [Refusal(2, "unsent")]


def test_what_is_out_when_the_broker_is_silent_is_asked_for_again_on_a_new_connection() -> None:
    told = Told()
    told.give(Received([[b""]]))
    told.order(BulkSpec("ping", 3, in_flight=2, timeout=9.0))
    ping = Submit(messages.Description(0, "", 1, "", "", ":ping"), 1, True, again=True)
    job = Submit(array("echo", 2))
    told.order(job)
    told.hear(done(1), Accepted(4, 7))
    told.now += 3.0
    assert told.give(Woken()) == [(4, job._replace(again=True)), (2, ping), (3, ping)]
    told.hear(done(2), done(3), Accepted(4, 7), done(2))
    assert told.run.passed and told.view.late == 1
    told.hear(JobEnded(4, 7, messages.FINISHED, 2, 0))
    assert told.notes.count("job 7: accepted") == 1 and told.notes[-1] == "job 7 ended: 2 done, 0 failed"
    told.now += 3.0
    assert told.give(Woken()) == []
    assert dict(told.view.terms)["asked again"] == "3"


def test_our_own_pause_is_not_the_brokers_silence() -> None:
    told = Told()
    told.give(Received([[b""]]))
    told.now += 10.0
    assert told.core.handle(Paused(10.0), told.now) == [Note("warn", "paused for 10.0 s"), Send([b""])]
    assert told.view.linked


def test_what_a_broker_does_not_know_any_more_is_not_waited_for() -> None:
    told = Told()
    told.order(Submit(array("echo")))
    told.hear(Accepted(1, 7))
    told.now += 3.0
    assert len(told.give(Woken())) == 1
    told.hear(Refusal(1, "not taken, or not known any more: it may have run"))
    told.now += 3.0
    assert told.give(Woken()) == [] and "refused: not taken, or not known any more: it may have run" in told.notes


def test_orders_and_their_answers() -> None:
    told = Told()
    assert told.order(Submit(array("echo", 2))) == [(1, Submit(array("echo", 2)))]
    assert told.order(StopWorkers(3)) == [(2, StopWorkers(3))]
    said: list[Answer] = [Accepted(1, 7), Accepted(2, 0), done(1), JobEnded(1, 7, 2, 1, 1)]
    told.hear(*said)
    assert told.answers == said and told.view.late == 0
    assert told.notes == ["job 7: accepted", "job 7 ended: 1 done, 1 failed"]
    told.hear(done(1))  # it has ended
    assert told.view.late == 1
    told.order(CancelJob(9))
    told.hear(Refusal(3, "no such job"))
    assert told.notes[2:] == ["refused: no such job"]


def test_an_order_that_nobody_answers() -> None:
    told = Told()
    told.order(Submit(array("echo")))
    told.now += module.PATIENCE
    told.give(Woken())
    assert told.answers == [Refusal(1, "no answer")] and told.notes == ["the broker did not answer an order"]
    told.hear(Accepted(1, 1))
    assert told.view.late == 1 and len(told.answers) == 1


def test_orders_beside_a_run_are_not_mixed_up() -> None:
    told = Told()
    told.order(BulkSpec("ping", 2, in_flight=1))
    assert told.order(Submit(array(":ping"))) == [(3, Submit(array(":ping")))]
    told.hear(done(3), done(1))
    told.hear(done(2))
    assert told.run.passed and told.answers == [done(3)]
    told.hear(done(3))
    assert told.view.late == 1
    told.hear(Accepted(1, 1))
    assert told.notes == ["violation: unexpected answer"]


def test_orders_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ORDERS", 1)
    told = Told()
    assert len(told.order(ListJobs())) == 1 and told.order(ListJobs()) == []
    assert told.notes == ["too many orders wait for an answer"]
    told.order(7)
    assert told.notes[1:] == ["a client takes no such order: int"]


def test_the_link() -> None:
    told = Told()
    seen = [told.view.linked]
    told.give(Received([[b""]]))
    for later in (0.0, 2.9, 0.1):
        told.now += later
        seen.append(told.view.linked)
    assert seen == [False, True, True, False]
    silent = Note("warn", "the broker is silent for 3 s: the socket is opened anew")
    assert told.core.handle(Woken(), told.now) == [silent, Reopen(), Send([b""])]
    assert told.core.wake_at() == told.now + 1.0
    told.now += 3.0
    assert told.core.handle(Woken(), told.now) == [Reopen(), Send([b""])]
    assert told.give(Finished(1, True, b"")) == [] and told.give(Paused(3.0)) == []


@examples(100)
@given(
    st.lists(
        st.lists(st.one_of(st.binary(max_size=30), st.just(frontend.pack_answer(done(1)))), max_size=2), max_size=20
    )
)
def test_random_messages(storm: list[list[bytes]]) -> None:
    told = Told()
    told.order(BulkSpec("ping", 3))
    for frames in storm:
        told.give(Received([frames]))
    assert told.run.ledger.balanced


def test_of_lists_the_newest_of_each_kind_is_kept_in_its_place_among_the_answers() -> None:
    """A console asks for the jobs every second: a thousand lists of a megabyte would be kept."""
    told = Told()
    row = frontend.JobRow(array("echo"), 1, 0, 0, 0, 0)
    tasks = frontend.TasksListed(2, row, (), 1, 0)
    answers = (frontend.JobsListed(1, (), 1), tasks, frontend.JobsListed(3, (), 2), Accepted(4, 7))
    for answer in answers:
        told.order(ListJobs())
        told.hear(answer)
    assert told.view.answers == tuple(zip((2, 3, 4), answers[1:], strict=True))
