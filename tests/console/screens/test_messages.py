"""The trace and the ladder on real cores in virtual time: what was said, filtered, followed, held, exported."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.messages import LEAST, QUICK, LadderScreen, TraceScreen, fitting
from console.sessions.cost import KEPT, CostMeter
from engine.catalogue import SYSTEMS
from engine.parts.bulk import BulkSpec
from tests.helpers.protocols import Hands, on, recording, stage_of


async def said(hands: Hands, tasks: int = 3) -> None:
    hands.lab.run(BulkSpec("ping", tasks, 0, 2))
    hands.lab.advance(0.5)
    await hands.pass_time(0.25)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_every_system_is_traced_while_the_screen_is_open_and_only_then(
    tmp_path: Path, system: str, size: tuple[int, int]
) -> None:
    async def scenario(hands: Hands) -> None:
        assert hands.lab.taps == ()
        await hands.press("T")
        assert len(hands.lab.taps) == 1 and hands.shows("nothing was said since")
        await said(hands)
        assert hands.shows(f"trace · {system}") and hands.shows("broker → client") and hands.shows("╭─ message")
        await hands.press("L")
        assert len(hands.lab.taps) == 1, "the ladder goes on with the same trace"
        assert isinstance(hands.app.screen, LadderScreen) and hands.shows("▶│")
        assert not any(isinstance(screen, TraceScreen) for screen in hands.app.screen_stack)
        await hands.press("escape")
        assert hands.at_main and hands.lab.taps == ()

    on(stage_of(system, tasks=0), scenario, tmp_path, size)


def test_a_filter_is_set_kept_wrong_and_dropped(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T")
        await said(hands)
        await hands.filter("from=worker* cmd=result")
        assert (
            hands.shows("3 messages · noted ")
            and hands.shows("/from=worker* cmd=result")
            and not hands.shows("broker → client")
        )
        await hands.filter("nosuch=1")
        assert hands.shows("nosuch=1: no term 'nosuch'") and hands.shows("/from=worker* cmd=result")
        await hands.press("escape")
        assert not hands.shows("cmd=result") and hands.shows("broker → client")
        await hands.filter("violation")
        await hands.press("slash", "escape")
        assert hands.shows("broker → client")

    on(stage_of("pingpong", tasks=0), scenario, tmp_path)


def test_one_message_to_its_last_byte_and_its_task_through_its_life(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T", "enter")
        assert hands.shows("there is no message to look at")
        await said(hands)
        await hands.filter("cmd=DONE")
        await hands.press("F")
        assert hands.shows("a task's life")
        legs = ("sent", "accepted", "given", "taken", "answered", "returned", "relayed", "received")
        for leg in legs:
            assert hands.shows(f"  {leg} "), leg
        assert hands.shows("ended · ") and hands.shows("002 Broker assign job to worker")
        await hands.press("escape", "enter")
        assert hands.shows("frame 3") and hands.shows("0000  ") and hands.shows("under way")
        await hands.press("escape")
        await hands.filter("cmd=PING")
        hands.lab.advance(2.0)
        await hands.pass_time(0.25)
        await hands.press("up", "F")
        assert hands.shows("this message is about no task")

    on(stage_of("pingpong", tasks=0), scenario, tmp_path)


def test_the_list_is_held_while_the_system_goes_on(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T")
        await said(hands)
        await hands.press("space")
        assert hands.shows(" · held")
        before = [line for line in hands.screen() if "broker" in line]
        await said(hands, 5)
        assert [line for line in hands.screen() if "broker" in line] == before
        await hands.press("space")
        assert not hands.shows(" · held") and [line for line in hands.screen() if "broker" in line] != before

    on(stage_of("pingpong", tasks=0), scenario, tmp_path)


def test_a_ladder_is_exported_as_text_and_svg_and_it_is_said_where(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("L", "e")
        assert hands.shows("nothing to export")
        await said(hands)
        await hands.press("e")
        assert hands.shows("arrows in ")

    on(stage_of("pingpong", tasks=0), scenario, tmp_path, (200, 36))
    text, svg = sorted((tmp_path / "state" / "ladders").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (text.suffix, svg.suffix) == (".txt", ".svg")
    assert "client" in text.read_text().splitlines()[0] and "▶" in text.read_text()
    assert svg.read_text().startswith("<svg ") and "request" in svg.read_text()


def test_a_folder_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    async def scenario(hands: Hands) -> None:
        await hands.press("L")
        await said(hands)
        await hands.press("e")
        assert hands.shows("the ladder can not be written")

    on(stage_of("pingpong", tasks=0), scenario, tmp_path)


def test_why_is_asked_of_a_message_that_gives_a_task(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        hands.lab.seek_time(hands.lab.started + 4.0)
        await hands.press("T", "w")
        assert hands.shows("choose a message with which a broker gives a task")
        await hands.filter("cmd=job")
        await hands.press("up", "w")
        assert hands.shows("why?") and hands.shows("was given task") and hands.shows("pops the worker from the queue")

    on(recording(tmp_path / "a.journal", "pingpong"), scenario, tmp_path)


def test_a_live_system_is_not_asked_why(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T")
        await said(hands)
        await hands.press("w")
        assert hands.shows("╭─ trace") and not hands.shows("why")

    on(stage_of("pingpong", tasks=0), scenario, tmp_path)


def test_what_tracing_costs_is_measured(tmp_path: Path) -> None:
    async def scenario(hands: Hands) -> None:
        await hands.press("T")
        await said(hands)
        trace = hands.app.screen.trace  # type: ignore[attr-defined]
        assert isinstance(trace, CostMeter) and set(trace._spent) == {"broker", "client", "pool"}
        assert all(seconds > 0 for seconds in trace._spent.values())
        assert hands.shows("tracing")

    on(stage_of("pingpong", tasks=0), scenario, tmp_path)


def test_a_look_takes_in_as_much_as_goes_quickly() -> None:
    assert fitting(LEAST, 0.001, QUICK) == 2 * LEAST
    assert fitting(1000, 0.02, QUICK) == 1000
    assert fitting(1000, 2 * QUICK, QUICK) == 500
    assert fitting(1000, 100.0, QUICK) == LEAST
    assert fitting(KEPT, 0.0, QUICK) == KEPT
