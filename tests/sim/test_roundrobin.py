"""Round robin in a storm: joins, leaves, deaths, loss, duplicates, restarts, freezes, and the calm after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Command, Event, Frames, Received, Seat, Send
from engine.parts.bulk import BulkSpec
from engine.parts.inflight import Task, TaskKey
from engine.parts.orders import Drain, Leave, Slow, StopRun
from engine.parts.view import BrokerView, ClientView, WorkerView
from engine.protocols.roundrobin import SYSTEM, packed
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options
from engine.sim.wire import Link
from engine.sim.world import World
from tests.helpers.examples import examples
from tests.helpers.poison import SLOW, suffer
from tests.helpers.storm import FAULTS, Step, Storm, scripts

OPTIONS = Options(packed=True, task_deadline=20.0, max_backlog=40, lost_shown=15.0)
HERE = SYSTEM.endpoint
AS_THE_ORIGINAL = replace(OPTIONS, packed=False)
WORKERS = {"w1": 1, "w2": 3, "w3": 10}  # name → slots
CLIENTS = ("c1", "c2")
NONCES = {name: i for i, name in enumerate((*WORKERS, *CLIENTS), 1)}
ACTS = (*FAULTS, "ping", "ping", "data", "paced", "fire and forget", "stop", "leave", "drain", "slow")
LOAD = [Step(1.0, "slow", 1, 0.1), Step(0.0, "slow", 3, 0.1), Step(0.0, "paced", 4, 1.0), Step(0.0, "ping", 5, 1.0)]
LANES: dict[str, Collection[str]] = {  # who packs
    "packed": ("broker", *WORKERS, *CLIENTS),
    "mixed": ("broker", "w1", "w3", "c2"),
    "seed": (),
}
SETTLED = 120.0  # seconds: every deadline of OPTIONS and of a run has passed


def routing_id(name: str) -> bytes:
    return f"{HERE}:{NONCES[name]}".encode()


class LabManager:
    """A broker, three workers and two clients, watched from outside."""

    def __init__(self, seed: int, lane: str = "packed") -> None:
        self.world = World(seed)
        self.packs = LANES[lane]
        options = {name: OPTIONS if name in self.packs else AS_THE_ORIGINAL for name in ("broker", *NONCES)}
        seats: dict[str, Callable[[], Seat]] = {"broker": partial(SYSTEM.broker, options["broker"], [HERE])}
        seats |= {
            name: partial(SYSTEM.worker, options[name], HERE, NONCES[name], slots) for name, slots in WORKERS.items()
        }
        seats |= {name: partial(SYSTEM.client, options[name], HERE, NONCES[name]) for name in CLIENTS}
        acts: dict[str, Callable[[str, float], None]] = {
            "ping": partial(self.bulk, "ping", 40, {}),
            "data": partial(self.bulk, "data", 20, {"size": 3000}),
            "paced": partial(self.bulk, "ping", 20, {"rate": 5.0}),
            "fire and forget": partial(self.bulk, "ping", 20, {"tracked": False}),
            "stop": self.stop,
            "leave": self.leave,
            "drain": self.drain,
            "slow": self.slow,
        }
        self.storm = Storm(self.world, "broker", seats, acts)
        self.drained: set[str] = set()
        self.broker: Broker | None = None
        self.asked: dict[TaskKey, list[int]] = {}  # which of all tasks that the broker got these were
        self.handed: set[TaskKey] = set()
        self.waited: set[Task] = set()  # at the broker, after the last event
        self.got = self.newest = 0  # tasks that the broker got, and which of them was handed out last
        self.world.watchers.append(self.watch)
        self.world.invariants.append(self.hold)
        for name, seat in seats.items():
            self.world.add(name, seat())

    # ---- acts ---------------------------------------------------------------------------------------------------

    def bulk(self, kind: str, n: int, more: dict[str, object], name: str, amount: float) -> None:
        if name in CLIENTS:
            spec = BulkSpec(kind, n, in_flight=1 + int(amount * 30), **more)  # type: ignore[arg-type]
            self.world.order(name, spec)

    def stop(self, name: str, _amount: float) -> None:
        if name in CLIENTS:
            self.world.order(name, StopRun())

    def leave(self, name: str, _amount: float) -> None:
        if name in WORKERS:
            self.world.order(name, Leave())

    def drain(self, name: str, _amount: float) -> None:
        if name in WORKERS and "broker" in self.world.names:
            self.world.order("broker", Drain(self.world.sockets(name)[0].routing_id))
            self.drained.add(name)

    def slow(self, name: str, amount: float) -> None:
        if name in WORKERS:
            self.world.order(name, Slow(amount * 4.0))

    # ---- what must hold in the storm ----------------------------------------------------------------------------

    def watch(self, _at: float, name: str, event: Event, commands: list[Command]) -> None:
        """What the broker hands out was asked for, and goes out in the order in which it was, the first time.

        The packed lane sorts what one event hands out by worker; order is looked at from event to event, and by worker.
        """
        messages = event.messages if isinstance(event, Received) else []
        if name not in self.packs:
            assert all(len(frames) > 2 for frames in messages), "the original's kind got a packed frame"
        if name != "broker":
            return
        if self.world.core(name) is not self.broker:
            self.broker, self.got, self.newest = self.world.core(name), 0, 0
            self.asked.clear()
            self.handed.clear()
        for key in (key for frames in messages for key in asked(frames)):
            self.got += 1
            self.asked.setdefault(key, []).append(self.got)
        newest, by_worker = self.newest, dict[bytes, int]()
        for worker, key in (
            pair for command in commands if isinstance(command, Send) for pair in handed(command.frames)
        ):
            numbers = self.asked[key]
            if key not in self.handed and len(numbers) == 1:  # asked again, it may have been dropped before
                assert numbers[0] > max(newest, by_worker.get(worker, 0)), "a newer task went first"
                by_worker[worker] = numbers[0]
                self.newest = max(self.newest, numbers[0])
                if not self.packs:
                    newest = self.newest
            self.handed.add(key)

    def hold(self, world: World) -> None:
        if world.acting != "broker" or "broker" not in world.names:  # nobody else changes what it holds
            return
        pool = world.core("broker").pool
        waiting = [*pool.backlog.suspects.waiting, *pool.backlog.fresh]
        again = [task.given > 0.0 for task in waiting]
        new = [task.accepted for task in waiting if not task.given]
        assert again == sorted(again, reverse=True), "a new task waits before one that was handed out"
        assert new == sorted(new), "the backlog is out of order"
        assert len(new) <= OPTIONS.max_backlog
        taken: dict[tuple[bytes, int], list[float]] = {}  # by one event, from a worker: when they were given
        for task in waiting:
            if task.attempt and task not in self.waited:
                taken.setdefault((pool.former[task.key][-1], task.attempt), []).append(task.given)
        assert all(old == sorted(old) for old in taken.values()), "what a lost worker held is out of order"
        self.waited = set(waiting)
        assert all(1 <= task.attempt <= OPTIONS.max_deliveries for task in pool.tasks.values() if task.worker)
        view: BrokerView = world.core("broker").snapshot(world.now)
        assert view.ledger.balanced
        assert (view.backlog, view.in_flight) == (len(waiting), pool.in_flight)
        for row in view.workers:
            assert 0 <= row.free <= row.slots
            assert row.state == "lost" or row.key not in {other.key for other in view.workers if other is not row}

    # ---- what must hold in the calm -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Faults stop and somebody works: everything ends, everybody is at home, and then a run passes."""
        world, storm = self.world, self.storm
        storm.calm()
        for name in ("broker", "w3", *CLIENTS):
            if name not in world.names or name in self.drained:
                world.restart(name, storm.seats[name]())
                self.drained.discard(name)
        for name in set(WORKERS) & set(world.names):
            world.order(name, Slow(0.0))
        world.run_for(SETTLED)
        pictures = world.pictures
        view: BrokerView = pictures["broker"]
        assert view.ledger.balanced and view.ledger.in_flight == view.ledger.queued == 0, "a task has not ended"
        home = {row.key for row in view.workers}
        living = {world.sockets(name)[0].routing_id for name in WORKERS if name in world.names}
        asked_to_go = {world.sockets(name)[0].routing_id for name in self.drained if name in world.names}
        assert living - asked_to_go <= home <= living, "not everybody is at home"
        assert all(row.free == row.slots for row in view.workers), "a slot is lost"
        pool = world.core("broker").pool
        assert not pool.tasks and not pool.former and not pool.lost, "something that has ended is remembered"
        for name, picture in pictures.items():
            if isinstance(picture, ClientView):
                assert picture.linked and (picture.run is None or picture.run.state == "ended")
                assert world.core(name).violations.total == 0
            elif isinstance(picture, WorkerView):
                assert picture.running == 0
        world.order("c1", BulkSpec("data", 50, size=2000))
        world.order("c2", BulkSpec("ping", 50))
        world.run_for(10.0)
        assert [world.picture(name).run.passed for name in CLIENTS] == [True, True]


