"""A conversation's broker with a store: on the job frontend, whose store answers when the test says, and in storms."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Command, Event, Ordered, Received, Seat, Send, Socket, Woken
from engine.parts.bulk import BulkSpec
from engine.parts.keeping import RETRY
from engine.protocols.conversation import SYSTEM, frontend
from engine.protocols.conversation.frontend import Accepted, JobEnded, Submit, TaskEnded
from engine.protocols.conversation.options import Options
from engine.sim.wire import Link
from engine.sim.world import Outcome, World
from tests.helpers.conversation import Bench, array
from tests.helpers.examples import examples
from tests.helpers.storm import Step, Storm, scripts

TAG = b"twelve bytes"


def bench() -> Bench:
    return Bench(Options(backlog="sqlite:"))


def heard(said: list[str]) -> list[str]:
    return [line for line in said if line.startswith("c1 <")]


# ---- a store that does not take it -----------------------------------------------------------------------------------


def test_what_the_store_refuses_is_refused_with_its_reason_and_what_was_accepted_ends_well() -> None:
    it = bench()
    it.do("start w1 1")
    it.do("ask c1 1 submit echo 2")
    it.store.room = 0
    assert heard(it.do("ask c1 2 submit echo 1")) == ["c1 < [2] refused: the store is full: it holds 0 tasks"]
    assert it.broker.snapshot(it.now).kept == (2, 0, "the store is full: it holds 0 tasks")
    assert heard(it.do("end w1 done")) == []  # how far it came is to be written first
    it.store.room = 100
    assert heard(it.do(f"wait {RETRY + 0.1}")) == ["c1 < [1] task 1/1 done"]
    it.store.room = 0
    it.do("ask c1 3 submit echo 1")
    assert heard(it.do("end w1 done")) == ["c1 < [1] task 1/2 done", "c1 < [1] job 1 finished: 2 done, 0 failed"]
    assert it.store.counts().leased == 0


@pytest.mark.parametrize("how", [{"room": 0}, {"down": "away"}])
def test_how_far_a_job_has_come_is_written_again_where_that_was_refused(how: dict[str, Any]) -> None:
    it = bench()
    for line in ("start w1 1", "ask c1 1 submit echo 3"):
        it.do(line)
    for name, value in how.items():
        setattr(it.store, name, value)
    assert heard(it.do("end w1 done")) == heard(it.do("end w1 done")) == []
    it.store.room, it.store.down = 100, ""
    assert heard(it.do(f"wait {RETRY + 0.1}")) == ["c1 < [1] task 1/1 done", "c1 < [1] task 1/2 done"]
    it.restart()
    it.do("start w2 1")
    assert heard(it.do("end w2 done")) == ["c1 < [1] task 1/3 done", "c1 < [1] job 1 finished: 3 done, 0 failed"]


def test_a_store_that_is_away_when_its_broker_begins_is_waited_for() -> None:
    it = bench()
    it.do("ask c1 1 submit echo 1")
    it.store.down = "away"
    it.restart()
    assert heard(it.do("ask c1 2 submit echo 1")) == ["c1 < [2] refused: away"]
    it.store.down = ""
    it.do(f"wait {RETRY + 0.1}")
    assert heard(it.do("ask c1 3 jobs")) == ["c1 < [3] 1 job waiting 1+0+0+0"]


# ---- storms ----------------------------------------------------------------------------------------------------------

AT, WITHIN = "tcp://b:6716", "inproc://b"
OPTIONS = Options(heartbeat=0.5, expiry=1.5, tries=1000, backlog="sqlite:")
WORKERS = ("w1", "w2", "w3")


class Asker:
    """A client of real jobs that asks again once a second for what has not ended."""

    def __init__(self) -> None:
        self.jobs: dict[int, Submit] = {}
        self.known: dict[int, int] = {}  # Ref → its job
        self.ended: dict[int, list[int]] = {}
        self.closed: dict[int, JobEnded] = {}
        self.beat_at = 0.0

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case Ordered(int(n)):
                ref = len(self.jobs) + 1
                self.jobs[ref] = Submit(array("echo", n), 1 + ref % 3, ident=ref.to_bytes(16, "big"))
                return [Send([frontend.pack_request(ref, self.jobs[ref])])]
            case Received(messages):
                for [body] in messages:
                    if body:
                        self._hear(frontend.answer(body))
            case Woken() if now >= self.beat_at:
                self.beat_at = now + 1.0
                due = [(ref, job._replace(again=True)) for ref, job in self.jobs.items() if ref not in self.closed]
                return [Send([b""]), *(Send([frontend.pack_request(*asked)]) for asked in due)]
        return []

    def _hear(self, answer: object) -> None:
        match answer:
            case Accepted(ref, job_id):
                assert self.known.setdefault(ref, job_id) == job_id, "a job has two ids"
            case TaskEnded(ref, _, task, True):
                self.ended.setdefault(ref, []).append(task)
            case JobEnded(ref):
                assert self.closed.setdefault(ref, answer)[1:] == answer[1:], "a job ended in two ways"
            case _:
                raise AssertionError(answer)

    def wake_at(self) -> float:
        return self.beat_at

    def check(self) -> None:
        for ref, ended in self.ended.items():
            assert len(ended) == len(set(ended)), f"a task of {ref} was told twice"

    def snapshot(self, now: float) -> int:
        return len(self.closed)


def opened(seed: int) -> tuple[World, Storm]:
    world = World(seed, bodies=lambda _, start: Outcome((start.key * 7 % 23) / 10, True, b"done"))  # type: ignore[operator]
    seats: dict[str, Any] = {
        "broker": lambda: SYSTEM.broker(OPTIONS, (AT, WITHIN)),
        **{name: lambda i=int(name[1:]): SYSTEM.worker(OPTIONS, AT, i, 1 + i) for name in WORKERS},
    }
    for name, seat in seats.items():
        world.add(name, seat())
    world.add("asker", Seat(Asker(), (Socket("dealer", connect=(f"{WITHIN}-frontend",), routing_id=b"asker"),)))
    world.add("client", SYSTEM.client(OPTIONS, AT, 9))
    acts = {"ask": lambda _, amount: world.order("asker", 1 + int(8 * amount))}
    return world, Storm(world, "broker", seats, acts)


@examples(40)
@given(
    st.integers(0, 2**32), scripts(("ask", "ask", "crash", "restart", "restart", "freeze", "cut", "heal", "bad link"))
)
def test_what_was_accepted_ends_once_whoever_dies(seed: int, script: list[Step]) -> None:
    world, storm = opened(seed)
    world.link(Link(loss=0.1), "asker", "broker")  # and nothing twice, so that what is told twice was said twice
    world.run_for(1.0)
    world.order("asker", 5)
    storm.rage(script)
    storm.calm()
    world.run_for(25.0)  # every freeze has ended
    for name, seat in storm.seats.items():
        if name not in world.names:
            world.restart(name, seat())
    asker: Asker = world.core("asker")
    assert world.run_until(lambda _: asker.closed.keys() == asker.jobs.keys(), 90.0), (asker.jobs, asker.closed)
    for ref, job in asker.jobs.items():
        assert asker.closed[ref][3:] == (job.job.num_tasks, 0)
        assert set(asker.ended.get(ref, ())) <= set(range(1, job.job.num_tasks + 1))
    world.run_for(5.0)
    counts = world.stores["broker"].counts()
    assert counts.leased == counts.waiting == 0 and counts.balanced and counts.results == len(asker.jobs)
    assert world.picture("broker").ledger.balanced


@pytest.mark.parametrize("seed", range(2))
def test_a_broker_that_is_killed_again_and_again_loses_nothing(seed: int) -> None:
    world, storm = opened(seed)
    world.run_for(1.0)
    world.order("client", BulkSpec("ping", 300, in_flight=40, timeout=60.0, tag=TAG))
    for name in WORKERS:
        world.run_for(0.03)
        world.restart("broker", storm.seats["broker"]())
        world.run_for(0.2)
        world.restart(name, storm.seats[name]())
    assert world.run_until(lambda world: world.picture("client").run.state == "ended", 60.0)
    assert world.picture("client").run.passed
    assert world.stores["broker"].counts() == (300, 300, (), 0, 0, 300, 0)


def test_a_run_is_told_why_its_tasks_are_refused() -> None:
    world, _ = opened(1)
    world.run_for(1.0)
    world.stores["broker"].down = "away"
    world.order("client", BulkSpec("ping", 20, timeout=60.0, tag=TAG))
    assert world.run_until(lambda world: (run := world.picture("client").run) and run.state == "ended", 20.0)
    assert world.picture("client").run.ledger.failed == (("away", 20),)
