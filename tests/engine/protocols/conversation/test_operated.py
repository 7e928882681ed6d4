"""What an operator orders of a conversation's broker."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note, Ordered, Woken
from engine.errors import Refused
from engine.labs.steered import refuse
from engine.parts.orders import Expire, Requeue, Throttle, Undrain
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import Bench


def bench(*lines: str, options: Options | None = None) -> Bench:
    made = Bench(options)
    for line in ("open p1", "say p1 OK(4)", *lines):
        made.do(line)
    made.take()
    return made


def given(it: Bench) -> list[str]:
    """The jobs that p1 was given, as client's job and task."""
    return [line.split()[3] for line in it.take() if line.startswith("p1 < JOB")]


def order(it: Bench, what: object) -> list[str]:
    it.event("broker", Ordered(what))
    it.broker.check()
    return given(it)


def ask(it: Bench, line: str) -> list[str]:
    return [said.split()[3] for said in it.do(line) if said.startswith("p1 < JOB")]


def test_a_pause_and_a_rate_hold_up_what_waits() -> None:
    it = bench()
    assert order(it, Throttle(0.0)) == [] and ask(it, "ask c1 1 submit echo 3") == []
    view = it.broker.snapshot(it.now)
    assert view.limits == ((b"", 0.0),) and ("dispatch", "paused") in view.terms and view.backlog == 3
    assert order(it, Throttle(2.0)) == ["1/1"]
    it.now = it.broker.wake_at()
    it.event("broker", Woken())
    assert given(it) == ["1/2"]
    assert order(it, Throttle(None)) == ["1/3"] and it.broker.jobfrontend.jobs.valve is None


def test_the_limit_of_one_client_lets_the_jobs_of_others_pass() -> None:
    it = bench()
    assert order(it, Throttle(0.0, b"c1")) == [] and ask(it, "ask c1 1 submit echo 2") == []
    assert ask(it, "ask c2 1 submit echo") == ["2/1"] and ask(it, "ask c1 2 submit echo") == []
    assert order(it, Throttle(None, b"c1")) == ["1/1", "1/2", "3/1"], "in their order"
    it.do("ask c1 9 cancel 3")
    it.broker.check()


def test_a_worker_is_expired_told_so_and_what_it_runs_is_given_to_others() -> None:
    it = bench("ask c1 1 submit echo")
    it.do("open p2")
    it.do("say p2 OK(1)")
    it.event("broker", Ordered(Expire(b"p1")))
    said = it.take()
    assert [line for line in said if "<" in line] == ["p1 < ERROR(3)", "p2 < JOB 1/1 #1"]
    assert it.do("say p1 UPDATE 1/1 done free 1")[-1] == "p1 < ERROR(3)", "it has no conversation any more"
    (note,) = (one for one in it.broker.handle(Ordered(Expire(b"p1")), it.now) if isinstance(one, Note))
    assert note == Note("warn", "no such worker to expire", b"p1", True)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (
            Undrain(b"w"),
            "conversation knows no undrain: a STOP takes a worker's processors for good; start another one",
        ),
        (Requeue(b"w"), "conversation knows no requeue: a task is a process of its worker; expire the worker, and"),
    ],
)
def test_what_it_can_not_take_it_refuses_in_words(what: object, why: str) -> None:
    with pytest.raises(Refused, match=why):
        refuse(SYSTEMS["conversation"], what)
