"""Negotiated in a storm: one broker with its peers, and a pair of which never both may serve."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Seat
from engine.parts.bulk import BulkSpec
from engine.parts.inflight import TaskKey
from engine.parts.orders import Drain, Leave, Slow, StopRun
from engine.parts.view import BrokerView, ClientView, WorkerView
from engine.protocols.negotiated import SYSTEM, HandBack, Options, Publish, backup, primary
from engine.protocols.negotiated.broker import Broker
from engine.sim.world import World
from tests.helpers.examples import examples, seeds
from tests.helpers.poison import SLOW, suffer
from tests.helpers.storm import FAULTS, Step, Storm, scripts

HERE = SYSTEM.endpoint
FALLBACK = "tcp://127.0.0.1:6727"
OPTIONS = Options(max_backlog=60)
PAIR = Options(fallback=FALLBACK)
WORKERS = {"w1": 1, "w2": 3, "w3": 10}  # name → slots
CLIENTS = ("c1", "c2")
NONCES = {name: i for i, name in enumerate((*WORKERS, *CLIENTS), 1)}
ACTS = (*FAULTS, "ping", "ping", "data", "paced", "fire and forget", "stop", "leave", "drain", "slow", "publish")
LOAD = [Step(1.0, "slow", 1, 0.1), Step(0.0, "slow", 3, 0.1), Step(0.0, "paced", 4, 1.0), Step(0.0, "ping", 5, 1.0)]
SETTLED = 45.0  # seconds: every deadline of OPTIONS and of a run has passed


def routing_id(name: str) -> bytes:
    return f"worker-{NONCES[name]}".encode()


def peers(options: Options) -> dict[str, Callable[[], Seat]]:
    seats: dict[str, Callable[[], Seat]] = {}
    for name, slots in WORKERS.items():
        seats[name] = partial(SYSTEM.worker, options, HERE, NONCES[name], slots)
    for name in CLIENTS:
        seats[name] = partial(SYSTEM.client, options, HERE, NONCES[name])
    return seats


def books_are_right(core: Broker, now: float) -> None:
    """Free within 0..slots, no task with two workers, nothing accepted is lost: rows and ledger of one broker."""
    view: BrokerView = core.snapshot(now)
    assert view.ledger.balanced
    if not core.serving:
        assert not view.workers
        return
    for row in view.workers:
        assert 0 <= row.free <= row.slots and row.in_flight == row.slots - row.free
    dispatcher = core.service.dispatcher
    assert len(dispatcher.tasks) == view.backlog + view.in_flight
    attempts = [task.attempt for task in dispatcher.tasks.values()]
    assert all(attempt <= core.service.options.max_deliveries for attempt in attempts)


class LabManager:
    """A broker, three workers and two clients."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        seats: dict[str, Callable[[], Seat]] = {"broker": partial(SYSTEM.broker, OPTIONS, (HERE,)), **peers(OPTIONS)}
        acts: dict[str, Callable[[str, float], None]] = {
            "ping": partial(self.bulk, "ping", 40, {}),
            "data": partial(self.bulk, "data", 20, {"size": 3000}),
            "paced": partial(self.bulk, "ping", 20, {"rate": 5.0}),
            "fire and forget": partial(self.bulk, "ping", 20, {"tracked": False}),
            "stop": lambda name, _: self.order(CLIENTS, name, StopRun()),
            "leave": lambda name, _: self.order(tuple(WORKERS), name, Leave()),
            "slow": lambda name, amount: self.order(tuple(WORKERS), name, Slow(amount * 4.0)),
            "drain": self.drain,
            "publish": self.publish,
        }
        self.storm = Storm(self.world, "broker", seats, acts)
        self.version = 1
        self.world.invariants.append(self.hold)
        for name, seat in seats.items():
            self.world.add(name, seat())

    def bulk(self, kind: str, n: int, more: dict[str, object], name: str, amount: float) -> None:
        spec = BulkSpec(kind, n, in_flight=1 + int(amount * 30), **more)  # type: ignore[arg-type]
        self.order(CLIENTS, name, spec)

    def order(self, names: tuple[str, ...], name: str, order: object) -> None:
        if name in names:
            self.world.order(name, order)

    def drain(self, name: str, _amount: float) -> None:
        if name in WORKERS and "broker" in self.world.names:
            self.world.order("broker", Drain(routing_id(name)))

    def publish(self, _name: str, amount: float) -> None:
        if "broker" in self.world.names:
            self.world.order("broker", Publish(1 + int(amount * 4)))

    def hold(self, world: World) -> None:
        if world.acting == "broker" and "broker" in world.names:  # nobody else changes what it holds
            books_are_right(world.core("broker"), world.now)

    def settle(self) -> None:
        """Faults stop; whoever is gone comes back; everybody is at home, nothing is left over, and a run passes."""
        world, storm = self.world, self.storm
        storm.calm()
        for name in storm.seats:
            if name not in world.names:
                world.restart(name, storm.seats[name]())
        for name in WORKERS:
            world.order(name, Slow(0.0))
        world.run_for(SETTLED)
        for name in set(storm.seats) - set(world.names):  # drained, or put out at start-up when the broker was away
            world.restart(name, storm.seats[name]())
        world.run_for(SETTLED)
        view: BrokerView = world.picture("broker")
        assert view.ledger.in_flight == view.ledger.queued == 0, "a task has not ended"
        assert len(view.workers) == len(WORKERS), "not everybody is at home"
        assert all(row.free == row.slots and row.state == "ready" for row in view.workers), "a slot is lost"
        versions = dict(view.terms)["config_version"]
        for row in view.workers:
            assert dict(row.terms)["config_version"] == versions, "a version drifted for good"
        for picture in world.pictures.values():
            if isinstance(picture, ClientView):
                assert picture.linked and (picture.run is None or picture.run.state == "ended")
            elif isinstance(picture, WorkerView):
                assert picture.running == 0 and picture.joined
        run_passes(world)


