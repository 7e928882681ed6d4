"""Links of negotiated that break, fall silent or are taken over: what it takes until nothing is missing any more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from engine.core import Seat, Socket
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Slow
from engine.protocols.negotiated import SYSTEM, Options
from engine.sim.wire import Link
from engine.sim.world import World
from tests.helpers.examples import seeds
from tests.helpers.negotiated import FRONTEND, Plain

HERE = SYSTEM.endpoint
OPTIONS = Options()
HEALED = 3 * OPTIONS.heartbeat + 1.0  # seconds from the end of a fault
WORKERS = ("w1", "w2", "w3", "w4")
LOST = Link(loss=1.0)  # half-open: nothing passes, and nothing is closed


def worker(nonce: int, slots: int = 5) -> Seat:
    return SYSTEM.worker(OPTIONS, HERE, nonce, slots)


def world(seed: int, *, slow: float = 0.05) -> World:
    """A broker, four workers and a client that sends a hundred tasks a second."""
    made = World(seed)
    made.add("broker", SYSTEM.broker(OPTIONS, (HERE,)))
    for nonce, name in enumerate(WORKERS, 1):
        made.add(name, worker(nonce))
        made.order(name, Slow(slow))
    made.add("c1", SYSTEM.client(OPTIONS, HERE, 9))
    made.run(2.0)
    return made


def load(world: World, n: int) -> None:
    world.order("c1", BulkSpec("ping", n, in_flight=50, rate=100.0, timeout=15.0))
    world.run_for(1.0)


def oldest(world: World) -> float:
    """For how many seconds the client has waited for an answer, at most."""
    runs = world.core("c1").runs
    gives_up = runs.wake_at(linked=False)  # on the oldest task that is out
    waits: float = world.now + runs.bulk.spec.timeout - gives_up
    return max(0.0, waits)


def check_healed(world: World, workers: int = len(WORKERS)) -> None:
    """Everybody is at home, and no answer is older than the end of the fault."""
    view = world.picture("broker")
    assert len(view.workers) == workers and all(row.state in ("ready", "busy") for row in view.workers)
    assert world.picture("c1").linked and oldest(world) < HEALED
    assert all(task.given > world.now - HEALED for task in world.core("broker").service.dispatcher.in_flight.all())


def check_ends(world: World, n: int) -> None:
    """Each task is answered, once."""
    assert world.run_until(lambda world: world.picture("c1").run.state == "ended", 60.0)
    view = world.picture("c1").run
    assert view.passed and view.ledger.succeeded == n, view.ledger
    world.run_for(HEALED)
    broker = world.picture("broker")
    assert broker.ledger.balanced and not broker.in_flight and not broker.backlog
    assert all(row.free == row.slots for row in broker.workers), "a slot is lost"


@pytest.mark.parametrize("seed", seeds(5))
def test_f12_six_resets_on_four_workers_lose_nothing(seed: int) -> None:
    it = world(seed)
    load(it, 1000)
    for name in ("w1", "w2", "w3", "w4", "w1", "w2"):
        it.reset(name, "broker")
        it.run_for(0.4)
    it.run_for(HEALED - 0.4)
    check_healed(it)
    check_ends(it, 1000)


@pytest.mark.parametrize("seed", seeds(5))
def test_f12_resets_of_a_client_lose_nothing(seed: int) -> None:
    it = world(seed)
    load(it, 1000)
    for _ in range(3):
        it.reset("c1", "broker")
        it.run_for(0.7)
    it.run_for(HEALED - 0.7)
    check_healed(it)
    check_ends(it, 1000)


@pytest.mark.parametrize(
    ("who", "seconds"), [("w1", 0.5), ("w1", 2.0), ("w1", 3.5), ("w1", 8.0), ("c1", 3.5), ("c1", 8.0)]
)
def test_f12_a_half_open_link_heals_within_three_heartbeats_and_a_second(who: str, seconds: float) -> None:
    it = world(1)
    load(it, 1500)
    it.link(LOST, who, "broker")
    it.run_for(seconds)
    it.link(Link(), who, "broker")
    it.run_for(HEALED)
    check_healed(it)
    check_ends(it, 1500)


@pytest.mark.parametrize("who", ["w1", "c1"])
@pytest.mark.parametrize("seed", seeds(3))
def test_somebody_takes_an_id_for_half_a_second(who: str, seed: int) -> None:
    """The peer is deaf from then on, also when the other one is gone; runs stopped at a tenth."""
    it = world(seed)
    load(it, 1000)
    name, endpoint = (b"worker-1", HERE) if who == "w1" else (b"client-9", FRONTEND)
    it.add("thief", Seat(Plain(), (Socket("dealer", connect=(endpoint,), routing_id=name),)))
    it.run_for(0.1)
    it.order("thief", [b"PING", b"{}"])
    it.run_for(0.4)
    it.crash("thief")
    it.run_for(HEALED)
    check_healed(it)
    assert dict(it.picture("broker").counters)["ids taken over"] >= 1
    assert any("has taken over the id of" in said.note.text for said in it.notes)
    check_ends(it, 1000)


@pytest.mark.parametrize("seed", seeds(3))
def test_f8_two_live_workers_of_one_name_end_as_two_workers(seed: int) -> None:
    """They swapped for ever, every three seconds."""
    it = world(seed)
    load(it, 2500)
    it.add("twin", worker(1))
    it.order("twin", Slow(0.05))
    it.run_for(12.0)
    keys = {row.key for row in it.picture("broker").workers}
    assert len(keys) == 5 and keys > {b"worker-1", b"worker-2", b"worker-3", b"worker-4"}
    said = len(it.notes)
    check_ends(it, 2500)
    assert len(it.notes) == said, "and nothing happens any more"


@pytest.mark.parametrize("seed", seeds(3))
def test_f8_two_live_clients_of_one_name_both_end_their_runs(seed: int) -> None:
    it = world(seed)
    it.add("c2", SYSTEM.client(OPTIONS, HERE, 9))
    specs: dict[str, Callable[[], BulkSpec]] = {
        name: partial(BulkSpec, "ping", 500, rate=20.0, timeout=30.0) for name in ("c1", "c2")
    }
    for name, spec in specs.items():
        it.order(name, spec())
    it.run_for(1.0)
    assert it.run_until(lambda it: all(it.picture(name).run.state == "ended" for name in specs), 90.0)
    assert [it.picture(name).run.passed for name in specs] == [True, True]


@pytest.mark.parametrize("seed", seeds(5))
def test_three_of_four_workers_are_killed_and_no_task_is_given_up(seed: int) -> None:
    """O25. In each of ten tries one of ten tasks was undeliverable: the dead workers had spent its three attempts."""
    it = World(seed)
    it.add("broker", SYSTEM.broker(OPTIONS, (HERE,)))
    for nonce, name in enumerate(WORKERS, 1):
        it.add(name, worker(nonce, 10))
        it.run_for(0.1)
    it.add("c1", SYSTEM.client(OPTIONS, HERE, 9))
    it.run(2.0)
    for name in WORKERS[1:]:
        it.crash(name)
    it.run_for(0.3)
    it.order("c1", BulkSpec("ping", 10))
    it.run_for(0.1)
    check_ends(it, 10)
    assert [row.key for row in it.picture("broker").workers] == [b"worker-1"]
