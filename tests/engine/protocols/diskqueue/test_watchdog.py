"""The watchdog's decisions: numbers of drivers, replacement, start-up errors, recovery, the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.core import NEVER, Exit, Note, Ordered, Started, Woken
from engine.parts.orders import Leave
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.diskqueue.watchdog import (
    Abort,
    Command,
    Ended,
    Event,
    Found,
    Kill,
    KillDriver,
    Look,
    Looked,
    PauseStage,
    Quit,
    Recover,
    Recovered,
    ResumeStage,
    SetWorkers,
    Spawn,
    Watchdog,
)

STAGES = (Stage("values", 1), Stage("parse", 3))
NOTHING = Looked(frozenset(), ())
ALL_DONE = Looked(frozenset({"values", "parse"}), ())


def made(fail_fast: bool = False) -> Watchdog:
    """A watchdog whose four drivers 1 (values), 2, 3 and 4 (parse) run."""
    core = Watchdog(STAGES, Options(), 1, fail_fast)
    assert core.handle(Started(), 0.0) == [Look()]
    spawned = core.handle(NOTHING, 0.0)
    assert spawned == [Spawn("values", "1"), Spawn("parse", "2"), Spawn("parse", "3"), Spawn("parse", "4")]
    return core


def acts(commands: list[Command]) -> list[Command]:
    return [command for command in commands if not isinstance(command, Note)]


def died(core: Watchdog, number: str, now: float, docs: int = 0, code: int = -9, started: bool = True) -> list[Command]:
    """A driver dies and what it held is recovered."""
    commands = acts(core.handle(Ended(number, code, started, docs, "last words"), now))
    for command in list(commands):
        if isinstance(command, Recover):
            assert acts(core.handle(Recovered(command.stage, command.number, 1), now)) == []
    core.check()
    return commands


def test_every_stage_is_brought_to_its_number() -> None:
    core = made()
    assert core.handle(NOTHING, 0.1) == []
    assert core.wake_at() == 0.1 + Options().poll
    assert core.handle(Woken(), 0.2) == []
    assert core.handle(Woken(), 0.6) == [Look()]


def test_a_driver_that_did_something_is_replaced_at_once_under_a_new_number() -> None:
    core = made()
    assert died(core, "3", 5.0, docs=2) == [Recover("parse", "3"), Look()]
    assert core.handle(NOTHING, 5.0) == [Spawn("parse", "5")]
    assert core.snapshot(5.0)[1].restarts == 1


def test_one_that_did_nothing_is_replaced_after_a_pause_that_doubles_to_a_limit() -> None:
    core, now, pauses = made(), 10.0, []
    number = 2
    for _ in range(9):
        died(core, str(number), now)
        pause = core.snapshot(now)[1].restart_in
        pauses.append(pause)
        assert acts(core.handle(NOTHING, now + pause - 0.01)) == []
        now += pause
        (spawn,) = acts(core.handle(NOTHING, now))
        assert isinstance(spawn, Spawn)
        number = int(spawn.number)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_a_start_up_error_stops_the_stage_with_the_reason_and_the_others_go_on() -> None:
    core = made()
    died(core, "2", 1.0, code=2, started=False)
    values, parse = core.snapshot(1.0)
    assert (values.state, parse.state) == ("running", "stopped")
    assert parse.reason == "driver 2 could not start, exit status 2: last words"
    assert core.handle(NOTHING, 1.0) == [Quit("3"), Quit("4")]
    assert core.handle(NOTHING, 60.0) == []


def test_being_killed_before_the_start_stops_a_stage_only_five_times_in_a_row() -> None:
    core = made()
    for number in ("2", "3", "4"):
        died(core, number, 1.0, started=False)
    core.handle(NOTHING, 60.0)  # the pause is over: three new ones
    died(core, "5", 60.0, started=False)
    assert core.snapshot(60.0)[1].state == "running"
    died(core, "6", 60.0, started=False)
    assert core.snapshot(60.0)[1].state == "stopped"


def test_unattended_a_stopped_stage_ends_everything() -> None:
    core = made(fail_fast=True)
    commands = core.handle(Ended("2", 2, False, 0, "no such command"), 1.0)
    assert [command for command in acts(commands) if isinstance(command, Quit)] == [Quit("1"), Quit("3"), Quit("4")]
    core.handle(Recovered("parse", "2", 0), 1.0)
    for number in ("1", "3"):
        died(core, number, 2.0, code=143)
    core.handle(Ended("4", 0, True, 0, ""), 2.0)
    assert core.wake_at() == NEVER
    assert core.handle(NOTHING, 3.0) == []


def test_the_end_of_a_driver_that_an_earlier_watchdog_started_is_told_without_a_status() -> None:
    told = made().handle(Ended("2", None, True, 1, "last words"), 1.0)
    assert [one.text for one in told if isinstance(one, Note)] == [
        "driver 2 of parse ended, how is not known: last words"
    ]


def test_why_a_stage_is_stopped_is_told_once() -> None:
    core = made(fail_fast=True)
    told = core.handle(Ended("2", 2, False, 0, "no such command"), 1.0)
    told += core.handle(Recovered("parse", "2", 0), 1.0)
    for number in ("1", "3", "4"):
        told += core.handle(Ended(number, 0, True, 1, ""), 2.0)
    texts = [one.text for one in told if isinstance(one, Note)]
    assert texts == ["parse is stopped: driver 2 could not start, exit status 2: no such command"]
    assert told[-1] == Exit("parse is stopped", True)


def test_a_stage_can_be_set_going_again() -> None:
    core = made()
    died(core, "2", 1.0, code=2, started=False)
    core.handle(NOTHING, 1.0)
    for number in ("3", "4"):
        core.handle(Ended(number, 0, True, 0, ""), 1.0)
    commands = core.handle(Ordered(ResumeStage("parse")), 2.0)
    assert commands == [Spawn("parse", "5"), Spawn("parse", "6"), Spawn("parse", "7")]


def test_fewer_workers_the_newest_leave_more_workers_new_ones_come() -> None:
    core = made()
    assert core.handle(Ordered(SetWorkers("parse", 1)), 1.0) == [Quit("3"), Quit("4")]
    assert core.leaving("3") and not core.leaving("2")
    assert died(core, "4", 2.0, code=143) == [Recover("parse", "4"), Look()]
    assert core.handle(Ordered(SetWorkers("values", 2)), 3.0) == [Spawn("values", "5")]


def test_a_paused_stage_empties_and_comes_back() -> None:
    core = made()
    assert core.handle(Ordered(PauseStage("values")), 1.0) == [Quit("1")]
    assert core.handle(Ended("1", 0, True, 3, ""), 2.0) == [Look()]
    assert core.handle(NOTHING, 2.0) == []
    assert core.snapshot(2.0)[0].state == "paused"
    assert core.handle(Ordered(ResumeStage("values")), 3.0) == [Spawn("values", "5")]


def test_an_order_to_kill_names_one_driver() -> None:
    core = made()
    assert core.handle(Ordered(KillDriver("3")), 1.0) == [Kill("3")]
    assert core.handle(Ordered(KillDriver("99")), 1.0) == [Note("warn", "there is no such stage or driver: 99")]


def test_locks_of_the_dead_are_recovered_and_those_of_the_living_left_alone() -> None:
    core = made()
    held = Looked(frozenset(), (("parse", "2"), ("parse", "77")))
    assert core.handle(held, 1.0) == [Recover("parse", "77")]
    assert core.handle(held, 2.0) == []
    reason = "another program holds them"
    told = Note("info", f"documents held by 77 stay as they are: {reason}")
    assert core.handle(Recovered("parse", "77", 0, reason), 2.0) == [told]
    assert core.handle(held, 3.0) == [Recover("parse", "77")]
    assert core.handle(Recovered("parse", "77", 0, reason), 3.0) == []


def test_the_end_comes_when_every_stage_is_done_and_every_driver_gone() -> None:
    core = made()
    assert acts(core.handle(ALL_DONE, 1.0)) == []
    for number in ("1", "2", "3"):
        assert core.handle(Ended(number, 0, True, 1, ""), 1.0) == [Look()]
    assert core.handle(Ended("4", 0, True, 1, ""), 1.0) == [Look(), Exit("done")]
    assert core.handle(ALL_DONE, 2.0) == []


def test_a_driver_killed_when_all_is_done_is_recovered_before_the_end() -> None:
    core = made()
    core.handle(ALL_DONE, 1.0)
    for number in ("1", "2", "3"):
        core.handle(Ended(number, 0, True, 1, ""), 1.0)
    assert acts(core.handle(Ended("4", -9, True, 1, ""), 1.0)) == [Recover("parse", "4"), Look()]
    assert core.handle(Recovered("parse", "4", 0), 1.0) == [Exit("done")]


def test_leave_once_and_twice() -> None:
    core = made()
    everybody = [Quit("1"), Quit("2"), Quit("3"), Quit("4")]
    assert core.handle(Ordered(Leave()), 1.0) == everybody
    assert core.handle(Ordered(Leave()), 2.0) == everybody
    for number in ("1", "2", "3"):
        core.handle(Ended(number, 0, True, 1, ""), 3.0)
    assert core.handle(Ended("4", 0, True, 1, ""), 3.0)[-1] == Exit("told to stop")


def test_abort_kills_and_recovers_everybody() -> None:
    core = made()
    assert core.handle(Ordered(Abort()), 1.0) == [Kill("1"), Kill("2"), Kill("3"), Kill("4")]
    for number in ("1", "2", "3"):
        died(core, number, 2.0)
    assert core.handle(Ended("4", -9, True, 1, ""), 2.0) == [Recover("parse", "4"), Look()]
    assert core.handle(Recovered("parse", "4", 0), 2.0) == [Exit("killed")]
    assert core.wake_at() == NEVER


def test_drivers_of_an_earlier_watchdog_count() -> None:
    core = Watchdog(STAGES, Options(), 9)
    core.handle(Found("7", "parse"), 0.0)
    assert core.handle(Found("8", "another"), 0.0) == [Note("warn", "driver 8 works for no stage of this pipeline")]
    core.handle(Started(), 0.0)
    spawned = core.handle(NOTHING, 0.0)
    assert spawned == [Spawn("values", "9"), Spawn("parse", "10"), Spawn("parse", "11")]


@given(st.lists(st.integers(0, 7), max_size=60))
def test_whatever_happens_numbers_are_new_and_the_counts_hold(moves: list[int]) -> None:
    core, now, seen, living = Watchdog(STAGES, Options(), 1), 0.0, set[str](), list[str]()
    commands = core.handle(Started(), now)
    for move in [*moves, 0]:
        now += 1.0
        for command in commands:
            if isinstance(command, Spawn):
                assert command.number not in seen
                seen.add(command.number)
                living.append(command.number)
        events: list[Event] = [NOTHING, Ordered(PauseStage("parse")), Ordered(ResumeStage("parse"))]
        events += [Ordered(SetWorkers("parse", 2)), Woken(), Recovered("parse", "2", 1)]
        if living and move > 5:
            code = -9 if move == 6 else 0
            event: Event = Ended(living.pop(0), code, True, 1, "")
        else:
            event = events[min(move, 5)]
        commands = core.handle(event, now)
        core.check()
        assert len(core.snapshot(now)[1].drivers) <= 3


def test_drivers_that_end_at_once_with_nothing_done_are_put_off_and_at_last_stop_their_stage() -> None:
    """A driver that takes a queue for done where its watchdog does not: 67 of them came and went in 15 s."""
    core = Watchdog((Stage("a", 1),), Options(), 1, True)
    core.handle(Started(), 0.0)
    core.handle(NOTHING, 0.0)
    now, pauses, out = 0.0, [], []
    for number in range(1, 6):
        assert died(core, str(number), now, code=0) == [Look()]
        pauses.append(core.snapshot(now)[0].restart_in)
        out = core.handle(NOTHING, now)
        assert not [command for command in out if isinstance(command, Spawn)], "not at once"
        now += pauses[-1]
        core.handle(Woken(), now)
        core.handle(NOTHING, now)
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]
    reason = "5 drivers in a row found nothing to do and ended, but it is not done"
    assert core.snapshot(now)[0].reason == reason
    assert out[-1] == Exit("a is stopped", True)
    assert Note("bad", f"a is stopped: {reason}") in out


def test_drivers_that_end_together_because_all_is_done_stop_nothing() -> None:
    core = Watchdog((Stage("a", 9),), Options(), 1, True)
    core.handle(Started(), 0.0)
    core.handle(NOTHING, 0.0)
    for number in range(1, 10):
        died(core, str(number), 1.0, code=0)
        core.handle(NOTHING, 1.0)  # the look is a little behind
    assert core.snapshot(1.0)[0].state == "running"
    assert acts(core.handle(Looked(frozenset({"a"}), ()), 1.1)) == [Exit("done")]


def test_a_driver_that_did_something_begins_the_count_anew() -> None:
    core = Watchdog((Stage("a", 1),), Options(), 1)
    core.handle(Started(), 0.0)
    core.handle(NOTHING, 0.0)
    for number in range(1, 12):
        died(core, str(number), number * 100.0, code=0, docs=number % 4 == 0)
        core.handle(NOTHING, number * 100.0)
        core.handle(NOTHING, number * 100.0 + 50)
    assert core.snapshot(2000.0)[0].state == "running"