def run_passes(world: World) -> None:
    world.order("c1", BulkSpec("data", 50, size=2000))
    world.order("c2", BulkSpec("ping", 50))
    world.run_for(10.0)
    assert [world.picture(name).run.passed for name in CLIENTS] == [True, True]


@examples(40, derandomize=True, database=None)
@given(st.integers(0, 999), scripts(ACTS))
def test_any_storm_is_survived(seed: int, script: list[Step]) -> None:
    house = LabManager(seed)
    house.storm.rage(script)
    house.settle()


@pytest.mark.parametrize("act", [act for act in FAULTS if act not in ("heal", "good link")])
@pytest.mark.parametrize("who", range(1 + len(WORKERS)))
def test_each_fault_alone_under_load(act: str, who: int) -> None:
    house = LabManager(who)
    house.storm.rage([*LOAD, Step(1.0, act, who, 0.75), Step(9.0, "heal", who, 0.0)])
    house.settle()


@pytest.mark.parametrize("workers", [("w3",), ("w2", "w3"), tuple(WORKERS)])
def test_f17_a_poison_task_ends_no_innocent_one(workers: tuple[str, ...]) -> None:
    """Also with one worker of ten slots, which dies three times. Nobody but the poison is tried more than twice."""
    house, tries = LabManager(0), dict[TaskKey, int]()
    world = house.world

    def holder() -> str | None:
        dispatcher = world.core("broker").service.dispatcher
        tries.update({task.key: task.attempt for task in dispatcher.in_flight.all()})
        held = [name for name in WORKERS for task in dispatcher.in_flight.of(routing_id(name)) if task is poison]
        return held[0] if held else None

    for name in WORKERS:
        world.order(name, Slow(SLOW))
        if name not in workers:
            world.crash(name)
    world.run_for(10.0)
    world.order("c1", BulkSpec("ping", 60, in_flight=30))
    world.run_for(0.05)
    poison = list(world.core("broker").service.dispatcher.tasks.values())[4]
    deaths = suffer(world, house.storm.seats, holder, 40.0)
    view: BrokerView = world.picture("broker")
    assert (view.ledger.succeeded, dict(view.ledger.failed)) == (59, {"undeliverable": 1})
    assert view.backlog == view.in_flight == 0 and all(row.free == row.slots for row in view.workers)
    assert len(deaths) == OPTIONS.max_deliveries == tries.pop(poison.key) and set(tries.values()) == {1, 2}


# ---- the pair -----------------------------------------------------------------------------------------------------


