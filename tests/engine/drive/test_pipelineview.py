"""Pictures of a pipeline made out of what lies on the disk."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.drive.pipelineview import Observation, Place, document, documents
from engine.protocols.diskqueue.config import DriverConfig, DriverTimes, parameter_file
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Holder, Stage
from engine.protocols.diskqueue.queueviolations import ASTRAY, TIMES, UNLOCKED
from engine.protocols.diskqueue.watchdog import Found, Watchdog

STAGES = (Stage("values"), Stage("parse", 3))


def laid_out(root: Path) -> Observation:
    for queue, names in (
        ("start", ("a.ready", "b.ready", "done")),
        ("values", ("c.2.working", "d.failed", ".d.attempts")),
        ("parse", ("e.ready", "c.2.writing.xml")),
    ):
        (root / f"queue-{queue}").mkdir()
        for name in names:
            (root / f"queue-{queue}" / name).touch()
    (root / "queue-values" / ".d.attempts").write_text("fail\t1\t2\t5.000\tno good\n", encoding="utf-8")
    worker = root / "worker-2"
    worker.mkdir()
    config = DriverConfig(str(root / "queue-values"), str(root / "queue-parse"), "2")
    (worker / "worker.par").write_text(parameter_file(config), encoding="utf-8")
    (worker / "times").write_text(DriverTimes(1.0, 0.0, 0.0, 0.0, 2).text(), encoding="ascii")
    (worker / "documents").write_text(
        "5.000\tfailed\t1\t3\td\tno good\n6.000\tpublished\t1\t3\te\t\n", encoding="utf-8"
    )
    return Observation(str(root), STAGES)


def test_queues_side_by_side_with_stages_and_drivers_between(tmp_path: Path) -> None:
    view = laid_out(tmp_path).picture("running", drivers={"2": ("parse", 0)}, fresh=True)
    assert [(queue.name, queue.counts.live, queue.counts.done) for queue in view.queues] == [
        ("start", 2, True),
        ("values", 2, False),
        ("parse", 2, False),
    ]
    assert [(stage.name, stage.state, stage.wanted, stage.running, stage.docs) for stage in view.stages] == [
        ("values", "running", 1, 0, 0),
        ("parse", "running", 3, 1, 2),
    ]
    (driver,) = view.drivers
    assert (driver.number, driver.document, driver.times.docs, driver.memory) == ("2", "c", 2, 0)
    assert [row.id for row in view.documents] == ["d", "e"]
    assert view.queues[1].documents == (Holder("c", "working", "2"), Holder("d", "failed", ""))


def test_a_stage_that_nobody_watches_runs_while_it_has_a_driver(tmp_path: Path) -> None:
    view = laid_out(tmp_path).picture("absent", drivers={"2": ("parse", 0)}, fresh=True)
    assert [(stage.name, stage.state) for stage in view.stages] == [("values", "stopped"), ("parse", "running")]


def test_a_queue_that_is_full_is_named_unless_it_is_the_last(tmp_path: Path) -> None:
    laid_out(tmp_path)
    made = Observation(str(tmp_path), STAGES, 1)
    assert [stage.full for stage in made.picture("running", drivers={}, fresh=True).stages] == [
        "queue values is full: 1 of 1 document", ""
    ]  # fmt: skip


def test_a_destination_whose_disk_is_full_is_named_while_its_stage_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the driver's own log told it."""
    made, parse = laid_out(tmp_path), str(tmp_path / "queue-parse")
    whole = os.statvfs

    def full(path: str) -> SimpleNamespace | os.statvfs_result:
        return SimpleNamespace(f_bavail=0, f_frsize=4096, f_files=0, f_favail=0) if path == parse else whole(path)

    monkeypatch.setattr("engine.drive.documents.os.statvfs", full)
    view = made.picture("running", drivers={"2": ("parse", 0)}, fresh=True)
    assert [stage.full for stage in view.stages] == ["", f"queue parse is full: {parse}: no space left"]
    assert [stage.full for stage in made.picture("absent", drivers={}).stages] == ["", ""]
    monkeypatch.undo()
    assert [stage.full for stage in made.picture("running", drivers={"2": ("parse", 0)}).stages] == ["", ""]


