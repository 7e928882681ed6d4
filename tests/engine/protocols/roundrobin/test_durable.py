"""A broker with a store, on the desk and in virtual time: what it accepts ends once, whoever dies."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import (
    Disconnected,
    Ended,
    Entry,
    Leased,
    Note,
    Ordered,
    Outcome,
    Received,
    Send,
    Started,
    Store,
    Stored,
    Told,
    Unstored,
)
from engine.parts.bulk import BulkSpec
from engine.parts.keeping import AHEAD, HIGH, RETRY
from engine.parts.store import Revive
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.durable import Durable
from engine.protocols.roundrobin.options import Options
from engine.sim.world import World
from tests.helpers.roundrobin import PACE, Front, given, ident, relayed

TAG = b"twelve bytes"
UNIQUE = TAG + bytes(4)


class Back(Front):
    """A broker with a store, which is the test: ``asked`` is what it was asked for last."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.broker = self.core = Durable(Options(**{**PACE, **options}, backlog="sqlite:"))
        self.asked: list[Store] = []
        self.next = 1

    def do(self, event: Any) -> Any:
        commands = self.core.handle(event, self.now)
        self.core.check()
        self.asked += [command for command in commands if isinstance(command, Store)]
        self.notes += [command for command in commands if isinstance(command, Note)]
        return [command.frames for command in commands if isinstance(command, Send)]

    def stored(self, *, lease: int | None = None, waiting: int = 0, **how: Any) -> Any:
        """The store has done the oldest command; it leased all that it was asked for."""
        command = self.asked.pop(0)
        leased = []
        for entry in command.tasks[: command.lease if lease is None else lease]:
            leased.append(Leased(self.next, entry.client, entry.message, 0, 0))
            self.next += 1
        fates = how.pop("fates", [None] * len(command.tasks))
        if "refused" in how:
            fates, leased = [], []
        return self.do(Stored(command.number, fates, how.pop("leased", leased), how.pop("fenced", []), waiting, **how))


def begun(**options: Any) -> Back:
    back = Back(**options)
    back.do(Started())
    assert back.asked == [Store(1, [], [], [], HIGH)]
    back.stored()
    back.join(b"w")
    return back


def test_a_task_goes_to_a_worker_when_it_is_kept_and_its_answer_to_the_client_when_that_is() -> None:
    back = begun()
    assert back.pingt(1) == []
    (command,) = back.asked
    assert command.tasks == [Entry(b"c", wire.ping(ident(1), True)[2:-1])] and command.lease == 1
    assert back.stored() == [given(b"w", 1)]
    assert back.reply(b"w", 1) == []
    assert back.asked[0].ended == [Ended(1, Outcome("", None, b"w"))]
    assert back.stored() == [relayed(1, b"w")]
    assert back.books == (1, 1, {}, 0, 0, 0)


def test_what_was_left_by_another_life_is_done_and_what_waits_is_not_loaded() -> None:
    back = Back()
    back.do(Started())
    left = Leased(7, b"c", wire.ping(ident(1), True)[2:-1], 1, 0)
    back.stored(leased=[left], waiting=3)
    assert back.books == (4, 0, {}, 0, 4, 0)
    assert back.asked[0].lease == 3 and not back.asked[0].tasks
    assert given(b"w", 1) in back.join(b"w")


def test_how_often_workers_were_lost_with_a_task_counts_over_restarts() -> None:
    back = Back(max_deliveries=3)
    back.do(Started())
    message = wire.ping(ident(1), True)[2:-1]
    back.stored(leased=[Leased(7, b"c", message, 2, 2)])
    back.join(b"w")
    back.at(back.now + 7)
    assert back.asked[-1].ended == [Ended(7, Outcome("undeliverable", None, b""))]
    assert back.books == (1, 0, {"undeliverable": 1}, 0, 0, 0)


def test_an_answer_that_is_fenced_reaches_nobody() -> None:
    back = begun()
    back.pingt(1)
    back.stored()
    back.reply(b"w", 1)
    assert back.stored(fenced=[1]) == []
    assert ("fenced", 1) in back.core.snapshot(back.now).counters


def test_a_global_id_that_was_kept_before_is_not_done_again() -> None:
    back = begun()
    task = [b"c", *wire.ping(UNIQUE, True)]
    back.told(task)
    assert back.stored(fates=[Outcome("", None, b"w")], lease=0) == [wire.relayed(b"c", UNIQUE, b"w")]
    back.told([b"d", *wire.ping(UNIQUE, True)])
    assert back.stored(fates=[Outcome("deadline")], lease=0) == [
        wire.relayed(b"d", UNIQUE, b"broker", wire.failure("deadline"))
    ]
    assert back.books == (0, 0, {}, 0, 0, 0)


