"""What a journal says when it is full, late or on a disk without room, and what stands then."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note, Received, Send, Started
from engine.journal import write as module
from engine.journal.format import DIGEST, SEAT
from engine.journal.read import read
from engine.journal.write import Journal
from engine.protocols.pingpong import SYSTEM
from tests.helpers.journals import WORKER, record


def test_a_full_journal_says_so_and_stands(tmp_path: Path) -> None:
    path, said = tmp_path / "a.journal", list[Note]()
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append, limit=400)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.close()
    journal = Journal(tmp_path / "b.journal", SYSTEM, SYSTEM.options(), said.append, limit=100)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal._writer.join(0.0)
    journal._blocks()
    journal.close()
    assert [note.text for note in said] == [
        f"the journal {journal.path} ends here: it is as large as it may be, 100 bytes"
    ]
    assert journal.lost.endswith("it is as large as it may be, 100 bytes; 0 records stand in it")
    assert [entry[0] for entry in read(path, SYSTEMS).records] == [SEAT, DIGEST]


def test_a_clock_of_the_cores_own_is_the_journals(tmp_path: Path) -> None:
    clock = iter([5.0, 6.0, 7.0, 7.0])
    path = tmp_path / "a.journal"
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None, clock=lambda: next(clock))
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.left("pool", "worker-1")
    journal.close()
    reading = read(path, SYSTEMS)
    assert reading.about.monotonic == 5.0
    assert [record[1] for record in reading.records] == [6.0, 7.0, 7.0]


def test_a_journal_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        record(tmp_path / "a.journal")
    finally:
        os.umask(before)
    assert (tmp_path / "a.journal").stat().st_mode & 0o777 == 0o600


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.journal").symlink_to(tmp_path / "mine")
    with pytest.raises(FileExistsError):
        record(tmp_path / "a.journal")
    assert not (tmp_path / "mine").exists()


def disk(monkeypatch: pytest.MonkeyPatch, takes: int) -> None:
    """A disk that takes so many bytes more, and then is full."""
    real = os.write
    left = [takes]

    def write(into: int, content: Any) -> int:
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        content = bytes(content)[: left[0]]
        left[0] -= len(content)
        return real(into, content)

    monkeypatch.setattr("engine.journal.write.os.write", write)


def test_a_last_block_that_can_not_be_written_is_told_with_what_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 1)  # a block a record
    path = tmp_path / "a.journal"
    whole = tmp_path / "whole.journal"
    record(whole)
    disk(monkeypatch, whole.stat().st_size - 3)
    said: list[Note] = []
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.tap("pool", "worker-1", 1.0, Started(), [Send([b"", b"READY"])])
    for i in range(3):
        journal.tap("pool", "worker-1", 2.0 + i, Received([[b"", b"PONG"]]), [])
    journal.close()
    assert journal.lost == f"{path} is not whole: No space left on device; 5 records stand in it"
    assert [note.text for note in said] == [f"the journal {path} ends here: No space left on device"]
    reading = read(path, SYSTEMS)
    assert (len(reading.records), reading.cut) == (5, ""), "half a block is taken away again"


def test_a_journal_that_can_not_begin_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk(monkeypatch, 5)
    with pytest.raises(OSError, match="No space left"):
        record(tmp_path / "a.journal")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["fsync", "close"])
def test_an_end_that_can_not_be_flushed_is_told(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems say only then that there was no room: NFS, quotas."""
    path = tmp_path / "a.journal"
    said: list[Note] = []
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append)

    def fails(_: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(f"engine.journal.write.os.{what}", fails)
    journal.close()
    monkeypatch.undo()
    assert "can not be flushed to the disk: Disk quota exceeded" in journal.lost and len(said) == 1


def test_whoever_is_left_behind_keeps_what_waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEHIND", 3)
    monkeypatch.setattr(module, "FLUSH", 60.0)
    path = tmp_path / "a.journal"
    said = record(path, events=10)
    assert [note.text for note in said] == [f"the journal {path} ends here: the engine is faster than the journal"]
    assert read(path, SYSTEMS).records[0][0] == SEAT


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        Journal(path, SYSTEM, SYSTEM.options(), lambda note: None)
    assert path.read_text() == "mine"