def test_a_driver_that_is_paused_is_told_with_its_reason_until_it_goes_on(tmp_path: Path) -> None:
    """A disk with room for less than a document is not full, and yet its driver waits."""
    made, log, pid = laid_out(tmp_path), tmp_path / "worker-2" / "out.txt", tmp_path / "worker-2" / "pid"

    def told() -> str:
        return made.picture("running", drivers={"2": ("parse", 0)}).stages[1].full

    pid.touch()
    log.write_text("10:00:00 bad b1: paused, No space left on device: /q/b1\n", encoding="utf-8")
    os.utime(pid, (1000, 1000))
    assert told() == "queue parse: driver 2 is paused, No space left on device: /q/b1"
    os.utime(log, (999, 999))
    assert told() == "", "a driver before it"
    log.write_text("10:00:00 bad paused, full: no\n10:00:09 good goes on after: full: no\n", encoding="utf-8")
    assert told() == ""


def test_what_ended_drivers_did_still_counts(tmp_path: Path) -> None:
    sight = laid_out(tmp_path)
    sight.bury("parse", "2", DriverTimes(1.0, 0.5, 0.0, 0.0, 2))
    view = sight.picture("running", drivers={})
    assert (view.stages[1].docs, view.stages[1].running, view.stages[1].times.wait) == (2, 0, 0.5)
    assert [row.id for row in view.documents] == ["d", "e"]


def test_a_drivers_stage_stands_in_its_parameter_file(tmp_path: Path) -> None:
    sight = laid_out(tmp_path)
    assert sight.numbers() == ["2"]
    assert sight.stage_of("2") == "parse"
    assert sight.stage_of("77") == ""


def test_drilling_down_to_a_document_and_into_a_queue(tmp_path: Path) -> None:
    view = laid_out(tmp_path).picture("running", drivers={"2": ("parse", 0)})
    found = document(view, "d")
    assert found.places == (Place("values", "failed", ""),)
    assert [(queue, line.what, line.reason) for queue, line in found.attempts] == [("values", "fail", "no good")]
    assert [(row.outcome, row.text) for row in found.history] == [("failed", "no good")]
    assert document(view, "c").places == (Place("values", "working", "2"), Place("parse", "writing", "2"))
    assert documents(str(tmp_path / "queue-start"), "ready") == ("a", "b")
    assert len(documents(str(tmp_path / "queue-start"), "ready", limit=1)) == 1
    assert documents(str(tmp_path / "none"), "ready") == ()


def test_rules_that_were_broken_stand_in_the_picture(tmp_path: Path) -> None:
    sight = laid_out(tmp_path)
    (tmp_path / "worker-2" / "times").write_text("nonsense", encoding="ascii")
    (tmp_path / "queue-start" / "x.y.working").touch()
    for _ in range(2):
        view = sight.picture("running", drivers={"2": ("parse", 0), "3": ("", 0)}, fresh=True)
    assert sorted((one.peer.decode(), one.reason) for one in view.incidents) == [
        ("driver 3", ASTRAY),
        ("parse.2", TIMES),
        ("start", "not a document: no driver number"),
        ("values: driver 2", UNLOCKED),
    ]
    assert len(sight.notes) == 4


def test_only_a_watchdog_of_this_process_tells_the_rows_that_were_walked(tmp_path: Path) -> None:
    sight, core = laid_out(tmp_path), Watchdog(STAGES, Options())
    core.handle(Found("2", "parse"), 0.0)
    walks = sight.picture("running", core, {}).walks
    assert (walks.documents, walks.drivers, walks.stages) == (None, None, ())
    assert walks.seen == ((("absent", "it runs already"), 1),)
    assert sight.picture("absent", drivers={}).walks.seen is None
