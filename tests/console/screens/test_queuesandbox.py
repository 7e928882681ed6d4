"""The stage of disk queues: time by the operation and by speed, the ladder, faults with their promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.queuesandbox import QueueSandboxScreen, operation_lines, without_idle
from console.sessions.sandbox import SPEEDS, SandboxSession
from engine.core import Note, Started
from engine.protocols.diskqueue.operations import Append, Done, Entry, List, Take
from engine.tracing.operations import Operations
from tests.helpers.fake_queues import QueueDriver, drive_queues


def sandbox_of(driver: QueueDriver) -> SandboxSession:
    sandbox = driver.app.session
    assert isinstance(sandbox, SandboxSession)
    return sandbox


def on_top(driver: QueueDriver) -> object:
    return driver.app.screen


async def settle(driver: QueueDriver, seconds: float = 3.0) -> None:
    """In real time, until drivers are at work; then the world stands."""
    await driver.press(*["plus"] * (len(SPEEDS) - 1))
    for _ in range(round(seconds / 0.25)):
        await driver.tick()
    await driver.press(*["minus"] * (len(SPEEDS) - 1))


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 18)])
def test_the_world_stands_until_an_operation_happens(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("Z")
        assert isinstance(driver.app.screen, QueueSandboxScreen) and driver.shows(" SANDBOX ")
        sandbox = sandbox_of(driver)
        total = sandbox.trace.total
        for _ in range(4):
            await driver.tick()
        assert (sandbox.lab.now, sandbox.trace.total) == (0.0, total)
        await driver.press("full_stop")
        assert sandbox.trace.total > total and sandbox.steps == 1
        await driver.press("n")
        assert any(entry.decoded.leg == "move" for entry in sandbox.last())
        now = sandbox.lab.now
        await driver.tick()
        assert sandbox.lab.now == now, "and then time is paused again"
        if size[1] > 20:
            assert driver.shows("TAKE d1.ready ▸ d1.1.working")
            assert driver.shows("rule 003 row 1: <id>.ready becomes")
        assert driver.shows("TAKE d1")
        await driver.press("escape")
        assert on_top(driver) is driver.app.main and driver.lab.orders == []

    drive_queues(scenario, tmp_path, size=size)


def test_pipeline_ladder_and_books_change_together(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("Z")
        sandbox = sandbox_of(driver)
        for _ in range(12):
            await driver.press("n")
            picture = sandbox.look(driver.lab.at)
            assert picture.fed == sandbox.lab.fed(0.0)
            assert picture.books.total == picture.fed, "also while a document is published and not let go of"
            assert driver.shows(f"fed {picture.fed} = published {picture.books.published}")
        assert driver.shows("values.1") and driver.shows("parse.3") and driver.shows("▶│")

    drive_queues(scenario, tmp_path)


def test_a_fault_states_its_promises_before_and_ticks_them_after(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("Z")
        await settle(driver)
        sandbox = sandbox_of(driver)
        assert driver.shows("f injects a fault")
        await driver.press("f")
        assert driver.shows("which fault?") and driver.shows("crash DRIVER")
        await driver.press("enter")
        assert driver.shows("kill: whom?")
        await driver.press("enter")
        assert driver.shows("The protocol promises:") and driver.shows("○ no number is used twice")
        await driver.press("enter")
        assert sandbox.watches == [] and len(sandbox.lab.world.seats) == 4, "Cancel is the default"
        await driver.press("f", "enter", "enter", "y")
        assert len(sandbox.watches) == 1 and len(sandbox.lab.world.seats) == 3 and driver.shows(" ○ ")
        await settle(driver, 16.0)
        assert sandbox.watches[0].held and driver.shows(" ✓  ") and not driver.shows(" ○  ")
        assert driver.lab.orders == [], "nothing of it touches the pipeline"

    drive_queues(scenario, tmp_path)


def test_the_command_opens_the_stage_and_asks_there(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("colon", *"fault", "space", *"deny", "space", *"parse", "enter")
        await driver.pilot.pause()
        assert driver.shows("nobody may write into parse for 10 s.") and driver.shows("○ no document fails for it")
        await driver.press("y")
        sandbox = sandbox_of(driver)
        assert sandbox.lab.now == 3.0 and sandbox.watches[0].plan.text == "deny parse 10"
        await driver.press("colon", *"fault", "space", *"nosuch", "enter")
        await driver.pilot.pause()
        assert driver.shows("no fault 'nosuch'")
        await driver.press("colon", "escape", "n")
        assert sandbox.steps == 1, "escape leaves the line"

    drive_queues(scenario, tmp_path)


def test_stages_are_chosen_and_faults_mean_them(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("Z")
        await settle(driver, 2.0)
        sandbox = sandbox_of(driver)
        screen = driver.app.screen
        assert isinstance(screen, QueueSandboxScreen)
        await driver.press("right", "right")
        assert screen.chosen == 2 and screen.ladder.first[:2] == ("parse", "output")
        fail = next(fault for fault in sandbox.faults() if fault.name == "fail")
        assert screen.likeliest(fail) == "output"
        await driver.press("left", "left", "left")
        assert screen.chosen == 0 and screen.likeliest(fail) == "values"
        busy = {driver.document for driver in sandbox.lab.view().drivers if driver.document}
        kill = next(fault for fault in sandbox.faults() if fault.name == "kill")
        number = screen.likeliest(kill).rpartition(".")[2]
        assert not busy or next(row.document for row in sandbox.lab.view().drivers if row.number == number)

    drive_queues(scenario, tmp_path, size=(80, 24))


def test_trace_ladder_and_details_are_the_stages(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("Z")
        await settle(driver)
        total = sandbox_of(driver).trace.total
        await driver.press("T")
        assert driver.shows(f"noted {total:,} times") and driver.lab.traces == []
        await driver.press("escape", "enter")
        assert driver.shows("╭─ message")
        await driver.press("escape", "escape")
        assert isinstance(driver.app.screen, QueueSandboxScreen), "first the choice is dropped"
        await driver.press("escape")
        assert on_top(driver) is driver.app.main

    drive_queues(scenario, tmp_path)


# ---- lines --------------------------------------------------------------------------------------------------------

TAKE = Take("/queue-start", "a.ready", "a.1.working")


def traced() -> Operations:
    trace = Operations(("start", "parse"))
    trace.tap("parse.1", "parse.1", 1.0, Started(), [TAKE])
    return trace


def lines_of(trace: Operations, width: int = 70) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in operation_lines(trace.entries(), width)]


def test_what_is_asked_and_answered_is_told_once() -> None:
    trace = traced()
    rule = "    rule 003 row 1: <id>.ready becomes <id>.<N>.working"
    assert lines_of(trace) == ["◌ start → parse.1 TAKE a.ready ▸ a.1.working · asks", rule]
    trace.tap("parse.1", "parse.1", 2.0, Done(TAKE), [])
    assert lines_of(trace) == ["● start → parse.1 TAKE a.ready ▸ a.1.working", rule]


def test_what_is_refused_breaks_a_rule_or_is_only_said() -> None:
    trace = traced()
    record = Append("/queue-start", ".a.attempts", "begin\t2\t1\t5.0\t")
    trace.tap("parse.1", "parse.1", 2.0, Done(TAKE, "exists"), [Note("bad", "somebody")])
    trace.tap("parse.1", "parse.1", 2.0, Done(record, "full", "no space"), [])
    assert lines_of(trace) == [
        "× start → parse.1 TAKE a.ready ▸ a.1.working · exists",
        "    × somebody else works under number 1",
        "    rule 003 row 8: a name with a number is its driver's",
        "· parse.1: somebody",
        "× parse.1 → start RECORD .a.attempts · full · no space: begin 2 1 5.0",
        "    rule ruling 8: a disk in trouble is nobody's failure",
    ]


def test_of_idle_looks_only_the_last_is_drawn() -> None:
    trace = Operations(("start", "parse"))
    look = List("/queue-start")
    for at in (1.0, 2.0, 3.0):
        trace.tap("parse.1", "parse.1", at, Done(look), [])
        trace.tap("parse.2", "parse.2", at, Done(look, entries=(Entry("a.ready", 1, 1),)), [])
    trace.tap("parse.1", "parse.1", 4.0, Done(TAKE), [])
    trace.tap("parse.1", "parse.1", 5.0, Done(look), [])
    shown = [(arrow.at, arrow.entry.seat, arrow.entry.command) for arrow in without_idle(trace.arrows())]
    assert shown == [
        (3.0, "parse.1", "LIST"), (3.0, "parse.2", "LIST"), (4.0, "parse.1", "TAKE"), (5.0, "parse.1", "LIST"),
    ]  # fmt: skip
