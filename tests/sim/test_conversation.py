"""The conversation under faults: what was accepted ends once, whatever happens to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Command, Event, Ordered, Received, Seat, Send, Socket, Start, Woken
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Leave, Slow
from engine.parts.view import BrokerView, ClientView
from engine.protocols.conversation import SYSTEM, frontend, header
from engine.protocols.conversation.frontend import (
    Accepted,
    Hold,
    JobEnded,
    Refusal,
    Release,
    Stopping,
    StopWorkers,
    Submit,
    TaskEnded,
)
from engine.protocols.conversation.header import Decoder
from engine.protocols.conversation.messages import Update, pack_update, tasks
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Worker
from engine.sim.wire import Link
from engine.sim.world import Outcome, World
from tests.helpers.conversation import array
from tests.helpers.examples import examples, seeds
from tests.helpers.storm import Step, Storm, scripts

ENDPOINT = "inproc://conversation"
OPTIONS = Options(tries=1000, stream="inproc://plain")
WORKERS = ("w1", "w2", "w3")
QUIET = 90.0  # seconds after the last fault in which everything must come to its end


class Asker:
    """A client of real jobs: every task of what was accepted must end exactly once."""

    def __init__(self) -> None:
        self.asked = 0
        self.beat_at = 0.0
        self.accepted: dict[int, int] = {}  # Ref → tasks
        self.ended: dict[int, list[int]] = {}
        self.closed: set[int] = set()

    def handle(self, event: Event, now: float) -> list[Command]:
        match event:
            case Ordered(int(n)):
                self.asked += 1
                submit = Submit(array("echo", n), 1 + self.asked % 3)
                self.accepted[self.asked] = n
                return [Send([frontend.pack_request(self.asked, submit)])]
            case Ordered(Hold() | Release() | StopWorkers() as request):
                return [Send([frontend.pack_request(0, request)])]
            case Received(messages):
                for [body] in messages:
                    if body:
                        self._hear(frontend.answer(body))
            case Woken() if now >= self.beat_at:
                self.beat_at = now + 1.0
                return [Send([b""])]
        return []

    def _hear(self, answer: object) -> None:
        match answer:
            case TaskEnded(ref, _, task, success, status):
                assert success, status
                self.ended.setdefault(ref, []).append(task)
            case JobEnded(ref):
                self.closed.add(ref)
            case Accepted() | Refusal() | Stopping():
                pass
            case _:
                raise AssertionError(answer)

    def wake_at(self) -> float:
        return self.beat_at

    def check(self) -> None:
        for ref, ended in self.ended.items():
            assert len(ended) == len(set(ended)), f"a task of {ref} ended twice"

    def snapshot(self, now: float) -> int:
        return len(self.closed)


class Plain:
    """A worker over plain TCP, as the seed describes it: no keep-alive, one task at a time."""

    def __init__(self) -> None:
        self.decoder = Decoder(1000)
        self.broker = b""
        self.greeted = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        out: list[Command] = []
        if isinstance(event, Received):
            for broker, chunk in event.messages:
                if not chunk:
                    self.__init__()  # type: ignore[misc]  # connected, or disconnected
                    continue
                for kind, _, _, body in self.decoder.feed(chunk):
                    assert not self.decoder.broken
                    if kind == header.OK and self.greeted == 0:
                        out.append(Send([broker, header.pack(header.OK, 1)]))
                        self.greeted = 1
                    elif kind == header.JOB:
                        found = tasks(body)
                        assert not isinstance(found, str) and len(found) == 1
                        update = Update(found[0].job.job_id, found[0].number, True, "done", 1)
                        reply = header.pack_body(header.UPDATE, pack_update(update))
                        out += [Send([broker, reply[:7]]), Send([broker, reply[7:]])]
        return out

    def wake_at(self) -> float:
        return float("inf")

    def check(self) -> None:
        assert not self.decoder.broken

    def snapshot(self, now: float) -> int:
        return self.greeted


def bodies(_name: str, start: Start) -> Outcome:
    assert isinstance(start.key, int)
    return Outcome((start.key * 7 % 23) / 10, True, b"done")


def seats() -> dict[str, Any]:
    plain = Socket("stream", connect=(OPTIONS.stream,))
    return {
        "broker": lambda: SYSTEM.broker(OPTIONS, (ENDPOINT,)),
        **{name: lambda i=int(name[1:]): SYSTEM.worker(OPTIONS, ENDPOINT, i, 1 + i) for name in WORKERS},
        "plain": lambda: Seat(Plain(), (plain,)),
    }


def no_worker_runs_more_than_it_has(world: World) -> None:
    for name in WORKERS:
        if name in world.names:
            worker: Worker = world.core(name)
            used = sum(task.slots for task in worker.running.values())
            assert used <= 1 + int(name[1:])
    broker = world.core("broker") if "broker" in world.names else None
    for link in broker.links.values() if broker is not None else ():
        assert 0 <= link.free <= link.max_nproc


def open_world(seed: int) -> tuple[World, Storm]:
    world = World(seed, bodies=bodies)
    world.invariants.append(no_worker_runs_more_than_it_has)
    made = seats()
    for name, seat in made.items():
        world.add(name, seat())
    world.add("asker", Seat(Asker(), (Socket("dealer", connect=(f"{ENDPOINT}-frontend",), routing_id=b"asker"),)))
    world.add("client", SYSTEM.client(OPTIONS, ENDPOINT, 1))
    storm = Storm(
        world,
        "broker",
        {name: seat for name, seat in made.items() if name != "broker"},
        {
            "ask": lambda _, amount: world.order("asker", 1 + int(8 * amount)),
            "slow": lambda name, amount: world.order(name, Slow(amount)) if name != "plain" else None,
            "leave": lambda name, _: world.order(name, Leave()) if name != "plain" else None,
            "stop": lambda _, amount: world.order("asker", StopWorkers(int(4 * amount))),
            "stop now": lambda _, __: world.order("asker", StopWorkers(header.STOP_NOW)),
            "hold": lambda _, amount: world.order("asker", Hold(1 + int(4 * amount))),
            "release": lambda _, amount: world.order("asker", Release(1 + int(4 * amount))),
            "freeze broker": lambda _, amount: world.freeze("broker", 0.5 + 9 * amount),
        },
    )
    return world, storm


ACTS = (
    *("ask", "ask", "ask", "slow", "leave", "stop", "stop now", "hold", "release", "freeze broker"),
    *("crash", "restart", "freeze", "cut", "heal", "reset", "bad link", "good link"),
)


@examples(60)
@given(st.integers(0, 2**32), scripts(ACTS))
def test_what_was_accepted_ends_once(seed: int, script: list[Step]) -> None:
    world, storm = open_world(seed)
    world.link(Link(), "asker", "broker")
    world.run_for(1.0)
    world.order("asker", 5)
    storm.rage(script)
    storm.calm()
    world.run_for(25.0)  # every freeze has ended
    asker: Asker = world.core("asker")
    for job in range(1, 10):
        world.order("asker", Release(job))
    for name, seat in storm.seats.items():
        world.restart(name, seat())
    world.run_for(QUIET)
    view: BrokerView = world.picture("broker")
    assert (view.backlog, view.in_flight) == (0, 0) and view.ledger.balanced
    assert view.ledger.sent == view.ledger.succeeded == sum(asker.accepted.values())
    assert {ref: sorted(ended) for ref, ended in asker.ended.items()} == {
        ref: list(range(1, n + 1)) for ref, n in asker.accepted.items()
    }
    assert asker.closed == asker.accepted.keys()
    assert [row.state for row in view.workers] == ["ready"] * (len(WORKERS) + 1)


def test_a_killed_worker_costs_a_run_nothing() -> None:
    world, _ = open_world(1)
    world.crash("plain")
    world.run_for(1.0)
    world.order("client", BulkSpec("data", 400, size=100, rate=400.0, in_flight=400, timeout=20.0))
    world.run_for(0.5)
    world.crash("w3")
    world.run_for(20.0)
    client: ClientView = world.picture("client")
    assert client.run is not None and client.run.passed, client.run
    assert (client.late, client.run.bytes) == (0, 40_000)


def test_a_frozen_worker_completes_no_task_twice() -> None:
    world, _ = open_world(2)
    world.crash("plain")
    world.run_for(1.0)
    for name in WORKERS:
        world.order(name, Slow(0.5))
    world.order("client", BulkSpec("ping", 9, in_flight=9, timeout=30.0))
    world.run_for(0.1)
    world.freeze("w3", 12.0)
    world.run_for(30.0)
    view: BrokerView = world.picture("broker")
    assert (view.ledger.sent, view.ledger.succeeded) == (9, 9)
    assert dict(view.counters)["redelivered"] > 0
    assert sorted(row.name for row in view.workers) == ["worker-1", "worker-2", "worker-3"]
    client: ClientView = world.picture("client")
    assert client.run is not None and client.run.passed and client.late == 0


def test_a_broker_that_starts_again_is_found_by_everybody() -> None:
    world, _ = open_world(3)
    world.run_for(1.0)
    world.restart("broker", SYSTEM.broker(OPTIONS, (ENDPOINT,)))
    world.run_for(6.0)
    assert len(world.picture("broker").workers) == len(WORKERS) + 1
    assert world.picture("client").linked
    world.order("asker", 30)
    world.run_for(30.0)
    assert world.core("asker").closed == {1}


def test_single_losses_are_made_good() -> None:
    """A keep-alive tells how many messages there were, so no hole in a stream stays unnoticed."""
    for seed in range(5):
        world, _ = open_world(seed)
        world.link(Link(loss=0.05))
        world.link(Link(), "asker", "broker")
        world.order("asker", 40)
        world.run_for(60.0)
        world.link(Link())
        world.run_for(QUIET)
        assert world.core("asker").closed == {1}
        view: BrokerView = world.picture("broker")
        assert (view.ledger.sent, view.ledger.succeeded, view.in_flight) == (40, 40, 0)


class Stranger:
    """It takes somebody's routing id and says nothing."""

    def handle(self, event: Event, now: float) -> list[Command]:
        return []

    def wake_at(self) -> float:
        return float("inf")

    def check(self) -> None: ...

    def snapshot(self, now: float) -> float:
        return now


