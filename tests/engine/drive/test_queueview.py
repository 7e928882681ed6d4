"""Looking at queues, logs and processes, and how little it costs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.drive.disk import perform
from engine.drive.queueview import (
    LogSight,
    ProcessSight,
    ProcessUse,
    QueueSight,
    garbled,
    tail_of,
    times_of,
)
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.operations import List
from engine.protocols.diskqueue.pipeline import Counts
from engine.protocols.diskqueue.queueviolations import LOG, TAKEN, accusation
from engine.protocols.diskqueue.transitions import agenda


def still(folder: Path) -> None:
    """As if the folder had last changed long ago."""
    os.utime(folder, ns=(1_000_000_000, 1_000_000_000))


def test_a_folder_that_did_not_change_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.ready").touch()
    still(tmp_path)
    reads: list[str] = []
    scandir = os.scandir

    def counted(path: str) -> object:
        reads.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    sight = QueueSight(str(tmp_path))
    assert sight.look().counts.ready == 1
    assert sight.look().counts.ready == 1
    assert sight.look(fresh=True).counts.ready == 1
    assert len(reads) == 1
    (tmp_path / "b.failed").touch()
    assert sight.look(fresh=True).counts.failed == 1
    assert len(reads) == 2


def test_a_folder_that_takes_long_is_read_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.2, 101.0, 102.5, 102.7, 102.8])
    monkeypatch.setattr("engine.drive.queueview.time.monotonic", lambda: next(clock))
    sight = QueueSight(str(tmp_path))
    assert sight.look().counts.ready == 0  # it took 0.2 s: not again within 2 s
    (tmp_path / "a.ready").touch()
    assert sight.look().counts.ready == 0
    assert sight.look().counts.ready == 1


def test_a_queue_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert QueueSight(str(tmp_path / "none")).look().counts.live == 0


def test_a_queue_that_cannot_be_read_says_so_and_keeps_its_last_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.ready").touch()
    sight = QueueSight(str(tmp_path))
    assert sight.look().counts.ready == 1

    def forbidden(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", forbidden)
    (tmp_path / "b.ready").touch()
    found = sight.look(fresh=True)
    assert (found.counts.ready, found.trouble) == (1, "Permission denied")


def test_a_log_is_followed_through_torn_lines_and_its_own_shortening(tmp_path: Path) -> None:
    log = tmp_path / "worker-1" / "documents"
    log.parent.mkdir()
    sight = LogSight()
    sight.look(str(tmp_path), "a", "1")
    lines = [f"{number}.000\tpublished\t1\t5\tdoc-{number}\t\n" for number in range(1, 5)]
    log.write_text("".join(lines[:2]) + lines[2][:9], encoding="utf-8")
    sight.look(str(tmp_path), "a", "1")
    assert [row.id for row in sight.documents] == ["doc-1", "doc-2"]
    log.write_text("".join(lines[:3]), encoding="utf-8")
    sight.look(str(tmp_path), "a", "1")
    shorter = tmp_path / "shorter"
    shorter.write_text("".join(lines[2:]), encoding="utf-8")
    os.replace(shorter, log)
    sight.look(str(tmp_path), "a", "1")
    assert [row.id for row in sight.documents] == ["doc-1", "doc-2", "doc-3", "doc-4"]


def test_a_process_that_is_no_more_uses_nothing() -> None:
    sight = ProcessSight()
    assert sight.look(os.getpid()).memory > 0
    assert sight.look(2**22 + 1) == ProcessUse(0, 0.0)


def test_times_and_tails(tmp_path: Path) -> None:
    assert times_of(str(tmp_path), "1") is None
    (tmp_path / "worker-1").mkdir()
    (tmp_path / "worker-1" / "times").write_text(DriverTimes(1.0, 2.0, 3.0, 4.0, 5).text(), encoding="ascii")
    assert times_of(str(tmp_path), "1") == DriverTimes(1.0, 2.0, 3.0, 4.0, 5)
    assert tail_of(str(tmp_path / "none")) == ""
    (tmp_path / "out.txt").write_text("first line\nsecond\nthird\n", encoding="utf-8")
    assert tail_of(str(tmp_path / "out.txt"), 15) == "second\nthird\n"


def test_a_log_accuses_and_a_line_that_can_not_be_read_is_an_accusation_too(tmp_path: Path) -> None:
    (tmp_path / "worker-7").mkdir()
    log = tmp_path / "worker-7" / "documents"
    log.write_text("1.000\tpublished\t1\t5\ta\t\n" + accusation(2.0, "b", TAKEN) + "\n", encoding="utf-8")
    sight = LogSight()
    sight.look(str(tmp_path), "parse", "7")
    assert [row.id for row in sight.documents] == ["a"]
    assert list(sight.broken) == [("parse.7", TAKEN)]
    with log.open("a", encoding="utf-8") as out:
        out.write("garbage\n3.000\tpublished\t1\t5\tc\t\n")
    sight.look(str(tmp_path), "parse", "7")
    assert [row.id for row in sight.documents] == ["a", "c"]
    assert list(sight.broken) == [("parse.7", TAKEN), ("parse.7", LOG)]


def test_a_timer_file_is_garbled_where_it_says_something_else(tmp_path: Path) -> None:
    (tmp_path / "worker-7").mkdir()
    assert not garbled(str(tmp_path), "7")
    (tmp_path / "worker-7" / "times").write_text("nonsense", encoding="utf-8")
    assert garbled(str(tmp_path), "7")
    (tmp_path / "worker-7" / "times").write_text(DriverTimes(1, 2, 3, 4, 5).text(), encoding="utf-8")
    assert not garbled(str(tmp_path), "7")


def test_what_is_no_regular_file_is_no_document_as_for_a_driver(tmp_path: Path) -> None:
    queue = tmp_path / "queue"
    queue.mkdir()
    (queue / "a.ready").touch()
    (queue / "d.ready").mkdir()
    (queue / "e.failed").symlink_to("a.ready")
    os.mkfifo(queue / "f.7.working")
    (queue / "done").mkdir()
    (queue / ".7.working.lock").symlink_to("a.ready")
    (queue / "folder").mkdir()
    seen = QueueSight(str(queue)).look()
    assert seen.counts == Counts(ready=1, strange=5, done=False)
    assert (seen.held, seen.locks) == ((), ())
    assert seen.foreign == ("folder",)
    assert dict(seen.odd) == {
        "d.ready": "it is a folder",
        "e.failed": "it is a link",
        "f.7.working": "it is a FIFO",
        "done": "it is a folder",
        ".7.working.lock": "it is a link",
    }
    listing = perform(List(str(queue)))
    mine = agenda(listing.entries, listing.odd)
    assert (mine.live, mine.done, [item.id for item in mine.takeable]) == (seen.counts.live, seen.counts.done, ["a"])


def test_no_link_or_fifo_under_the_name_of_a_drivers_file_is_opened(tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret", tmp_path / "worker-3"
    folder.mkdir()
    secret.write_text("Work\t1\nWait\t1\nBlock\t1\nOverhead\t1\nDocs\t1\n", encoding="utf-8")
    for name in ("times", "documents", "out.txt"):
        (folder / name).symlink_to(secret)
    logs = LogSight()
    for _ in range(2):
        assert times_of(str(tmp_path), "3") is None
        assert tail_of(str(folder / "out.txt")) == ""
        logs.look(str(tmp_path), "parse", "3")
        for name in ("times", "documents", "out.txt"):
            (folder / name).unlink(missing_ok=True)
            os.mkfifo(folder / name)
    assert not logs.documents and not logs.broken
