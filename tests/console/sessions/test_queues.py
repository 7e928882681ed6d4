"""The screens that show the protocol, on a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.kinds import session_of
from console.kinds.queues import accused_lines
from console.screens.messages import LadderScreen, TraceScreen
from engine.core import Note
from engine.parts.view import Incident
from engine.protocols.diskqueue.operations import Done, Process, Processed, Remove, Rename, Take
from engine.protocols.diskqueue.queueviolations import TAKEN
from engine.tracing.operations import Operations
from tests.helpers.fake_queues import EPOCH, EVIL, FakeQueues, QueueDriver, a_view, drive_queues

START, VALUES = "/srv/pipeline/queue-start", "/srv/pipeline/queue-values"


def one_document(trace: Operations, id: str = "doc-1", at: float = 901.0) -> None:
    """A driver takes, writes, publishes and lets go of a document."""
    take = Take(START, f"{id}.ready", f"{id}.1.working")
    work = Process(id, 1, f"{START}/{id}.1.working", f"{VALUES}/{id}.1.writing.xml")
    publish = Rename(VALUES, f"{id}.1.writing.xml", f"{id}.ready")
    for operation in (take, work, publish, Remove(START, f"{id}.1.working")):
        answer = Processed("done") if operation is work else Done(operation)  # type: ignore[arg-type]
        trace.tap("values.1", "values.1", at, answer, [])
        at += 0.5
    trace.tap("values.1", "values.1", at, Done(Take(START, EVIL, "x.1.working"), "exists"), [])
    trace.tap("watchdog", "watchdog", at, Note("info", "x"), [])


def on_top(driver: QueueDriver, kind: type[object]) -> bool:
    return type(driver.app.screen) is kind


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_operations_are_traced_from_the_screens_opening_until_trace_off(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("T")
        assert len(driver.lab.traces) == 1 and on_top(driver, TraceScreen)
        assert driver.shows("trace · diskqueue") and driver.shows("nothing was said since")
        one_document(driver.lab.traces[0])
        await driver.tick()
        assert driver.shows("TAKE") and driver.shows("start → values.1") and driver.shows("doc-1")
        await driver.press("L")
        assert on_top(driver, LadderScreen) and driver.shows("▶│") and len(driver.lab.traces) == 1
        await driver.press("escape")
        assert driver.app.screen is driver.app.main and len(driver.lab.traces) == 1
        await driver.press("colon", *"trace", "space", *"off", "enter")
        assert driver.lab.traces == []

    drive_queues(scenario, tmp_path, size=size)


def test_a_document_is_followed_and_operations_are_filtered(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("T")
        one_document(driver.lab.traces[0])
        one_document(driver.lab.traces[0], "doc-2", 910.0)
        await driver.tick()
        await driver.press("slash", *"worker=values.1", "space", *"cmd=TAKE", "space", *"task=doc-2", "enter")
        assert driver.shows("/worker=values.1 cmd=TAKE task=doc-2") and driver.shows("1 message · noted ")
        await driver.press("F")
        assert driver.shows("a document's life")
        assert driver.shows("document doc-2") and driver.shows("publish") and driver.shows("500ms")
        await driver.press("escape", "escape", "slash", *"violation", "enter")
        assert driver.shows("2 messages · noted ") and driver.shows("somebody else works under number 1")
        assert not any("\x1b" in line for line in driver.screen())

    drive_queues(scenario, tmp_path)


def test_a_ladder_of_files_is_exported(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("L")
        one_document(driver.lab.traces[0])
        await driver.tick()
        await driver.press("e")
        assert [path.suffix for path in sorted((tmp_path / "state" / "ladders").iterdir())] == [".svg", ".txt"]
        text = next((tmp_path / "state" / "ladders").glob("*.txt")).read_text(encoding="utf-8")
        assert text.index("start") < text.index("values.1") and "TAKE doc-1" in text

    drive_queues(scenario, tmp_path)


def test_what_listening_costs_and_what_was_lost_since_it_began(tmp_path: Path) -> None:
    lab = FakeQueues()
    lab.told = (5.0, 7)
    trace: Any = session_of("diskqueue", lab).listen()
    assert trace.queues == ("start", "values", "parse", "output")
    assert (trace.elsewhere(), trace.lost()) == (0.0, 0)
    lab.told = (7.0, 9)
    assert (trace.elsewhere(), trace.lost()) == (2.0, 2)


def test_a_lab_that_can_not_listen_says_so(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        driver.lab.refusal = "drivers can not be listened to in /srv/pipeline: no sockets"
        await driver.press("T")
        assert driver.shows("drivers can not be listened to")
        driver.lab.refusal = ""
        await driver.press("escape")
        assert driver.app.screen is driver.app.main

    drive_queues(scenario, tmp_path)


def test_who_broke_which_rule(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("C")
        assert driver.shows("conformance · diskqueue") and driver.shows("everybody has kept to the protocol")
        incidents = (Incident(EPOCH - 60, b"parse.7", TAKEN, 3), Incident(EPOCH, b"start", "no rule \x1b", 1))
        driver.lab.picture = a_view(incidents=incidents)
        await driver.tick()
        assert driver.shows("4 times, 2 kinds") and driver.shows("parse.7") and driver.shows(TAKEN)
        assert driver.shows("ruling 5: a number is held by one driver") and driver.shows(" 60s ")
        await driver.press("M")
        assert driver.shows("state maps · diskqueue")
        await driver.press("escape")
        assert driver.app.screen is driver.app.main

    drive_queues(scenario, tmp_path)


def test_the_newest_comes_first() -> None:
    lab = FakeQueues(a_view(incidents=(Incident(1.0, b"a", "x", 1), Incident(2.0, b"b", "y", 1))))
    session = session_of("diskqueue", lab)
    lines = ["".join(text for text, _ in line) for line in accused_lines(session.look(1000.0), 100)]
    assert [line.split()[2] for line in lines[3:]] == ["b", "a"]