def test_who_asks_meanwhile_gets_the_answer_as_well() -> None:
    back = begun()
    back.told([b"c", *wire.ping(UNIQUE, True)])
    back.stored()
    back.told([b"d", *wire.ping(UNIQUE, True)])
    back.stored(fates=["kept"], lease=0)
    back.told([b"w", *wire.reply(b"c", UNIQUE)])
    assert {frames[0] for frames in back.stored()} == {b"c", b"d"}


def test_a_task_that_is_refused_is_dropped_and_a_client_of_ours_is_told_why() -> None:
    back = begun()
    back.pingt(1)
    back.told([b"c", *wire.ping(UNIQUE, True)])
    assert back.stored(refused="the disk is full") == []
    refusal = wire.relayed(b"c", UNIQUE, b"broker", wire.failure("the disk is full"))
    assert back.stored(refused="the disk is full") == [refusal]
    assert back.books == (2, 0, {}, 0, 0, 2)
    assert [note.text for note in back.notes if note.level == "bad"] == ["tasks are refused: the disk is full"]
    assert ("store", "the disk is full") in back.core.snapshot(back.now).terms
    back.at(back.now + RETRY)
    assert [command[1:] for command in back.asked] == [([], [], [], 0, (), (0, 0))]
    back.stored()
    assert back.notes[-1] == Note("good", "the store keeps tasks again")


def test_how_a_task_ended_waits_for_a_store_that_is_away() -> None:
    back = begun()
    back.pingt(1)
    back.stored()
    back.reply(b"w", 1)
    command = back.asked.pop()
    back.do(Unstored(command.number, "it is away"))
    assert back.asked == [] and back.broker.wake_at() <= back.now + RETRY
    back.at(back.now + RETRY)
    assert back.asked[0].ended == command.ended
    assert relayed(1, b"w") in back.stored()


def test_a_worker_that_is_lost_with_a_task_is_counted_in_the_store() -> None:
    back = begun()
    back.pingt(1)
    (sent,) = back.stored()
    back.unsent(sent)
    assert back.asked == []  # it never left
    back = begun()
    back.pingt(1)
    back.stored()
    back.at(back.now + 7)
    assert [command.lost for command in back.asked] == [[1]]


def test_a_client_that_is_gone_has_its_tasks_done_all_the_same() -> None:
    back = begun()
    back.pingt(1)
    back.do(Disconnected("main", b"c"))
    back.at(back.now + 1)
    assert given(b"w", 1) in back.stored()


def test_what_its_client_asks_for_again_while_it_is_here_is_one_task() -> None:
    back = begun()
    back.pingt(1)
    back.pingt(1)
    assert len(back.asked) == 1
    back.stored()
    back.pingt(1)
    assert back.asked == [] and ("asked again", 2) in back.core.snapshot(back.now).counters


def test_dead_tasks_are_tried_again_where_an_operator_says_so() -> None:
    back = begun()
    back.do(Ordered(Revive((7, 8))))
    assert back.asked == [Store(2, [], [], [], 0, (7, 8))]
    back.stored(waiting=1, revived=1, dead=3)
    assert back.notes[-1] == Note("warn", "1 of 2 dead tasks wait again")
    view = back.core.snapshot(back.now)
    assert ("dead tasks", 3) in view.counters and "3 dead tasks" in dict(view.terms)["store"]
    assert back.books == (1, 0, {}, 0, 1, 0)
    revived = Leased(9, b"c", wire.ping(ident(1), True)[2:-1], 0, 0)
    assert back.asked[0].lease == 1 and back.stored(leased=[revived]) == [given(b"w", 1)]


def test_where_the_store_is_away_an_operator_is_told_that_nothing_was_revived() -> None:
    back = begun()
    back.do(Ordered(Revive((7,))))
    back.do(Unstored(back.asked.pop().number, "it is away"))
    assert back.notes[-1] == Note("bad", "1 dead task could not be revived: it is away")