def run_through(world: World, trouble: Callable[[], None]) -> ClientView:
    """3,000 pings, and something that happens to their client on the way."""
    world.run_for(1.0)
    world.crash("plain")  # it runs one task at a time
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
    """It never opened its socket anew: runs stopped at 309 to 455 of 3,000."""
    world, _ = open_world(4)

    def taken() -> None:
        name = Socket("dealer", connect=(f"{ENDPOINT}-frontend",), routing_id=b"client-1")
        world.add("stranger", Seat(Stranger(), (name,)))
        world.after(0.5, world.crash, "stranger")

    view = run_through(world, taken)
    assert view.run is not None
    assert view.run.passed, view.run.ledger


@pytest.mark.parametrize("seconds", [2.0, 4.0, 8.0])
def test_a_client_whose_link_is_frozen_goes_on(seconds: float) -> None:
    """What is out when its patience ends is asked for again, or fails by name; the run goes to its end."""
    world, _ = open_world(5)

    def frozen() -> None:
        world.cut("client", "broker")
        world.after(seconds, world.heal, "client", "broker")

    view = run_through(world, frozen)
    assert view.run is not None
    failed = dict(view.run.ledger.failed)
    assert view.run.ledger.succeeded + failed.pop("timeout", 0) == 3000 and not failed
    assert view.run.ledger.succeeded >= 2970, view.run.ledger


