"""Ping-pong under faults: what was accepted ends once, with the result of its own job, whatever happens to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core import (
    NEVER,
    Command,
    Event,
    Frames,
    Leave,
    Ordered,
    Received,
    Reopen,
    Seat,
    Send,
    Slow,
    Socket,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView, ClientView
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.messages import DONE, EXIT, FAILED, PING, PONG, READY
from engine.protocols.pingpong.options import Options
from engine.sim.wire import Link
from engine.sim.world import World

ENDPOINT = "inproc://pingpong"
OPTIONS = Options(task_deadline=6.0, probe_deadline=4.0, max_deliveries=50)
WORKERS = ("w1", "w2", "w3")
QUIET = 60.0  # seconds after the last fault in which everything must come to its end


class Original:
    """The original's worker: one thread, deaf and silent while it works, a new routing id when the broker is silent."""

    def __init__(self, takes: float) -> None:
        self.takes = takes  # seconds a job
        self.later: list[Frames] = []  # not read yet
        self.job: bytes | None = None
        self.free_at = self.ping_at = NEVER
        self.heard = 0.0
        self.lives = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        out: list[Command] = []
        match event:
            case Started():
                self._start(now, out)
            case Received(messages):
                self.later += messages
            case Woken() if now >= self.free_at and self.job is not None:
                out.append(Send([b"", self.job]))
                self.job, self.free_at = None, NEVER
        while self.later and self.job is None:
            body = self.later.pop(0)[1]
            self.heard = now
            if body not in (PONG, EXIT):
                self.job, self.free_at = body, now + self.takes
        if self.job is None and now >= self.heard + 3.0:
            self.lives += 1
            self.later.clear()
            out.append(Reopen(routing_id=b"original-%d" % self.lives))
            self._start(now, out)
        elif self.job is None and now >= self.ping_at:
            self.ping_at = now + 1.0
            out.append(Send([b"", PING]))
        return out

    def wake_at(self) -> float:
        return self.free_at if self.job is not None else min(self.ping_at, self.heard + 3.0)

    def check(self) -> None:
        assert (self.job is None) == (self.free_at == NEVER)

    def snapshot(self, now: float) -> Any:
        return now, self.job

    def _start(self, now: float, out: list[Command]) -> None:
        self.heard, self.ping_at = now, now + 1.0
        out.append(Send([b"", READY]))


class Asker:
    """A client whose every job is another one, so that a result tells whose it is."""

    def __init__(self) -> None:
        self.asked = 0
        self.ping_at = 0.0
        self.answers: dict[int, list[tuple[bytes, bytes]]] = {}

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case Ordered(int(n)):
                first, self.asked = self.asked, self.asked + n
                return [Send([b"", i.to_bytes(8, "little"), b"job %d" % i]) for i in range(first, self.asked)]
            case Received(messages):
                for _, task_id, status, result in (frames for frames in messages if frames != [b"", PONG]):
                    self.answers.setdefault(int.from_bytes(task_id, "little"), []).append((status, result))
            case Woken() if now >= self.ping_at:
                self.ping_at = now + 1.0
                return [Send([b"", PING])]
            case Unsent():
                raise AssertionError("a job did not fit into the outbox")
        return []

    def wake_at(self) -> float:
        return self.ping_at

    def check(self) -> None:
        for i, answers in self.answers.items():
            assert len(answers) == 1, f"job {i} ended twice: {answers}"
            status, result = answers[0]
            assert status == FAILED or (status, result) == (DONE, b"job %d" % i), f"job {i} got {status!r} {result!r}"

    def snapshot(self, now: float) -> Any:
        return now, len(self.answers)


def dealer(core: Any, endpoint: str, routing_id: bytes) -> Seat:
    return Seat(core, (Socket("dealer", connect=(endpoint,), routing_id=routing_id),))


def worker(name: str) -> Seat:
    return SYSTEM.worker(OPTIONS, ENDPOINT, int(name[1:]), 1)


