"""Queues and drivers as they follow from what was done to them."""

from __future__ import annotations

from typing import Any

from engine.core import Note, Start
from engine.drive.pipelineview import WINDOW
from engine.labs.pipelinestate import Place, Scene
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.operations import (
    Append,
    Done,
    Entry,
    List,
    Operation,
    Process,
    Remove,
    Rename,
    Take,
    Touch,
    WriteOut,
)
from engine.protocols.diskqueue.pipeline import DocumentRow, PipelineView, Stage
from engine.protocols.diskqueue.watchdog import Ended, Quit, Spawn, StageView

START, PARSE = "/r/queue-start", "/r/queue-parse"
QUEUES = (Place("start", START), Place("parse", PARSE))


def a_scene() -> Scene:
    return Scene(QUEUES, (Stage("parse", 2),))


def did(scene: Scene, *operations: Operation, seat: str = "parse.1", **answer: Any) -> None:
    for operation in operations:
        scene.happened(seat, Done(operation, **answer), [])


def files(scene: Scene) -> tuple[set[str], set[str]]:
    return set(scene.files[START]), set(scene.files[PARSE])


def look(scene: Scene, at: float = 100.0, *rows: DocumentRow) -> PipelineView:
    return scene.view(at, 0.0, "/r", rows, ())


def test_a_document_through_its_names() -> None:
    scene = a_scene()
    did(scene, Rename(START, "a.1.tmp", "a.ready"), seat="feeder")
    assert (files(scene), scene.ready[START]) == (({"a.ready"}, set()), 1)
    did(scene, Take(START, "a.ready", "a.1.working"))
    work = Process("a", 1, f"{START}/a.1.working", f"{PARSE}/a.1.writing.xml")
    scene.happened("parse.1", Done(Take(START, "x", "y"), "exists"), [Start("a", work)])
    did(scene, Append(START, ".a.1.publishing", PARSE), Rename(PARSE, "a.1.writing.xml", "a.ready"))
    assert files(scene) == ({"a.1.working", ".a.1.publishing"}, {"a.ready"})
    assert (scene.ready[START], scene.ready[PARSE]) == (0, 1)
    did(scene, Remove(START, "a.1.working"), Remove(START, ".a.1.publishing"), Touch(PARSE, "done"))
    assert files(scene) == (set(), {"a.ready", "done"})
    assert look(scene).queues[1].counts[:1] == (1,) and look(scene).queues[1].counts.done


def test_what_was_refused_did_not_happen_and_what_is_gone_is_gone() -> None:
    scene = a_scene()
    did(scene, Touch(START, "a.ready"))
    did(scene, Take(START, "a.ready", "a.1.working"), error="denied")
    assert files(scene)[0] == {"a.ready"}
    did(scene, Take(START, "a.ready", "a.1.working"), error="gone")
    assert files(scene)[0] == set()
    did(scene, Remove("/elsewhere", "x"), Touch("/elsewhere", "x"), List("/elsewhere"))
    assert set(scene.files) == {START, PARSE}, "of other folders nothing is known"


def test_a_listing_adds_what_it_shows_and_takes_away_only_where_nothing_moved() -> None:
    scene = a_scene()
    did(scene, Touch(START, "a.ready"), Touch(START, "b.ready"))
    did(scene, List(START), entries=(Entry("b.ready", 1, 1), Entry("c.ready", 1, 1)), still=False)
    assert files(scene)[0] == {"a.ready", "b.ready", "c.ready"} and scene.fresh == ["c.ready"]
    did(scene, List(START), entries=(Entry("c.ready", 1, 1),), still=True)
    assert files(scene)[0] == {"c.ready"} and scene.fresh == [] and scene.ready[START] == 1


def test_drivers_come_work_are_told_to_leave_and_end() -> None:
    scene = a_scene()
    scene.watched("running", (StageView("parse", "running", "", 2, (), 1, 0.0),))
    scene.happened("watchdog", Note("info", "x"), [Spawn("parse", "1"), Spawn("parse", "10"), Spawn("parse", "2")])
    scene.seated("parse.1", 4001, 7.0)
    did(scene, WriteOut("/r/worker-1/times", DriverTimes(3.0, 1.0, 0.0, 0.0, 5).text()))
    did(scene, WriteOut("/r/worker-1/times", "torn"), Touch(START, "a.1.working"))
    scene.happened("watchdog", Note("info", "x"), [Quit("2")])
    view = look(scene)
    assert [(row.number, row.pid, row.since, row.document, row.leaving) for row in view.drivers] == [
        ("1", 4001, 7.0, "a", False),
        ("2", 0, 0.0, "", True),
        ("10", 0, 0.0, "", False),
    ]
    assert (view.state, view.stages[0].wanted, view.stages[0].running, view.stages[0].restarts) == ("running", 2, 3, 1)
    scene.left("parse.1")
    assert len(look(scene).drivers) == 3, "its watchdog has not seen it end"
    scene.happened("watchdog", Ended("1", -9, True, 5, ""), [])
    view = look(scene)
    assert [row.number for row in view.drivers] == ["2", "10"]
    assert (view.stages[0].docs, view.stages[0].times.work) == (5, 3.0), "what it did is remembered"


def test_without_a_watchdog_a_driver_is_there_as_long_as_it_is_heard() -> None:
    scene = a_scene()
    scene.seated("parse.1", 1, 1.0)
    assert (look(scene).state, len(look(scene).drivers)) == ("absent", 1)
    did(scene, Touch(START, "done"), Touch(PARSE, "done"))
    assert look(scene).stages[0].state == "done"
    scene.left("parse.1")
    assert look(scene).drivers == ()


def test_rates_are_of_the_last_half_minute_or_of_what_there_is() -> None:
    rows = [DocumentRow(100.0 - back, "parse", "1", "a", "published", 1, 1.0, "") for back in (1, 2, 29, 31)]
    assert look(a_scene(), 100.0, *rows).stages[0].rate == 3 / WINDOW
    assert a_scene().view(100.0, 98.0, "/r", tuple(rows), ()).stages[0].rate == 0.5


def test_a_copy_goes_on_for_itself() -> None:
    scene = a_scene()
    scene.watched("running")
    scene.seated("parse.1", 1, 1.0)
    did(scene, Touch(START, "a.ready"))
    copy = scene.copy()
    before = look(copy)
    did(scene, Take(START, "a.ready", "a.1.working"))
    scene.happened("watchdog", Ended("1", 0, True, 0, ""), [])
    scene.watched("ended")
    assert look(copy) == before and look(scene) != before
    assert (copy.ready[START], scene.ready[START]) == (1, 0)