def test_a_job_that_is_followed_is_told_of_though_its_end_was_lost() -> None:
    world, _ = open_world(6)
    world.run_for(1.0)
    world.order("client", Submit(array("echo", 4)))
    world.run_for(0.1)
    world.cut("client", "broker")
    world.run_for(2.8)  # every task has ended meanwhile
    world.reset("client", "broker")  # and what was said of it was lost
    world.heal("client", "broker")
    world.run_for(5.0)
    view: ClientView = world.picture("client")
    ended = [kept[1] for kept in view.answers if isinstance(kept, tuple) and isinstance(kept[1], JobEnded)]
    assert [(end.done, end.failed) for end in ended] == [(4, 0)], view.answers
    assert world.picture("broker").ledger.sent == 4


def test_what_waits_of_a_client_that_dies_is_withdrawn() -> None:
    world, _ = open_world(7)
    for name in (*WORKERS, "plain"):
        world.crash(name)
    world.order("client", BulkSpec("ping", 500, in_flight=500, timeout=60.0))
    world.run_for(2.0)
    assert world.picture("broker").backlog == 500
    world.crash("client")
    world.run_for(7.5)
    view: BrokerView = world.picture("broker")
    assert view.backlog == 0 and dict(view.ledger.failed) == {"withdrawn": 500} and view.ledger.balanced