class Pair:
    """Two brokers, three workers, two clients. A cut takes a broker from everybody: see ``standby`` on partitions."""

    BROKERS = ("primary", "fallback")

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.seats: dict[str, Callable[[], Seat]] = {
            "primary": partial(primary, PAIR, (HERE,)),
            "fallback": partial(backup, PAIR, (FALLBACK,)),
            **peers(PAIR),
        }
        self.served: set[str] = set()
        self.world.invariants.append(self.hold)
        for name, seat in self.seats.items():
            self.world.add(name, seat())

    def hold(self, world: World) -> None:
        alive = [name for name in self.BROKERS if name in world.names]
        active = [name for name in alive if world.core(name).serving]
        thawed = [name for name in active if not self.frozen(name)]
        assert len(thawed) <= 1, "both brokers are active"
        self.served.update(active)
        if world.acting in alive:  # nobody else changes what a broker holds
            books_are_right(world.core(world.acting), world.now)

    def frozen(self, name: str) -> bool:
        """A stopped process does nothing, whatever it was when it was stopped."""
        return bool(self.world._nodes[name].frozen)

    def rage(self, script: list[Step]) -> None:
        names = [*self.BROKERS, *self.seats]  # the brokers twice as often
        for wait, act, who, amount in script:
            self.world.run_for(wait)
            self.do(act, names[who % len(names)], amount)
        self.world.run_for(8.0)

    def do(self, act: str, name: str, amount: float) -> None:
        world, alive = self.world, name in self.world.names
        match act:
            case "crash" if alive:
                world.crash(name)
            case "restart":
                world.restart(name, self.seats[name]())
            case "freeze" if alive:
                world.freeze(name, 0.5 + 20.0 * amount)
            case "cut":
                for other in self.seats:
                    if other != name:
                        world.cut(name, other)
            case "heal":
                self.heal()
            case "ping" if alive and name in CLIENTS:
                world.order(name, BulkSpec("ping", 40, in_flight=1 + int(amount * 30), rate=10.0))
            case "slow" if alive and name in WORKERS:
                world.order(name, Slow(amount))
            case "hand back" if alive and name == "fallback":
                world.order(name, HandBack())

    def heal(self) -> None:
        for name in self.seats:
            for other in self.seats:
                if name < other:
                    self.world.heal(name, other)

    def settle(self) -> None:
        world = self.world
        self.heal()
        world.run_for(SETTLED / 2)
        for name in WORKERS:
            if name in world.names:
                world.order(name, Slow(0.0))
        for _ in range(2):  # who was started while no broker served gave up
            for name in self.seats:
                if name not in world.names:
                    world.restart(name, self.seats[name]())
            world.run_for(SETTLED)
        active = [name for name in self.BROKERS if world.core(name).serving]
        assert len(active) == 1, "nobody serves"
        view: BrokerView = world.pictures[active[0]]
        assert view.ledger.in_flight == view.ledger.queued == 0
        assert len(view.workers) == len(WORKERS) and all(row.free == row.slots for row in view.workers)
        run_passes(world)
        other = world.core("fallback" if active == ["primary"] else "primary")
        ours = world.core(active[0])
        assert set(other.service.dispatcher.members) == set(ours.service.dispatcher.members), (
            "the copy is not up to date"
        )
        assert other.service.config == ours.service.config


PAIR_ACTS = ("crash", "restart", "freeze", "cut", "cut", "heal", "heal", "ping", "ping", "slow", "hand back")


@examples(40, derandomize=True, database=None)
@given(st.integers(0, 999), scripts(PAIR_ACTS))
def test_never_both_brokers_are_active(seed: int, script: list[Step]) -> None:
    house = Pair(seed)
    house.rage(script)
    house.settle()


@pytest.mark.parametrize("name", Pair.BROKERS)
@pytest.mark.parametrize("fault", ["cut", "freeze"])
@pytest.mark.parametrize("seconds", [1.5, 3.0, 4.0, 9.0])
def test_a_broker_that_is_away_for_a_while(name: str, fault: str, seconds: float) -> None:
    house = Pair(int(seconds * 2))
    world = house.world
    world.run(2.0)
    world.order("c1", BulkSpec("ping", 200, rate=20.0))
    house.do(fault, name, (seconds - 0.5) / 20.0)
    world.run_for(seconds)
    house.heal()
    world.run_for(10.0)
    house.settle()
    assert world.picture("c1").run.passed
    assert house.served == ({"primary", "fallback"} if name == "primary" and seconds >= 4.0 else {"primary"})


def test_first_the_one_and_then_the_other_is_cut_off() -> None:
    """Found by the storm: what was said to the primary before it was cut off reaches it as the fallback is."""
    house = Pair(24)
    house.rage(
        [Step(10.0, "restart", 2, 1.0), Step(1.0, "cut", 0, 0.0), Step(4.0, "heal", 0, 0.0), Step(0.0, "cut", 1, 0.0)]
    )
    house.settle()


@pytest.mark.parametrize("seed", seeds(3))
def test_primary_killed_under_load_loses_nothing(seed: int) -> None:
    """Issue: the fallback answers, nothing that was accepted is lost; and the primary waits until it is handed back."""
    house = Pair(seed)
    world = house.world
    world.run(2.0)
    world.order("c1", BulkSpec("ping", 1000, rate=150.0, in_flight=1000))
    world.run_for(3.0)
    world.crash("primary")
    world.run_for(12.0)
    assert world.picture("c1").run.passed and world.core("fallback").serving
    world.restart("primary", house.seats["primary"]())
    world.run_for(30.0)
    assert world.core("fallback").serving and not world.core("primary").serving
    world.order("c1", BulkSpec("data", 500, size=100, rate=150.0))
    world.run_for(1.0)
    world.order("fallback", HandBack())
    world.run_for(10.0)
    assert world.core("primary").serving and not world.core("fallback").serving
    assert world.picture("c1").run.passed
    assert house.served == {"primary", "fallback"}


def test_a_task_is_known_to_both_by_the_same_key() -> None:
    house = Pair(3)
    world = house.world
    for name in WORKERS:
        world.order(name, Slow(2.0))
    world.run(2.0)
    world.order("c1", BulkSpec("ping", 30, in_flight=30))
    world.run_for(1.0)
    keys: dict[str, set[TaskKey]] = {name: set(world.core(name).service.dispatcher.tasks) for name in house.BROKERS}
    assert keys["primary"] == keys["fallback"] != set()
