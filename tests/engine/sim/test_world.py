"""Time, processes and faults."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from engine.core import (
    NEVER,
    Cancel,
    Command,
    Connected,
    Event,
    Exit,
    Finished,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Start,
    Started,
    Unsent,
    Woken,
)
from engine.sim.wire import Link
from engine.sim.world import Outcome, Said, World
from tests.helpers.toys import Probe, dealer, router

HERE = "tcp://here:1"


class Beat:
    """Sends its count once a second, on a grid of its own clock; says so when a minute is full."""

    def __init__(self) -> None:
        self.next = NEVER
        self.sent = 0
        self.late: list[float] = []

    def handle(self, event: Event, now: float) -> list[Command]:
        if isinstance(event, Started):
            self.next = now + 1.0
        if now < self.next:
            return []
        self.late.append(now - self.next)
        self.next += 1.0
        self.sent += 1
        commands: list[Command] = [Send([b"", b"%d" % self.sent])]
        if self.sent % 60 == 0:
            commands.append(Note("info", f"{self.sent} beats"))
        return commands

    def wake_at(self) -> float:
        return self.next

    def check(self) -> None:
        assert self.sent == len(self.late)

    def snapshot(self, now: float) -> Any:
        return (now, self.sent)


def small(seed: int, **options: Any) -> tuple[World, Probe, list[Beat]]:
    world = World(seed, **options)
    broker = Probe(lambda frames: frames)
    world.add("broker", router(broker, HERE))
    beats = [Beat() for _ in range(4)]
    for i, beat in enumerate(beats):
        world.add(f"w{i}", dealer(beat, HERE, b"w%d" % i))
    return world, broker, beats


def digest(seed: int) -> str:
    """The whole history of a world in which everything happens."""
    world, _, _ = small(seed)
    seen = hashlib.sha256()
    world.watchers.append(lambda *what: seen.update(repr(what).encode()))
    world.link(Link(delay=(0.0, 0.3), loss=0.1, duplicate=0.1))
    world.after(5.0, world.cut, "w0", "broker")
    world.after(9.0, world.heal, "w0", "broker")
    world.after(10.0, world.freeze, "w1", 3.0)
    world.after(12.0, world.reset, "w2", "broker")
    world.after(15.0, world.crash, "w3")
    world.after(20.0, lambda: world.restart("w3", dealer(Beat(), HERE, b"w3")))
    world.run(60.0)
    return seen.hexdigest()


def test_a_seed_repeats_its_history_exactly_and_another_has_another() -> None:
    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_an_hour_with_a_cut_link_passes_with_every_beat_in_its_second() -> None:
    world, broker, beats = small(0)
    world.cut("w3", "broker")
    world.run(3600.0)
    assert [beat.sent for beat in beats] == [3600] * 4
    heard = [frames[0] for frames in broker.got]
    assert [heard.count(b"w%d" % i) for i in range(4)] == [3599, 3599, 3599, 0]
    assert max(max(beat.late) for beat in beats) == 0.0
    assert len(world.notes) == 240
    assert world.notes[0] == Said(60.0, "w0", Note("info", "60 beats"))


def test_run_until_stops_at_the_first_event_that_fulfils_it_or_at_its_limit() -> None:
    world, _, beats = small(0)
    assert world.run_until(lambda _: beats[0].sent == 3, limit=10.0)
    assert world.now == 3.0
    assert not world.run_until(lambda _: beats[0].sent == 99, limit=10.0)
    assert world.now == 13.0
    assert world.run_until(lambda _: True, limit=0.0)
    assert beats[0].sent == 13


def test_pictures_are_of_the_living_by_their_own_clocks() -> None:
    world, _, _ = small(0)
    world.skew("w1", jump=100.0)
    world.crash("w2")
    world.run(2.5)
    assert world.names == ("broker", "w0", "w1", "w3")
    assert world.picture("w0") == (2.5, 2)
    assert world.picture("w1") == (102.5, 2)
    assert world.core("w0").sent == 2
    with pytest.raises(KeyError):
        world.core("w2")


def test_a_skewed_clock_jumps_and_runs_at_its_own_rate() -> None:
    world, _, beats = small(0)
    world.run(0.5)
    world.skew("w0", jump=7.0)
    world.skew("w1", rate=1.1)
    world.skew("w2", rate=0.5)
    world.run(100.5)
    assert [beat.sent for beat in beats] == [107, 110, 50, 100]
    with pytest.raises(AssertionError, match="backwards"):
        world.skew("w0", jump=-1.0)


def test_a_step_is_one_entry_and_says_whether_there_was_one() -> None:
    world, _, beats = small(0)
    while beats[0].sent == 0:
        assert world.step(5.0)
    assert world.now == 1.0 and world.acting == "w0" and beats[1].sent == 0
    world.skew("w0", jump=7.0)
    assert (world.clock("w0"), world.clock("w1")) == (8.0, 1.0)
    world.run(1.5)
    assert not world.step(1.5) and world.now == 1.5


def test_a_watcher_sees_an_event_as_it_was_given_though_its_core_took_it_apart() -> None:
    class Greedy(Probe):
        def handle(self, event: Event, now: float) -> list[Command]:
            if isinstance(event, Received):
                event.messages[0].clear()
            return []

    world = World()
    seen: list[Event] = []
    world.watchers.append(lambda _at, name, event, _commands: seen.append(event) if name == "b" else None)
    world.add("b", router(Greedy(), HERE))
    world.add("a", dealer(Probe(), HERE, b"A"))
    world.order("a", [b"", b"hello"])
    world.run(1.0)
    assert seen == [Started(), Connected(peer=b"A"), Received([[b"A", b"", b"hello"]])]


# ---- processes ------------------------------------------------------------------------------------------------------


def test_a_crash_takes_the_state_and_is_noticed_by_who_sends() -> None:
    world, broker, beats = small(0)
    world.run(10.0)
    world.crash("w0")
    world.run(20.0)
    assert beats[0].sent == 10 and "w0" not in world.names
    before = len(broker.events)
    world.order("broker", [b"w0", b"hello?"])
    world.run(20.0)
    assert [event for _, event in broker.events[before:]] == [
        Ordered([b"w0", b"hello?"]),
        Unsent([b"w0", b"hello?"], "unreachable"),
    ]


def test_a_crash_may_lose_the_last_of_what_was_sent_but_nothing_from_the_middle() -> None:
    kept = set()
    for seed in range(20):
        world, broker, _ = small(seed)
        probe = Probe()
        world.add("p", dealer(probe, HERE, b"P"))
        world.run(0.5)
        for i in range(5):
            world.order("p", [b"%d" % i])
        world.run(0.5)
        world.crash("p")
        world.run(0.9)
        heard = [frames[1] for frames in broker.got if frames[0] == b"P"]
        assert heard == [b"%d" % i for i in range(len(heard))]
        kept.add(len(heard))
    assert kept == {0, 1, 2, 3, 4, 5}


def test_a_crash_behind_a_cut_is_not_noticed_until_it_heals() -> None:
    world, broker, _ = small(0)
    world.run(10.0)
    world.cut("w0", "broker")
    world.crash("w0")
    world.order("broker", [b"w0", b"into the void"])
    world.run(20.0)
    assert broker.of(Unsent) == []
    world.heal("w0", "broker")
    world.run(21.0)
    world.order("broker", [b"w0", b"hello?"])
    world.run(22.0)
    assert broker.of(Unsent) == [Unsent([b"w0", b"hello?"], "unreachable")]


def test_a_broker_that_crashed_behind_a_cut_and_came_back_is_found_again() -> None:
    world, _, beats = small(0)
    world.run(10.0)
    world.cut("w0", "broker")
    broker = Probe()
    world.restart("broker", router(broker, HERE))
    world.run(20.0)
    assert b"w0" not in {frames[0] for frames in broker.got}
    world.heal("w0", "broker")
    world.run(30.0)
    mine = [int(frames[2]) for frames in broker.got if frames[0] == b"w0"]
    assert mine[-1] in (29, 30) and mine == sorted(mine)
    assert beats[0].sent == 30


def test_a_restart_is_a_new_core_under_the_old_name() -> None:
    world, broker, _ = small(0)
    world.run(10.0)
    broker.events.clear()
    world.restart("w0", dealer(Beat(), HERE, b"w0"))
    world.run(15.5)
    assert [frames for frames in broker.got if frames[0] == b"w0"][-1] == [b"w0", b"", b"5"]
    with pytest.raises(AssertionError, match="w0 is alive"):
        world.add("w0", dealer(Beat(), HERE, b"w0"))


def test_a_frozen_process_is_told_how_long_and_then_gets_everything_at_once() -> None:
    world = World()
    broker, peer = Probe(), Beat()
    world.add("b", router(broker, HERE))
    world.add("a", dealer(peer, HERE, b"A"))
    world.run(10.5)
    broker.events.clear()
    world.freeze("b", 30.0)
    world.order("b", [b"A", b"reply"])
    world.run(40.4)
    assert broker.events == []
    world.run(40.5)
    kinds = [event for _, event in broker.events]
    assert kinds[0] == Paused(30.0)
    assert Ordered([b"A", b"reply"]) in kinds
    batches = [event for event in kinds if isinstance(event, Received)]
    assert [[int(frames[2]) for frames in batch.messages] for batch in batches] == [list(range(11, 41))]
    assert len(kinds) == 3


def test_the_timers_of_a_frozen_process_are_late_and_a_short_freeze_is_not_told() -> None:
    world, _, beats = small(0)
    told: list[Event] = []
    world.watchers.append(lambda _at, name, event, _commands: told.append(event) if name == "w0" else None)
    world.run(2.5)
    world.freeze("w0", 1.9)
    world.freeze("w0", 99.0)  # it is frozen already
    world.run(10.0)
    assert [late for late in beats[0].late if late > 0.0] == pytest.approx([1.4, 0.4])
    assert not any(isinstance(event, Paused) for event in told)
    assert beats[0].sent == beats[1].sent == 10


def test_a_frozen_process_can_be_killed() -> None:
    world, _, beats = small(0)
    world.run(2.5)
    world.freeze("w0", 5.0)
    world.crash("w0")
    world.run(10.0)
    assert beats[0].sent == 2


def test_an_exit_is_kept_and_closes_the_seat() -> None:
    world, broker, _ = small(0)
    world.add("p", dealer(Probe(), HERE, b"P"))
    world.run(1.0)
    world.order("p", Exit("enough", failed=True))
    world.run(2.0)
    assert world.exits == {"p": Exit("enough", failed=True)} and "p" not in world.names
    world.order("broker", [b"P", b"x"])
    world.run(3.0)
    assert broker.of(Unsent) == [Unsent([b"P", b"x"], "unreachable")]
    world.add("p", dealer(Probe(), HERE, b"P"))
    assert world.exits == {}


# ---- task bodies ----------------------------------------------------------------------------------------------------


def bodies(name: str, start: Start) -> Outcome:
    assert name == "p" and isinstance(start.body, float)
    return Outcome(start.body, start.body < 5.0, b"%d" % start.body)


def test_a_body_finishes_once_after_its_duration_or_at_its_cancellation() -> None:
    world = World(bodies=bodies)
    probe = Probe()
    world.add("p", dealer(probe, HERE))
    for key, body in (("short", 1.0), ("long", 8.0), ("cancelled", 4.0)):
        world.order("p", Start(key, body))
    world.after(2.0, world.order, "p", Cancel("cancelled"))
    world.after(3.0, world.order, "p", Cancel("short"))
    world.run(60.0)
    assert [(at, event) for at, event in probe.events if isinstance(event, Finished)] == [
        (1.0, Finished("short", True, b"1")),
        (2.0, Finished("cancelled", False, b"")),
        (8.0, Finished("long", False, b"8")),
    ]
    world.order("p", Start("short", 9.0))
    world.order("p", Start("short", 9.0))
    with pytest.raises(AssertionError, match="started 'short' twice"):
        world.run_for(1.0)


def test_a_body_dies_with_its_process_and_waits_while_it_is_frozen() -> None:
    world = World(bodies=bodies)
    probe = Probe()
    world.add("p", dealer(probe, HERE))
    world.order("p", Start("a", 1.0))
    world.run(0.5)
    world.freeze("p", 10.0)
    world.run(20.0)
    assert [at for at, event in probe.events if isinstance(event, Finished)] == [10.5]
    world.order("p", Start("b", 1.0))
    world.run_for(0.5)
    world.crash("p")
    world.run_for(10.0)
    assert len(probe.of(Finished)) == 1


# ---- what it catches ------------------------------------------------------------------------------------------------


class Wrong(Beat):
    def check(self) -> None:
        assert self.sent < 3, "wrong at three"


def test_a_core_is_checked_after_every_event_unless_that_is_off() -> None:
    world = World()
    world.add("x", dealer(Wrong(), HERE))
    with pytest.raises(AssertionError, match="wrong at three"):
        world.run(10.0)
    assert world.now == 3.0
    world = World(checks=False)
    world.add("x", dealer(Wrong(), HERE))
    world.run(10.0)
    assert world.core("x").sent == 10


def test_invariants_are_asked_after_every_event() -> None:
    world, _, beats = small(0)

    def few(world: World) -> None:
        assert sum(beat.sent for beat in beats) < 10, f"ten at {world.now}"

    world.invariants.append(few)
    with pytest.raises(AssertionError, match="ten at 3"):
        world.run(10.0)


class Spinner(Beat):
    def wake_at(self) -> float:
        return 1.0

    def handle(self, event: Event, now: float) -> list[Command]:
        return []


def test_a_core_that_asks_for_the_past_for_ever_is_caught() -> None:
    world = World()
    world.add("x", dealer(Spinner(), HERE))
    with pytest.raises(AssertionError, match="x asks again and again to be woken at 1"):
        world.run(2.0)


class Postponer(Beat):
    """Its deadline moves with every message, as a liveness does."""

    def __init__(self) -> None:
        super().__init__()
        self.woken: list[float] = []

    def handle(self, event: Event, now: float) -> list[Command]:
        if isinstance(event, Woken):
            self.woken.append(now)
        if not isinstance(event, Woken) or now >= self.next:
            self.next = now + 2.0
        return []


def test_a_wake_up_comes_early_where_its_deadline_has_moved() -> None:
    world = World()
    postponer = Postponer()
    world.add("x", dealer(postponer, HERE))
    world.after(1.5, world.order, "x", "anything")
    world.run(4.0)
    assert postponer.woken == [2.0, 3.5]