def open_world(seed: int) -> World:
    world = World(seed)
    world.add("broker", SYSTEM.broker(OPTIONS, (ENDPOINT,)))
    for name in WORKERS:
        world.add(name, worker(name))
    world.add("original", dealer(Original(takes=3.5), ENDPOINT, b"original"))
    world.add("asker", dealer(Asker(), OPTIONS.frontend_of(ENDPOINT), b"asker"))
    world.add("client", SYSTEM.client(OPTIONS, ENDPOINT, 1))
    return world


def befall(world: World, fault: str, name: str, seconds: float) -> None:
    """One fault, or one of an operator's doings."""
    match fault:
        case "ask":
            world.order("asker", 1 + int(seconds))
        case "restart":
            world.restart(name, worker(name))
        case "freeze":
            world.freeze(name, seconds)
        case "freeze broker":
            world.freeze("broker", seconds)
        case "cut":
            world.cut(name, "broker")
            world.after(seconds, world.heal, name, "broker")
        case "reset":
            world.reset(name, "broker")
        case "reset original":
            world.reset("original", "broker")
        case "slow" if name in world.names:
            world.order(name, Slow(seconds / 2))
        case "leave" if name in world.names:
            world.order(name, Leave())
            world.after(seconds, lambda: None if name in world.names else world.add(name, worker(name)))


FAULTS = st.tuples(
    st.floats(0.0, 3.0),
    st.sampled_from(
        ("ask", "ask", "restart", "freeze", "freeze broker", "cut", "reset", "reset original", "slow", "leave")
    ),
    st.sampled_from(WORKERS),
    st.floats(0.1, 9.0),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.lists(FAULTS, max_size=25))
def test_what_was_accepted_ends_once_with_its_own_result(
    seed: int, faults: list[tuple[float, str, str, float]]
) -> None:
    world = open_world(seed)
    world.run_for(1.0)
    world.order("asker", 5)
    for pause, fault, name, seconds in faults:
        if name not in world.names and fault in ("restart", "freeze"):
            world.add(name, worker(name))
        befall(world, fault, name, seconds)
        world.run_for(pause)
    world.run_for(20.0)  # every freeze and cut has ended
    for name in WORKERS:
        if name not in world.names:
            world.add(name, worker(name))
        world.order(name, Slow(0.0))
    world.run_for(QUIET)
    view: BrokerView = world.pictures["broker"]
    assert (view.backlog, view.in_flight) == (0, 0)
    assert view.ledger.balanced
    asker: Asker = world.core("asker")
    assert sorted(asker.answers) == list(range(asker.asked)), "a job was accepted and never ended"
    assert {row.state for row in view.workers} <= {"ready", "lost"}
    assert sum(row.state == "ready" for row in view.workers) == len(WORKERS) + 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.floats(0.0, 0.3))
def test_single_losses_are_made_good(seed: int, loss: float) -> None:
    """ZeroMQ loses no single messages, but nothing here rests on that."""
    world = open_world(seed)
    world.link(Link(loss=loss))
    world.link(Link(), "asker", "broker")
    world.order("asker", 20)
    world.run_for(120.0)
    world.link(Link())
    world.run_for(QUIET)
    asker: Asker = world.core("asker")
    assert sorted(asker.answers) == list(range(20))
    view: BrokerView = world.pictures["broker"]
    assert (view.backlog, view.in_flight) == (0, 0)
    assert sum(row.state == "ready" for row in view.workers) == len(WORKERS) + 1


def test_a_killed_worker_costs_a_run_nothing() -> None:
    world = open_world(1)
    world.crash("original")  # it knows no data tasks
    world.run_for(1.0)
    world.order("client", BulkSpec("data", 3000, size=100, rate=1000.0, in_flight=1000))
    world.run_for(1.0)
    world.crash("w1")
    world.run_for(15.0)
    client: ClientView = world.pictures["client"]
    assert client.run is not None and client.run.passed, client.run
    assert (client.late, client.run.bytes) == (0, 300_000)


