"""Connections of round robin that are reset, half-open or taken over: nothing is lost, three heartbeats are enough."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.core import Command, Connected, Disconnected, Event, Received, Seat, Socket
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView, ClientView
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.worker import Worker
from engine.sim.world import World
from tests.helpers.examples import seeds

HERE = SYSTEM.endpoint
OPTIONS = Options()
HEAL = 3 * OPTIONS.heartbeat + 1.0  # seconds
WORKERS = ("w1", "w2", "w3", "w4")


class Original(Worker):
    """Registers once, PINGs every two minutes, and knows nothing of its connection."""

    def __init__(self, slots: int, seed: int) -> None:
        super().__init__(Options(heartbeat=120.0, expiry=10_000.0, packed=False), slots, seed)

    def handle(self, event: Event, now: float) -> list[Command]:
        return [] if isinstance(event, Connected | Disconnected) else super().handle(event, now)


def worker(kind: str, nonce: int, slots: int = 10) -> Seat:
    if kind == "ours":
        seat: Seat = SYSTEM.worker(OPTIONS, HERE, nonce, slots)
        return seat
    return Seat(Original(slots, nonce), (Socket("dealer", connect=(HERE,), routing_id=f"{HERE}:{nonce}".encode()),))


def house(seed: int, kind: str = "ours") -> World:
    world = World(seed, queue=20_000, outbox=20_000)
    world.add("broker", SYSTEM.broker(replace(OPTIONS, packed=kind == "ours"), [HERE]))
    for nonce, name in enumerate(WORKERS, 1):
        world.add(name, worker(kind, nonce))
    world.add("client", SYSTEM.client(OPTIONS, HERE, 99))
    world.run_for(2.0)
    return world


def client(world: World) -> ClientView:
    view: ClientView = world.picture("client")
    return view


def broker(world: World) -> BrokerView:
    view: BrokerView = world.picture("broker")
    return view


def all_is_well(world: World) -> bool:
    view = broker(world)
    rows = [row for row in view.workers if row.state != "lost"]
    return len(rows) == len(WORKERS) and all(row.free == row.slots for row in rows) and view.ledger.in_flight == 0


@pytest.mark.parametrize("kind", ["ours", "original"])
@pytest.mark.parametrize("seed", seeds(3))
def test_six_resets_on_four_workers_lose_nothing(kind: str, seed: int) -> None:
    """It lost 940 of 10,000: tasks in flight were gone, the worker said that it runs 0, the broker that it holds 10."""
    world = house(seed, kind)
    world.order("client", BulkSpec("ping", 4_000, in_flight=100, timeout=5.0))
    for number in range(6):
        world.run_for(0.1)
        world.reset(WORKERS[number % 4], "broker")
    assert world.run_until(lambda world: client(world).run.state == "ended", 30.0)  # type: ignore[union-attr]
    run = client(world).run
    assert run is not None and run.passed and (run.ledger.succeeded, run.ledger.failed) == (4_000, ())
    assert world.run_until(all_is_well, HEAL)
    assert broker(world).ledger.balanced


@pytest.mark.parametrize("kind", ["ours", "original"])
def test_a_worker_that_is_reset_has_all_its_slots_again_within_three_heartbeats(kind: str) -> None:
    world = house(1, kind)
    for _ in range(5):
        world.order("client", BulkSpec("ping", 200, in_flight=200, timeout=30.0))
        world.run_for(0.004)
        for name in WORKERS:
            world.reset(name, "broker")
        at = world.now
        assert world.run_until(lambda world: client(world).run.state == "ended", HEAL)  # type: ignore[union-attr]
        assert world.run_until(all_is_well, HEAL - (world.now - at)), broker(world)
        assert client(world).run.passed  # type: ignore[union-attr]


def test_a_client_that_is_reset_asks_again_and_gets_each_answer_once() -> None:
    world = house(2)
    world.order("client", BulkSpec("ping", 3_000, in_flight=100, timeout=5.0))
    for _ in range(6):
        world.run_for(0.1)
        world.reset("client", "broker")
    assert world.run_until(lambda world: client(world).run.state == "ended", 30.0)  # type: ignore[union-attr]
    run = client(world).run
    assert run is not None and run.passed and run.ledger.succeeded == 3_000
    assert int(dict(client(world).terms)["asked again"]) > 0
    world.run_for(HEAL)
    assert all_is_well(world) and broker(world).ledger.balanced
    assert world.core("broker").violations.total == 0


def test_a_client_on_a_half_open_link_opens_anew_and_its_tasks_are_asked_for_again_or_failed_by_name() -> None:
    world = house(3)
    world.order("client", BulkSpec("ping", 500, in_flight=50, timeout=20.0))
    world.run_for(0.01)
    world.cut("client", "broker")
    world.run_for(OPTIONS.expiry + OPTIONS.heartbeat)
    world.reset("client", "broker")
    world.heal("client", "broker")
    assert world.run_until(lambda world: client(world).run.state == "ended", HEAL)  # type: ignore[union-attr]
    assert client(world).run.passed  # type: ignore[union-attr]


@pytest.mark.parametrize("seed", seeds(3))
def test_two_live_workers_of_one_name_end_as_two_workers(seed: int) -> None:
    """They swapped for ever, every 3 to 9 s. The newest keeps the name, the other finds out and takes another."""
    world = house(seed)
    world.add("twin", SYSTEM.worker(OPTIONS, HERE, 1, 10))
    world.run_for(60.0)
    ids = [world.sockets(name)[0].routing_id for name in ("w1", "twin")]
    assert ids[1] == f"{HERE}:1".encode() and ids[0] not in (ids[1], *(f"{HERE}:{n}".encode() for n in range(2, 5)))
    said = [said for said in world.notes if "another live peer has this name" in said.note.text]
    assert [one.name for one in said] == ["w1"]
    before = len(world.notes)
    world.run_for(120.0)
    assert not [said for said in list(world.notes)[before:] if said.note.level in ("bad", "warn")], "it is calm"
    assert {row.key for row in broker(world).workers if row.state == "ready"} >= set(ids)
    took = [said for said in world.notes if said.name == "broker" and "took its id over" in said.note.text]
    assert took and dict(broker(world).counters)["takeovers"] == len(took)


def test_a_broker_that_does_not_run_for_a_while_makes_nobody_change_its_name() -> None:
    world = house(4)
    for _ in range(3):
        world.freeze("broker", 9.0)
        world.run_for(20.0)
    assert [world.sockets(name)[0].routing_id for name in WORKERS] == [f"{HERE}:{n}".encode() for n in range(1, 5)]


def test_nothing_is_given_to_a_link_that_ended_before_its_worker_is_back() -> None:
    world = house(5)
    given: list[float] = []
    world.watchers.append(
        lambda at, name, event, commands: given.append(at) if name == "w1" and isinstance(event, Received) else None
    )
    world.reset("w1", "broker")
    at = world.now
    world.run_for(1.0)
    assert given and given[0] > at
    assert all_is_well(world)


# ---- R17: what waits of a client ------------------------------------------------------------------------------------


def without_workers(seed: int, *names: str, options: Options = OPTIONS) -> World:
    world = World(seed, queue=20_000, outbox=20_000)
    world.add("broker", SYSTEM.broker(options, [HERE]))
    for nonce, name in enumerate(names, 90):
        world.add(name, SYSTEM.client(OPTIONS, HERE, nonce))
    world.run_for(2.0)
    return world


def test_what_waits_of_a_client_that_dies_is_withdrawn_and_an_honest_ones_stays() -> None:
    world = without_workers(6, "hog", "client")
    world.order("hog", BulkSpec("ping", 500, in_flight=500, timeout=60.0))
    world.order("client", BulkSpec("ping", 50, in_flight=50, timeout=60.0))
    world.run_for(2.0)
    assert broker(world).backlog == 550
    world.crash("hog")
    world.run_for(OPTIONS.expiry - 1.0)
    assert broker(world).backlog == 550, "it may come back"
    world.run_for(2.0)
    assert broker(world).backlog == 50 and dict(broker(world).ledger.failed) == {"withdrawn": 500}
    world.add("w1", worker("ours", 1))
    world.run_for(5.0)
    run = client(world).run
    assert run is not None and run.passed and broker(world).ledger.balanced


def test_a_flood_of_one_client_leaves_room_for_an_honest_one() -> None:
    options = replace(OPTIONS, max_backlog=20_000)
    world = without_workers(7, "hog", "client", options=options)
    share = options.max_backlog // 10
    world.order("hog", BulkSpec("ping", 2 * share, in_flight=2 * share, timeout=60.0))
    world.run_for(2.0)
    assert broker(world).backlog == share and broker(world).ledger.dropped == share
    world.order("client", BulkSpec("ping", 200, in_flight=200, timeout=60.0))
    world.run_for(1.0)
    for nonce, name in enumerate(WORKERS, 1):
        world.add(name, worker("ours", nonce, 100))
    world.run_for(30.0)
    run = client(world).run
    assert run is not None and run.passed
    assert broker(world).ledger.balanced and broker(world).ledger.succeeded == share + 200


def test_a_client_whose_connection_is_reset_keeps_what_waits_and_is_answered() -> None:
    world = without_workers(8, "client")
    world.order("client", BulkSpec("ping", 100, in_flight=100, timeout=60.0))
    world.run_for(1.0)
    world.reset("client", "broker")
    world.run_for(3 * OPTIONS.expiry)
    assert broker(world).backlog == 100 and not broker(world).ledger.failed
    world.add("w1", worker("ours", 1))
    world.run_for(5.0)
    run = client(world).run
    assert run is not None and run.passed


def test_a_run_that_wants_no_replies_is_done_when_its_client_is_gone() -> None:
    world = without_workers(9, "client")
    world.order("client", BulkSpec("ping", 100, tracked=False))
    world.run_for(1.0)
    world.crash("client")
    world.run_for(3 * OPTIONS.expiry)
    world.add("w1", worker("ours", 1))
    world.run_for(5.0)
    assert broker(world).ledger.succeeded == 100 and not broker(world).ledger.failed