def asked(frames: Frames) -> list[TaskKey]:
    """The tasks that a message to the broker brings."""
    if wire.at_broker(list(frames)) is wire.TASK:
        return [(frames[0], frames[4])]
    tasks = packed.read_tasks(frames[1]) if len(frames) == 2 and packed.kind(frames[1]) == packed.TASKS else []
    assert not isinstance(tasks, str), tasks
    return [(frames[0], task[1]) for task in tasks]


def handed(frames: Frames) -> list[tuple[bytes, TaskKey]]:
    """The tasks that a message of the broker hands out, each with its worker."""
    if wire.at_peer(frames[1:]) is wire.TASK:
        return [(frames[0], (frames[-1], frames[4]))]
    pairs = (
        packed.read_deliveries(frames[1]) if len(frames) == 2 and packed.kind(frames[1]) == packed.DELIVERIES else []
    )
    assert not isinstance(pairs, str), pairs
    return [(frames[0], (client, task[1])) for client, task in pairs]


def live(seed: int, script: list[Step], lane: str = "packed") -> LabManager:
    house = LabManager(seed, lane)
    house.storm.rage(script)
    house.settle()
    return house


@examples(75, derandomize=True, database=None)
@given(st.integers(0, 999), scripts(ACTS), st.sampled_from(list(LANES)))
def test_any_storm_is_survived(seed: int, script: list[Step], lane: str) -> None:
    live(seed, script, lane)