# ---- over tcp, where connections break and cores hear of it ----------------------------------------------------------

TCP = "tcp://127.0.0.1:6716"
HEALED = 3 * OPTIONS.heartbeat + 1.0  # seconds within which all is well again


def over_tcp(seed: int, workers: int = 4) -> World:
    options = Options(stream="none")
    world = World(seed, bodies=bodies)
    world.add("broker", SYSTEM.broker(options, (TCP,)))
    for number in range(1, workers + 1):
        world.add(f"w{number}", SYSTEM.worker(options, TCP, number, 2))
    world.add("client", SYSTEM.client(options, TCP, 1))
    world.run_for(1.5)
    return world


def all_is_well(world: World) -> bool:
    view: BrokerView = world.picture("broker")
    workers = sum(name.startswith("w") for name in world.names)
    return (view.backlog, view.in_flight, len(view.workers)) == (0, 0, workers) and all(
        row.state == "ready" for row in view.workers
    )


@pytest.mark.parametrize("seed", seeds(4))
def test_resets_under_load_heal_within_three_heartbeats(seed: int) -> None:
    world = over_tcp(seed)
    world.link(Link(delay=(0.005, 0.05)))
    world.order("client", BulkSpec("ping", 1200, in_flight=40, rate=60.0, timeout=2 * HEALED))
    for _ in range(2):
        for name in ("w1", "w2", "w3", "w4", "client"):
            world.run_for(0.7)
            world.reset(name, "broker")
    assert world.run_until(lambda world: world.picture("client").run.state == "ended", 40.0)
    view: ClientView = world.picture("client")
    assert view.run is not None
    assert view.run.passed, view.run.ledger
    assert world.run_until(all_is_well, HEALED)


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
    assert world.picture("client").linked and len(world.picture("broker").workers) == 4
    assert world.run_until(lambda world: world.picture("client").run.state == "ended", 40.0)
    assert world.picture("client").run.passed, world.picture("client").run.ledger
    assert world.run_until(all_is_well, HEALED)


def test_a_worker_whose_id_is_taken_before_the_broker_greets_is_not_deaf_for_ever() -> None:
    """It opened again every heartbeat, on a connection that nobody heard."""
    world = over_tcp(4, workers=0)
    world.freeze("broker", 1.0)
    world.add("w1", SYSTEM.worker(OPTIONS, TCP, 1, 2))
    stranger = Socket("dealer", connect=(TCP,), routing_id=b"worker-1")
    world.add("stranger", Seat(Stranger(), (stranger,)))
    world.run_for(2.0)
    world.crash("stranger")
    assert world.run_until(all_is_well, HEALED)


@pytest.mark.parametrize("seed", seeds(4))
def test_of_two_live_workers_of_one_name_the_older_takes_another(seed: int) -> None:
    """They swapped for ever, each heard for three seconds and deaf for three."""
    world = over_tcp(seed, workers=1)
    world.add("twin", SYSTEM.worker(OPTIONS, TCP, 1, 2))
    world.run_for(25.0)
    said = [said.note.text for said in world.notes if "our name" in said.note.text]
    assert said == ["another program has our name worker-1: we are worker-1-2 from now on"]
    assert {row.name for row in world.picture("broker").workers} == {"worker-1", "worker-1-2"}
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
