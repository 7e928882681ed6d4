"""What a dead driver left is settled under its locks, and only there."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from engine.core import Note
from engine.drive.locks import Lock
from engine.drive.recovering import Queues, settle
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Done
from engine.protocols.diskqueue.watchdog import Recovered


def queues(tmp_path: Path) -> Queues:
    """One document in the hands of driver 7, which left its locks."""
    made = Queues("a", str(tmp_path / "src"), str(tmp_path / "dst"))
    for folder in made[1:]:
        os.mkdir(folder)
    (tmp_path / "src" / names.working("d", "7")).touch()
    for lock in (Lock(made.src, names.working_lock("7")), Lock(made.dst, names.writing_lock("7"))):
        lock.acquire()
        lock.release(remove=False)
    return made


def test_a_dead_drivers_document_has_failed_and_its_locks_go(tmp_path: Path) -> None:
    made = queues(tmp_path)
    notes: list[Note] = []
    told: list[Done] = []
    assert settle(made, "7", True, lambda: False, notes.append, told.append) == Recovered("a", "7", 1)
    assert sorted(os.listdir(made.src)) == [".d.attempts", "d.failed"]
    assert os.listdir(made.dst) == []
    assert notes == [Note("warn", "of driver 7, which died: failed", b"d")]
    assert told


def test_what_a_living_process_locks_stays(tmp_path: Path) -> None:
    made = queues(tmp_path)
    lock = Lock(made.src, names.working_lock("7"))
    assert lock.acquire()
    found = settle(made, "7", True, lambda: False, lambda note: None, lambda answer: None)
    assert found == Recovered("a", "7", 0, found.error)
    assert "lives" in found.error
    lock.release()


def test_what_has_no_lock_of_ours_stays(tmp_path: Path) -> None:
    made = queues(tmp_path)
    os.unlink(f"{made.src}/{names.working_lock('7')}")
    for foreign in [True], []:
        found = settle(made, "7", True, partial(bool, foreign), lambda note: None, lambda answer: None)
        assert found == Recovered("a", "7", 0, found.error, bool(foreign))
        assert ("pipeline recover 7" in found.error) == bool(foreign)
    assert (tmp_path / "src" / "d.7.working").exists()
    found = settle(made, "7", True, lambda: True, lambda note: None, lambda answer: None, word=True)
    assert found == Recovered("a", "7", 1), "an operator says that it is dead"