@pytest.mark.parametrize("seed", range(3))
def test_a_broker_that_is_killed_again_and_again_loses_nothing(seed: int) -> None:
    world = World(seed)
    options = Options(heartbeat=0.5, expiry=1.5, backlog="sqlite:", packed=bool(seed % 2))

    def broker() -> Any:
        return SYSTEM.broker(options, ["tcp://b"])

    world.add("broker", broker())
    for number in range(3):
        world.add(f"w{number}", SYSTEM.worker(options, "tcp://b", number + 1, 4))
    world.add("client", SYSTEM.client(options, "tcp://b", 99))
    world.run(1.0)
    world.order("client", BulkSpec("ping", 300, in_flight=40, timeout=60.0, tag=TAG))
    for number in range(3):
        world.run_for(0.03)
        world.restart("broker", broker())
        world.run_for(0.2)
        world.restart(f"w{number}", SYSTEM.worker(options, "tcp://b", number + 1, 4))
    assert world.run_until(lambda world: world.picture("client").run.state == "ended", 60.0)
    assert world.picture("client").run.passed
    counts = world.stores["broker"].counts()
    assert counts == (300, 300, (), 0, 0, 300, 0)


@pytest.mark.parametrize("packed", [False, True])
def test_a_client_of_ours_is_told_why_its_tasks_are_refused_and_has_them_taken_when_there_is_room(packed: bool) -> None:
    world = World()
    options = Options(heartbeat=0.5, expiry=1.5, backlog="sqlite:", packed=packed)
    world.add("broker", SYSTEM.broker(options, ["tcp://b"]))
    world.add("w", SYSTEM.worker(options, "tcp://b", 1, 4))
    world.add("client", SYSTEM.client(options, "tcp://b", 99))
    world.run(1.0)
    full, away = "the store is full: it holds 0 tasks", "away"
    for tasks, why in ((20, full), (10, away)):
        world.stores["broker"].room, world.stores["broker"].down = 0, away if why == away else ""
        world.order("client", BulkSpec("ping", tasks, timeout=60.0, tag=TAG))
        assert world.run_until(lambda world, tasks=tasks: _ended(world, tasks), 10.0)  # type: ignore[misc]
        assert world.picture("client").run.ledger.failed == ((why, tasks),)
        assert world.picture("broker").kept.trouble == why
    world.stores["broker"].room, world.stores["broker"].down = 100, ""
    assert world.run_until(lambda world: not world.picture("broker").kept.trouble, 3 * RETRY)
    world.order("client", BulkSpec("ping", 30, timeout=60.0, tag=TAG))
    assert world.run_until(lambda world: _ended(world, 30), 10.0)
    assert world.picture("client").run.passed


def _ended(world: World, tasks: int) -> bool:
    run = world.picture("client").run
    return run is not None and run.spec.n == tasks and run.state == "ended"


# ---- a store that brokers share --------------------------------------------------------------------------------------


class Shared(Back):
    """A broker whose store others use as well."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.broker = self.core = Durable(Options(**{**PACE, **options}, backlog="nats://here"))
        self.do(Started())
        self.stored()


def test_of_a_shared_store_it_leases_for_the_slots_that_its_workers_have() -> None:
    back = Shared()
    assert back.asked == []
    back.do(Told(100, []))
    assert back.asked == [] and back.core.snapshot(back.now).kept == (100, 100, "")
    back.join(b"w")
    slots = sum(row.slots for row in back.core.snapshot(back.now).workers)
    assert [command.lease for command in back.asked] == [AHEAD * slots]


def test_what_another_broker_had_done_is_told_and_what_was_done_for_it_is_not_told_here() -> None:
    back = Shared()
    back.join(b"w")
    answer = wire.relayed(b"c", UNIQUE, b"w", b"data")
    assert back.do(Told(None, [(b"c", UNIQUE, Outcome("", b"data", b"w"))])) == [answer]
    back.do(Told(1, []))
    theirs = Leased(9, b"\xfffar", wire.ping(ident(1), True)[2:-1], 0, 0, far=True)
    given_out = back.stored(leased=[theirs])
    assert [frames[0] for frames in given_out] == [b"w"]
    back.told([b"w", *wire.reply(b"\xfffar", ident(1))])
    assert back.asked[-1].ended == [Ended(9, Outcome("", None, b"w"))]
    while back.asked:
        assert back.stored() == []
    assert back.books == (1, 1, {}, 0, 0, 0)


def test_of_tasks_that_were_put_together_some_may_be_refused() -> None:
    back = Shared()
    back.do(Received([[b"c", *wire.ping(UNIQUE, True)], [b"d", *wire.ping(TAG + b"more", True)]]))
    (command,) = back.asked
    back.asked.clear()
    refusal = wire.relayed(b"d", TAG + b"more", b"broker", wire.failure("full"))
    assert back.do(Stored(command.number, [None, "refused"], [], [], 1, "full")) == [refusal]
    assert ("store", "full") in back.core.snapshot(back.now).terms
