"""A pipeline in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from console.cli.queuereport import NAMED, document, listing, report_of, table
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.pipeline import Counts, DriverRow, PipelineView, QueueRow, StageRow, WatchState

TIMES = DriverTimes(0.62, 1.0, 0.0, 0.1, 62)


def laid_out(root: Path, failed: int = 1) -> PipelineView:
    """Two stages: sixty documents through, some given up, one in work."""
    listings = {
        "start": [f"bad\x1b{n}.failed_twice" for n in range(failed)] + ["w.7.working", "done"],
        "parse": ["x.ready"],
        "output": [f"d{n}.ready" for n in range(60)],
    }
    for name, files in listings.items():
        (root / name).mkdir()
        for file in files:
            (root / name / file.replace("\x1b", "\u202e")).touch()
    stages = (
        StageRow("parse", "running", "", 3, 1, 2, 62, 4.0, TIMES),
        StageRow("output", "stopped", "driver 9 could not start", 2, 0, 0, 0, 0.0, DriverTimes(0, 0, 0, 0, 0)),
    )
    queues = tuple(QueueRow(name, str(root / name), Counts()) for name in listings)
    drivers = (DriverRow("7", "parse", 4711, 0.0, 3 * 2**20, 1.0, "w", TIMES, False),)
    return PipelineView(0.0, str(root), "running", queues, stages, drivers, ())


def test_a_table_with_every_document_in_its_place(tmp_path: Path) -> None:
    head, parse, output, _, drivers, driver, _, total, *names = table(report_of(laid_out(tmp_path))).splitlines()
    assert " ".join(head.split()) == "stage state drivers published failed twice waiting working attempts restarts work"
    assert parse.split() == ["parse", "running", "1/3", "61", "1", "0", "1", "62", "2", "10ms"]
    assert output.split() == ["output", "stopped", "0/2", "60", "0", "1", "0", "0", "0", "-"]
    assert drivers.split() == ["driver", "stage", "pid", "memory", "cpu", "attempts", "document"]
    assert driver.split() == ["7", "parse", "4711", "3", "MiB", "1", "%", "62", "w"]
    assert total == "63 documents: 60 published, 1 failed twice, 1 waiting, 1 working"
    assert names == ["failed twice in parse: bad·0", "output is stopped: driver 9 could not start"]


def test_of_many_names_the_table_says_how_many_more_and_the_json_has_all(tmp_path: Path) -> None:
    report = report_of(laid_out(tmp_path, failed=NAMED + 5))
    assert table(report).splitlines()[-2].endswith(" and 5 more")
    found = json.loads(document(report))
    assert (found["schema"], found["state"]) == ("roundhouse.pipeline/1", "running")
    assert found["documents"] == {
        "total": 87, "published": 60, "failed_twice": 25, "waiting": 1, "working": 1, "in_two_places": [],
    }  # fmt: skip
    assert len(found["stages"][0]["failed_twice"]) == 25
    assert found["stages"][0]["times_s"] == {"work": 0.62, "wait": 1.0, "block": 0.0, "overhead": 0.1}
    assert [driver["pid"] for driver in found["drivers"]] == [4711]
    assert [queue["name"] for queue in found["queues"]] == ["start", "parse", "output"]


def test_a_stage_without_drivers_is_not_said_to_run(tmp_path: Path) -> None:
    view = laid_out(tmp_path)
    idle = view.stages[0]._replace(running=0)

    def word(row: StageRow, state: WatchState = "running") -> str:
        return table(report_of(view._replace(state=state, stages=(row, view.stages[1])))).splitlines()[1].split()[1]

    assert [word(idle), word(idle._replace(restarts=0)), word(idle, "stopping")] == [
        "restarting",
        "starting",
        "stopping",
    ]
    assert word(view.stages[0]) == "running"


def test_a_full_destination_is_named_with_who_waits(tmp_path: Path) -> None:
    view = laid_out(tmp_path)
    full = view.stages[0]._replace(full="queue parse is full: 10 of 10 documents")
    report = report_of(view._replace(stages=(full, view.stages[1])))
    assert "parse waits: queue parse is full: 10 of 10 documents" in table(report).splitlines()
    assert json.loads(document(report))["stages"][0]["full"] == full.full
    path = full._replace(full="queue parse is full: /a\x1b[2Jb: no space left")
    assert "\x1b" not in table(report_of(view._replace(stages=(path, view.stages[1]))))


def test_a_document_in_two_places_is_named(tmp_path: Path) -> None:
    view = laid_out(tmp_path)
    (tmp_path / "start" / "d3.ready").touch()
    assert "more than one place" not in table(report_of(view)), "a driver may be passing it on"
    view = view._replace(drivers=())
    assert table(report_of(view)).splitlines()[-1] == "in more than one place: d3"
    assert listing(str(tmp_path / "nowhere")) == []
    (tmp_path / "queue").mkdir()
    (tmp_path / "queue" / "d.ready").mkdir()
    (tmp_path / "queue" / "a.ready").touch()
    (tmp_path / "queue" / "e.ready").symlink_to("a.ready")
    assert listing(str(tmp_path / "queue")) == ["a.ready"], "what is no file is no document"
