"""The trace and the ladder on real cores in virtual time: what was said, filtered, followed, held, exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console import units
from console.kinds import session_of
from console.screens.messages import LEAST, QUICK, LadderScreen, TraceScreen, fitting
from console.sessions.cost import KEPT, CostMeter
from engine.catalogue import SYSTEMS
from engine.parts.bulk import BulkSpec
from engine.parts.plain import called
from tests.helpers.fake_lab import FakeLab
from tests.helpers.protocols import User, on, recording, running_sandbox


async def said(user: User, tasks: int = 3) -> None:
    user.lab.run(BulkSpec("ping", tasks, 0, 2))
    user.lab.advance(0.5)
    await user.pass_time(0.25)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_every_system_is_traced_from_the_first_look_on_until_it_is_told_to_end(
    tmp_path: Path, system: str, size: tuple[int, int]
) -> None:
    async def scenario(user: User) -> None:
        assert user.lab.taps == ()
        await user.press("T")
        assert len(user.lab.taps) == 1 and user.shows("nothing was said since")
        await said(user)
        assert user.shows(f"trace · {system}") and user.shows("broker → client") and user.shows("╭─ message")
        await user.press("L")
        assert len(user.lab.taps) == 1, "the ladder goes on with the same trace"
        assert isinstance(user.app.screen, LadderScreen) and user.shows("▶│")
        assert not any(isinstance(screen, TraceScreen) for screen in user.app.screen_stack)
        await user.press("escape")
        await user.pass_time(0.25)
        assert user.at_main and len(user.lab.taps) == 1 and "traced" in user.screen()[0]
        trace = user.app.session.trace
        before = trace.total
        await said(user)
        await user.press("T")
        assert user.app.screen.trace is trace and trace.total > before, "it has gone on in the background"
        await user.command("trace off")
        await user.press("escape")
        await user.pass_time(0.25)
        assert user.lab.taps == () and "traced" not in user.screen()[0]
        await user.command("trace off")
        assert user.shows("nothing is traced in the background")

    on(running_sandbox(system, tasks=0), scenario, tmp_path, size)


def test_pingt_is_seen_message_by_message_on_a_trace_that_was_open(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await user.command("pingt")
        user.lab.advance(0.5)
        await user.pass_time(0.25)
        trace = [
            (one.source, one.command, one.target) for one in user.app.session.trace.entries() if one.direction == "in"
        ]
        (worker,) = {target for _, command, target in trace if command == "TRACKEXEC PING" and target != "broker"}
        seed = [
            ("client", "TRACKEXEC PING", "broker"),
            ("broker", "TRACKEXEC PING", worker),
            (worker, "RESPONSE", "broker"),
        ]
        assert [one for one in trace if one in seed] == seed
        assert ("broker", "RESPONSE", "client") in trace and (worker, "INCREMENT", "broker") in trace
        assert user.shows("TRACKEXEC P") and user.shows("INCREMENT") and user.shows(f"broker → {called(worker)}")

    on(running_sandbox("roundrobin", tasks=0), scenario, tmp_path)


def test_d_on_a_fresh_start_fills_the_backlog_and_its_chart(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("d")
        for _ in range(8):
            user.lab.advance(0.01)
            await user.pass_time(0.25)
        picture = user.app.session.picture
        assert picture.run is not None and picture.run.spec.kind == "data"
        assert max(picture.backlog) > 100, "most of the streams wait at first"

    on(running_sandbox("roundrobin", tasks=0), scenario, tmp_path)


def test_a_filter_is_set_kept_wrong_and_dropped(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await said(user)
        await user.filter("from=worker* cmd=result")
        assert (
            user.shows("3 messages · noted ")
            and user.shows("/from=worker* cmd=result")
            and not user.shows("broker → client")
        )
        await user.filter("nosuch=1")
        assert user.shows("nosuch=1: no term 'nosuch'") and user.shows("/from=worker* cmd=result")
        await user.press("escape")
        assert not user.shows("cmd=result") and user.shows("broker → client")
        await user.filter("violation")
        await user.press("slash", "escape")
        assert user.shows("broker → client")

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path)


def test_one_message_to_its_last_byte_and_its_task_through_its_life(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T", "enter")
        assert user.shows("there is no message to look at")
        await said(user)
        await user.filter("cmd=DONE")
        await user.press("F")
        assert user.shows("a task's life")
        legs = ("sent", "accepted", "given", "taken", "answered", "returned", "relayed", "received")
        for leg in legs:
            assert user.shows(f"  {leg} "), leg
        assert user.shows("ended · ") and user.shows("002 Broker assign job to worker")
        await user.press("escape", "enter")
        assert user.shows("frame 3") and user.shows("0000  ") and user.shows("under way")
        await user.press("escape")
        await user.filter("cmd=PING")
        user.lab.advance(2.0)
        await user.pass_time(0.25)
        await user.press("up", "F")
        assert user.shows("this message is about no task")

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path)


def test_the_list_is_held_while_the_system_goes_on(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await said(user)
        await user.press("space")
        assert user.shows(" · held")
        before = [line for line in user.screen() if "broker" in line]
        await said(user, 5)
        assert [line for line in user.screen() if "broker" in line] == before
        await user.press("space")
        assert not user.shows(" · held") and [line for line in user.screen() if "broker" in line] != before

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path)


def test_a_ladder_is_exported_as_text_and_svg_and_it_is_said_where(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("L", "e")
        assert user.shows("nothing to export")
        await said(user)
        await user.press("e")
        assert user.shows("arrows in ")

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path, (200, 36))
    text, svg = sorted((tmp_path / "state" / "ladders").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (text.suffix, svg.suffix) == (".txt", ".svg")
    assert "client" in text.read_text().splitlines()[0] and "▶" in text.read_text()
    assert svg.read_text().startswith("<svg ") and "request" in svg.read_text()


def test_a_folder_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    async def scenario(user: User) -> None:
        await user.press("L")
        await said(user)
        await user.press("e")
        assert user.shows("the ladder can not be written")

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path)


def test_why_is_asked_of_a_message_that_gives_a_task(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        user.lab.seek_time(user.lab.started + 4.0)
        await user.press("T", "w")
        assert user.shows("choose a message with which a broker gives a task")
        await user.filter("cmd=job")
        await user.press("up", "w")
        assert user.shows("why?") and user.shows("was given task") and user.shows("pops the worker from the queue")

    on(recording(tmp_path / "a.journal", "pingpong"), scenario, tmp_path)


def test_a_live_system_is_not_asked_why(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await said(user)
        await user.press("w")
        assert user.shows("╭─ trace") and not user.shows("why")

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path)


def test_what_tracing_costs_is_measured(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        await user.press("T")
        await said(user)
        trace = user.app.screen.trace  # type: ignore[attr-defined]
        assert isinstance(trace, CostMeter) and set(trace._spent) == {"broker", "client", "pool"}
        assert all(seconds > 0 for seconds in trace._spent.values())
        assert user.shows("tracing")

    on(running_sandbox("pingpong", tasks=0), scenario, tmp_path)


def test_a_look_takes_in_as_much_as_goes_quickly() -> None:
    assert fitting(LEAST, 0.001, QUICK) == 2 * LEAST
    assert fitting(1000, 0.02, QUICK) == 1000
    assert fitting(1000, 2 * QUICK, QUICK) == 500
    assert fitting(1000, 100.0, QUICK) == LEAST
    assert fitting(KEPT, 0.0, QUICK) == KEPT


def test_times_of_events_trace_and_ladder_are_of_one_clock_and_a_key_makes_them_relative(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        began = user.lab.began
        user.app.wall = lambda: began + user.app.clock() - user.lab.started
        await user.press("T")
        await said(user)
        user.lab.order("worker-9", "nobody is called so")
        screen: Any = user.app.screen
        sent = screen.table.current().at
        zone = units.zone(began)
        for key, word in (("T", "trace"), ("L", "ladder")):
            await user.press(key)
            assert user.shows(f"{word} · roundrobin · {zone}")
            assert user.shows(units.moment(sent, began))
            await user.press("i")
            assert user.shows(f"{word} · roundrobin · {units.second_0(began)}")
            assert user.shows(f"{sent:.4f}") and not user.shows(units.moment(sent, began))
            await user.press("i")
        await user.press("F")
        assert user.shows(units.moment(sent, began, 6)), "the life of a task has the same times"
        await user.press("escape", "escape", "escape", "E")
        event = user.app.session.picture.events[-1].at
        assert user.shows(f"all events · {zone}") and user.shows(units.time_of_day(event))
        await user.press("i")
        assert user.shows(f"all events · {units.second_0(began)}") and user.shows(f"{event - began:.1f}")
        await user.press("escape")
        await user.pass_time(0.25)
        assert user.at_main and user.shows(f"events · {units.second_0(began)}"), "everywhere at once"

    on(running_sandbox(), scenario, tmp_path)


def test_the_key_of_times_is_in_the_key_bar(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        for key in ("E", "T", "L"):
            await user.press(key)
            assert "i times" in user.screen()[-1], user.screen()[-1]
            await user.press("escape")

    on(running_sandbox(), scenario, tmp_path, (120, 36))


def test_a_recording_has_the_times_of_its_own_day(tmp_path: Path) -> None:
    async def scenario(user: User) -> None:
        user.lab.seek_time(user.lab.started + 4.0)
        user.app.tick()
        began = user.lab.began
        assert all(began <= line.at <= began + 4.0 for line in user.app.session.picture.events), "one clock"
        await user.press("T")
        screen: Any = user.app.screen
        assert user.shows(units.moment(screen.table.current().at, began))
        assert user.shows(f"trace · roundrobin · {units.zone(began)}")

    on(recording(tmp_path / "a.journal"), scenario, tmp_path)


def test_second_0_is_when_the_lab_began(tmp_path: Path) -> None:
    """A lab that runs has the monotonic clock; when that was told by the wall is asked once."""
    session = session_of("roundrobin", FakeLab())
    lab: Any = session.lab
    lab.started = 40.0
    assert session.zero(wall=1_000.0, clock=50.0) == 990.0 == session.zero(wall=1_000.3, clock=50.0)
    lab.started = 45.0
    assert session.zero(wall=1_000.3, clock=50.0) == 995.3


def test_now_is_told_by_the_clock_that_events_have(tmp_path: Path) -> None:
    session = session_of("roundrobin", FakeLab())
    lab: Any = session.lab
    assert session.now(wall=1_000.0) == 1_000.0
    lab.mode, lab.began, lab.started, lab.now = "replay", 500.0, 40.0, 43.5
    assert session.now(wall=1_000.0) == 503.5