@pytest.mark.parametrize("lane", LANES)
def test_without_faults_everything_succeeds_at_once(lane: str) -> None:
    house = live(0, [Step(1.0, "data", 4, 1.0), Step(0.0, "ping", 5, 1.0), Step(30.0, "heal", 0, 0.0)], lane)
    view: BrokerView = house.world.picture("broker")
    assert (view.ledger.sent, view.ledger.succeeded) == (160, 160)
    assert sum(row.done for row in view.workers) == 160
    assert dict(view.counters).get("violations", 0) == 0


@pytest.mark.parametrize("act", [act for act in FAULTS if act not in ("heal", "good link")])
@pytest.mark.parametrize("who", range(1 + len(WORKERS)))
def test_each_fault_alone_under_load(act: str, who: int) -> None:
    live(who, [*LOAD, Step(1.0, act, who, 0.75), Step(9.0, "heal", who, 0.0)])


def test_a_broker_that_restarts_at_once_gets_its_workers_back() -> None:
    """R4: it is back before anybody misses a PONG, and tells the workers with it that it does not know them."""
    house = LabManager(0)
    house.storm.rage(LOAD)
    house.world.restart("broker", house.storm.seats["broker"]())
    house.settle()


@pytest.mark.parametrize("lane", LANES)
def test_a_house_speaks_the_lanes_that_it_agreed_on(lane: str) -> None:
    """Who packs gets packed frames and nobody else does; and a broker that comes back without it is found out."""
    house, packs = LabManager(0, lane), set[str]()
    house.world.watchers.append(
        lambda _at, name, event, _commands: packs.update(
            [name] if isinstance(event, Received) and any(packed.kind(frames[-1]) for frames in event.messages) else []
        )
    )
    house.storm.rage([Step(1.0, "ping", 4, 1.0), Step(1.0, "data", 5, 1.0)])
    house.settle()
    assert packs == set(house.packs)
    packs.clear()
    house.world.restart("broker", SYSTEM.broker(AS_THE_ORIGINAL, [HERE]))
    house.world.run_for(SETTLED)
    house.settle()
    assert not packs


@pytest.mark.parametrize("load", [("ping", 500, {}), ("data", 200, {"size": 3000}), ("ping", 300, {"tracked": False})])
@pytest.mark.parametrize("seed", range(3))
def test_both_lanes_keep_the_same_books_and_give_every_worker_the_same(
    load: tuple[str, int, dict[str, object]], seed: int
) -> None:
    """On links that delay every message alike, so that the same messages meet."""
    books = []
    for lane in ("packed", "seed"):
        house = LabManager(seed, lane)
        house.world.link(Link(delay=(0.001, 0.001)))
        house.world.run_for(1.0)
        house.world.order("w1", Slow(0.05))
        for client in CLIENTS:
            house.bulk(*load, client, 0.5)
        house.world.run_for(60.0)
        view: BrokerView = house.world.picture("broker")
        runs = [house.world.picture(client).run for client in CLIENTS]
        assert all(run.passed for run in runs)
        books.append((view.ledger, {row.key: row.done for row in view.workers}, [run.ledger for run in runs]))
    assert books[0] == books[1]


# ---- F17: a poison task -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("workers", [("w3",), ("w2", "w3"), tuple(WORKERS)])
def test_f17_a_poison_task_ends_no_innocent_one(lane: str, workers: tuple[str, ...]) -> None:
    """Also with one worker of ten slots, which dies three times. Nobody but the poison is tried more than twice."""
    house, tried = LabManager(0, lane), Counter[TaskKey]()
    world = house.world

    def count(_at: float, name: str, _event: Event, commands: list[Command]) -> None:
        sent = [command.frames for command in commands if name == "broker" and isinstance(command, Send)]
        tried.update(key for frames in sent for _, key in handed(frames))

    def holder() -> str | None:
        return names.get(poison.worker) if pool.tasks.get(poison.key) is poison else None

    for name in WORKERS:
        world.order(name, Slow(SLOW))
        if name not in workers:
            world.crash(name)
    world.run_for(10.0)
    world.watchers.append(count)
    world.order("c1", BulkSpec("ping", 60, in_flight=30))
    world.run_for(0.05)
    pool = world.core("broker").pool
    poison, names = list(pool.tasks.values())[4], {routing_id(name): name for name in WORKERS}
    deaths = suffer(world, house.storm.seats, holder, 40.0)
    view: BrokerView = world.picture("broker")
    assert (view.ledger.succeeded, dict(view.ledger.failed)) == (59, {"undeliverable": 1})
    assert view.backlog == view.in_flight == 0 and all(row.free == row.slots for row in view.workers)
    assert len(deaths) == OPTIONS.max_deliveries == tried.pop(poison.key) and set(tried.values()) == {1, 2}
