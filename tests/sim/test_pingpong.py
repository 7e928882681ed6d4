"""Ping-pong under faults: what was accepted ends once, with the result of its own job, whatever happens to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    NEVER,
    Command,
    Event,
    Frames,
    Ordered,
    Received,
    Reopen,
    Seat,
    Send,
    Socket,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Leave, Slow
from engine.parts.view import BrokerView, ClientView
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.messages import DONE, EXIT, FAILED, PING, PONG, READY
from engine.protocols.pingpong.options import Options
from engine.sim.wire import Link
from engine.sim.world import World
from tests.helpers.examples import examples, seeds

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


@examples(60)
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
    view: BrokerView = world.picture("broker")
    assert (view.backlog, view.in_flight) == (0, 0)
    assert view.ledger.balanced
    asker: Asker = world.core("asker")
    assert sorted(asker.answers) == list(range(asker.asked)), "a job was accepted and never ended"
    assert {row.state for row in view.workers} <= {"ready", "lost"}
    assert sum(row.state == "ready" for row in view.workers) == len(WORKERS) + 1


@examples(25)
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
    view: BrokerView = world.picture("broker")
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
    client: ClientView = world.picture("client")
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
    assert {row.name: row.state for row in world.picture("broker").workers}["worker-1"] == "lost"
    world.run_for(QUIET)
    view: BrokerView = world.picture("broker")
    assert (view.ledger.sent, view.ledger.succeeded) == (4, 4)
    assert dict(view.counters)["late results"] == 1
    assert {row.name: row.state for row in view.workers}["worker-1"] == "ready"


def test_a_broker_that_starts_again_is_found_by_everybody() -> None:
    world = open_world(3)
    world.run_for(1.0)
    world.restart("broker", SYSTEM.broker(OPTIONS, (ENDPOINT,)))
    world.run_for(5.0)
    assert sum(row.state == "ready" for row in world.picture("broker").workers) == len(WORKERS) + 1
    assert world.picture("client").linked
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
    view: ClientView = world.picture("client")
    assert view.linked and view.run is not None and view.run.state == "ended" and view.run.ledger.balanced
    books: BrokerView = world.picture("broker")
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
    assert world.picture("broker").backlog == 500
    world.crash("client")
    world.run_for(7.5)
    view: BrokerView = world.picture("broker")
    assert view.backlog == 0 and dict(view.ledger.failed) == {"withdrawn": 500} and view.ledger.balanced


# ---- over tcp, where connections break and cores hear of it ----------------------------------------------------------

TCP = "tcp://127.0.0.1:6715"
HEALED = 3 * OPTIONS.ping_every + 1.0  # seconds within which all is well again


def over_tcp(seed: int, options: Options = OPTIONS, workers: int = 4) -> World:
    world = World(seed)
    world.add("broker", SYSTEM.broker(options, (TCP,)))
    for number in range(1, workers + 1):
        world.add(f"w{number}", SYSTEM.worker(options, TCP, number, 1))
    world.add("client", SYSTEM.client(options, TCP, 1))
    world.run_for(1.5)
    return world


def slots_are_back(world: World) -> bool:
    view: BrokerView = world.picture("broker")
    return (view.backlog, view.in_flight) == (0, 0) and all(row.state == "ready" for row in view.workers)


@pytest.mark.parametrize("seed", seeds(4))
def test_resets_under_load_heal_within_three_heartbeats(seed: int) -> None:
    """Jobs and results that were under way are asked of workers again at once, not at their deadline."""
    world = over_tcp(seed, Options(probe_deadline=30.0, task_deadline=60.0))
    world.link(Link(delay=(0.005, 0.05)))
    world.order("client", BulkSpec("ping", 800, in_flight=40, rate=60.0, timeout=HEALED))
    for _ in range(3):
        for name in ("w1", "w2", "w3", "w4", "client"):
            world.run_for(0.4)
            world.reset(name, "broker")
    assert world.run_until(lambda world: world.picture("client").run.state == "ended", 30.0)
    view: ClientView = world.picture("client")
    assert view.run is not None
    assert view.run.passed, view.run.ledger
    assert world.run_until(slots_are_back, HEALED)


def test_a_reset_while_a_worker_works_gives_its_job_to_nobody_else() -> None:
    world = over_tcp(1, workers=2)
    world.order("w1", Slow(2.5))
    world.order("w2", Slow(2.5))
    world.order("client", BulkSpec("ping", 2, in_flight=2, timeout=9.0))
    world.run_for(1.5)
    world.reset("w1", "broker")
    world.run_for(5.0)
    view: BrokerView = world.picture("broker")
    counted = dict(view.counters)
    assert (view.ledger.succeeded, counted["re-deliveries"], counted["restarts"], counted["late results"]) == (
        2,
        0,
        0,
        0,
    )


def test_a_reset_takes_the_job_of_an_original_worker_and_the_broker_acts_alone() -> None:
    """It does not know that its connection broke, and does not say READY: its next PING tells that it has no job."""
    world = over_tcp(2, Options(task_deadline=60.0), workers=0)
    world.add("original", dealer(Original(takes=0.2), TCP, b"original"))
    asker = dealer(Asker(), OPTIONS.frontend_of(TCP), b"asker")
    world.add("asker", asker)
    world.run_for(1.0)
    world.link(Link(delay=(0.3, 0.3)), "original", "broker")
    world.order("asker", 1)
    world.run_for(0.2)  # the job is under way
    world.reset("original", "broker")
    world.link(Link(), "original", "broker")
    assert world.run_until(
        lambda world: bool(world.core("asker").answers), HEALED + 3.0
    )  # its own silence is its remedy
    assert world.core("asker").answers == {0: [(DONE, b"job 0")]}


@pytest.mark.parametrize("seconds", [4.0, 9.0])
def test_half_open_links_heal_within_three_heartbeats_of_their_end(seconds: float) -> None:
    world = over_tcp(3)
    world.order("client", BulkSpec("ping", 1000, in_flight=20, rate=50.0, timeout=20.0))
    world.run_for(2.0)
    for name in ("w1", "w2", "client"):
        world.cut(name, "broker")
    world.run_for(seconds)
    for name in ("w1", "w2", "client"):
        world.heal(name, "broker")
    world.run_for(HEALED)
    pictures = world.pictures
    assert pictures["client"].linked and len(pictures["broker"].workers) == 4
    assert {row.state for row in pictures["broker"].workers} <= {"ready", "busy"}
    assert world.run_until(lambda world: world.picture("client").run.state == "ended", 40.0)
    assert world.picture("client").run.passed, world.picture("client").run.ledger
    assert slots_are_back(world)


@pytest.mark.parametrize("seed", seeds(4))
def test_of_two_live_workers_of_one_name_the_older_takes_another(seed: int) -> None:
    """They swapped for ever, each heard for three seconds and deaf for three."""
    world = over_tcp(seed, workers=1)
    world.add("twin", SYSTEM.worker(OPTIONS, TCP, 1, 1))
    world.run_for(20.0)
    said = [said.note.text for said in world.notes if "our name" in said.note.text]
    assert said == ["another program has our name worker-1: we are worker-1-2 from now on"]
    ready = {row.name for row in world.picture("broker").workers if row.state == "ready"}
    assert ready == {"worker-1", "worker-1-2"}
    told = [said.note for said in world.notes if "taken over" in said.note.text]
    assert told and {note.subject for note in told} == {b"worker-1"}
    before = len(world.notes)
    world.run_for(60.0)
    assert len(world.notes) == before, "they go on"


def test_of_two_live_clients_of_one_name_both_are_served() -> None:
    world = over_tcp(5, workers=2)
    world.add("twin", SYSTEM.client(OPTIONS, TCP, 1))
    world.run_for(20.0)
    for name in ("client", "twin"):
        world.order(name, BulkSpec("ping", 100, in_flight=10))
    world.run_for(5.0)
    assert all(world.picture(name).run.passed for name in ("client", "twin"))


def test_a_worker_that_is_slower_than_its_deadline_has_no_twin() -> None:
    """The broker is silent to one that owes a result: that is no takeover."""
    world = over_tcp(6, workers=1)
    world.order("w1", Slow(15.0))
    world.order("client", BulkSpec("ping", 5, in_flight=1, timeout=60.0))
    world.run_for(60.0)
    assert not [said for said in world.notes if "our name" in said.note.text or "taken over" in said.note.text]


def test_a_worker_slower_than_the_brokers_patience_is_told_by_the_broker_with_both_values_and_has_no_twin() -> None:
    """It starts over after 3 s, before its first PING is due."""
    world = over_tcp(7, workers=0)
    world.add("slow", SYSTEM.worker(Options(ping_every=5.0), TCP, 1, 1))
    world.run_for(30.0)
    said = [(said.note.subject, said.note.text) for said in world.notes]
    assert not [text for _, text in said if "our name" in text or "taken over" in text]
    words = "it sent no PING in 3.0 s, again, and WORKER_EXPIRE_SECONDS is 3 s: they do not fit together"
    assert (b"worker-1", words) in said
    assert [row.name for row in world.picture("broker").workers] == ["worker-1"]
