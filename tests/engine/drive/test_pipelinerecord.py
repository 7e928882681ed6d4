"""What a watchdog leaves for others: read back as it was, believed only where it can be meant."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engine.drive import pipelinerecord
from engine.drive.pipelinerecord import RECORD, WIPED_OUT, Scribe, StageTold, read_back, told_of
from engine.protocols.diskqueue.config import NO_TIMES, DriverTimes
from engine.protocols.diskqueue.pipeline import CAME_SINCE, DriverRow, Stage, StageRow

TIMES = DriverTimes(1.5, 0.5, 0.0, 0.0, 3)
ROWS = (
    StageRow("a", "stopped", "driver 1 could not start", 2, 0, 4, 3, 0.0, TIMES),
    StageRow("b", "done", "", 1, 0, 0, 3, 0.0, TIMES),
)
A, B, C = Stage("a", 2), Stage("b"), Stage("c", 7)
DRIVER = DriverRow("5", "a", 4711, 0.0, 0, 0.0, "", NO_TIMES, False)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    scribe = Scribe(str(tmp_path))
    scribe.note(ROWS)
    told = read_back(str(tmp_path))
    assert told is not None and told.ended == ""
    assert told.stages["a"] == StageTold("stopped", "driver 1 could not start", 2, 4, TIMES)
    scribe.note(ROWS, "told to stop")
    told = read_back(str(tmp_path))
    assert told is not None and told.ended == "told to stop"


def test_it_is_written_only_when_something_else_than_times_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scribe, written = Scribe(str(tmp_path)), []
    monkeypatch.setattr("engine.files.safely.replace", lambda path, content: written.append(content))
    scribe.note(ROWS)
    scribe.note(tuple(row._replace(times=NO_TIMES, rate=3.0) for row in ROWS))
    scribe.note((ROWS[0]._replace(restarts=5), ROWS[1]))
    assert len(written) == 2


def test_a_full_disk_stops_nobody_and_it_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "no space")

    scribe = Scribe(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr("engine.files.safely.replace", full)
        scribe.note(ROWS)
    assert read_back(str(tmp_path)) is None
    scribe.note(ROWS)
    assert read_back(str(tmp_path)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"ended": 1, "stages": []}',
        '{"stages": []}',
        '{"ended": "", "stages": [["a", "flying", "", 1, 0, [0, 0, 0, 0, 0]]]}',
        '{"ended": "", "stages": [["a", "done", "", 1, 0, [0, 0]]]}',
        '{"ended": "", "stages": [["a", "done", "", "1", 0, [0, 0, 0, 0, 0]]]}',
        "[" * 100_000,
    ],
)
def test_what_can_not_be_meant_is_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).write_text(text, encoding="utf-8")
    assert read_back(str(tmp_path)) is None


def test_a_stage_whose_watchdog_has_ended_says_why(tmp_path: Path) -> None:
    scribe = Scribe(str(tmp_path))
    assert told_of(None, A, "absent", ()) == StageTold("stopped", "no watchdog has run here", 2, 0, NO_TIMES)
    scribe.note((ROWS[0]._replace(state="running", reason=""), ROWS[1]))
    told = read_back(str(tmp_path))
    assert told_of(told, A, "absent", ())[:2] == ("stopped", WIPED_OUT)
    assert told_of(told, A, "absent", (DRIVER,))[:2] == ("running", "")
    assert told_of(told, A, "running", ())[:2] == ("running", "")
    scribe.note(ROWS, "a is stopped")
    told = read_back(str(tmp_path))
    assert told_of(told, A, "absent", ()) == StageTold("stopped", "driver 1 could not start", 2, 4, TIMES)
    assert told_of(told, B, "absent", ())[:2] == ("stopped", CAME_SINCE)
    assert told_of(told, C, "absent", ())[:2] == ("stopped", "no watchdog has run here")
    assert told_of(told, A, "running", ())[:2] == ("running", ""), "another one has begun"


def test_a_stage_of_another_processes_watchdog_is_as_that_one_tells(tmp_path: Path) -> None:
    Scribe(str(tmp_path)).note(ROWS)
    told = read_back(str(tmp_path))
    assert told_of(told, A, "running", ()) == StageTold("stopped", "driver 1 could not start", 2, 4, NO_TIMES)
    assert pipelinerecord.MOST > 100_000