def test_a_frozen_worker_completes_no_task_twice() -> None:
    world = open_world(2)
    world.run_for(1.0)
    for name in ("w1", "w2", "w3"):
        world.order(name, Slow(0.5))
    world.order("asker", 4)
    world.run_for(0.2)
    world.freeze("w1", 12.0)
    world.run_for(10.0)
    assert {row.name: row.state for row in world.pictures["broker"].workers}["worker-1"] == "lost"
    world.run_for(QUIET)
    view: BrokerView = world.pictures["broker"]
    assert (view.ledger.sent, view.ledger.succeeded) == (4, 4)
    assert dict(view.counters)["late results"] == 1
    assert {row.name: row.state for row in view.workers}["worker-1"] == "ready"


def test_a_broker_that_starts_again_is_found_by_everybody() -> None:
    world = open_world(3)
    world.run_for(1.0)
    world.restart("broker", SYSTEM.broker(OPTIONS, (ENDPOINT,)))
    world.run_for(5.0)
    assert sum(row.state == "ready" for row in world.pictures["broker"].workers) == len(WORKERS) + 1
    assert world.pictures["client"].linked
    world.order("asker", 8)
    world.run_for(20.0)
    assert len(world.core("asker").answers) == 8


class Stranger:
    """It takes somebody's routing id and says nothing."""

    def handle(self, event: Event, now: float) -> list[Command]:
        return []

    def wake_at(self) -> float:
        return NEVER

    def check(self) -> None: ...

    def snapshot(self, now: float) -> Any:
        return now


def run_through(world: World, trouble: Callable[[], None]) -> ClientView:
    """3,000 pings, and something that happens to their client on the way."""
    world.crash("original")  # it takes seconds for a job
    world.run_for(1.0)
    world.order("client", BulkSpec("ping", 3000, in_flight=10, rate=300.0))
    world.run_for(1.0)
    trouble()
    world.run_for(30.0)
    view: ClientView = world.pictures["client"]
    assert view.linked and view.run is not None and view.run.state == "ended" and view.run.ledger.balanced
    books: BrokerView = world.pictures["broker"]
    assert (books.backlog, books.in_flight) == (0, 0) and books.ledger.balanced
    return view


def test_a_client_whose_id_is_taken_for_half_a_second_goes_on() -> None:
    """It was deaf for ever afterwards: runs stopped at 309 to 455 of 3,000."""
    world = open_world(4)

    def taken() -> None:
        world.add("stranger", dealer(Stranger(), OPTIONS.frontend_of(ENDPOINT), b"client-1"))
        world.after(0.5, world.crash, "stranger")

    view = run_through(world, taken)
    assert view.run is not None
    assert view.run.passed, view.run.ledger


@pytest.mark.parametrize("seconds", [2.0, 4.0, 8.0])
def test_a_client_whose_link_is_frozen_goes_on(seconds: float) -> None:
    """What is out when its patience ends is asked for again, or fails by name; the run goes to its end."""
    world = open_world(5)

    def frozen() -> None:
        world.cut("client", "broker")
        world.after(seconds, world.heal, "client", "broker")

    view = run_through(world, frozen)
    assert view.run is not None
    failed = dict(view.run.ledger.failed)
    assert view.run.ledger.succeeded + failed.pop("timeout", 0) == 3000 and not failed
    assert view.run.ledger.succeeded >= 2970, view.run.ledger


def test_what_waits_of_a_client_that_dies_is_withdrawn() -> None:
    world = open_world(6)
    for name in (*WORKERS, "original"):
        world.crash(name)
    world.order("client", BulkSpec("ping", 500, in_flight=500, timeout=60.0))
    world.run_for(2.0)
    assert world.pictures["broker"].backlog == 500
    world.crash("client")
    world.run_for(7.5)
    view: BrokerView = world.pictures["broker"]
    assert view.backlog == 0 and dict(view.ledger.failed) == {"withdrawn": 500} and view.ledger.balanced
