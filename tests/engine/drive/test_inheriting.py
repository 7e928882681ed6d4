"""Who is provably dead, and whose number may be taken over."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.drive import locks
from engine.drive.disk import Disk
from engine.drive.inheriting import long, take_over
from engine.drive.locks import Lock, Owner, number_locks, owner, started
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Disown, Inherit


@pytest.fixture
def queues(tmp_path: Path) -> tuple[str, str]:
    """Driver 7 has died with one document in its hands."""
    made = str(tmp_path / "src"), str(tmp_path / "dst")
    for folder in made:
        os.mkdir(folder)
    (tmp_path / "src" / "d.7.working").touch()
    with number_locks(*made, "7") as both:
        for lock in both:
            lock.release(remove=False)
    return made


def asked(queues: tuple[str, str], word: bool = False) -> Inherit:
    return Inherit(queues[0], "d.7.working", queues[1], "7", word)


def test_a_number_is_signed_with_process_start_and_machine(queues: tuple[str, str]) -> None:
    found = owner(f"{queues[0]}/{names.working_lock('7')}")
    assert found == Owner(os.getpid(), started(os.getpid()), locks.HOST)
    assert found.lives() and not found._replace(start="1").lives() and not found._replace(pid=2**22 + 1).lives()


@pytest.mark.parametrize("text", ["", "a\tb\tc\n", "1\t2\n", "-1\t2\thost\n", "\udcff"])
def test_what_is_no_signature_is_nobodys(tmp_path: Path, text: str) -> None:
    path = tmp_path / "lock"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert owner(str(path)) is None


def test_a_dead_drivers_number_is_taken_over_until_it_is_disowned(queues: tuple[str, str]) -> None:
    with Disk() as disk, Disk() as other:
        assert disk.perform(asked(queues)).error == ""
        late = other.perform(asked(queues))
        assert late.error == "exists" and "lives" in late.text
        disk.perform(Disown(queues[0], names.working_lock("7"), queues[1], "7"))
        assert os.listdir(queues[1]) == []
        assert other.perform(asked(queues)).error == "gone"


def test_who_dies_while_he_settles_leaves_the_locks_to_the_next(queues: tuple[str, str]) -> None:
    with Disk() as disk:
        assert disk.perform(asked(queues)).error == ""
    with Disk() as other:
        assert other.perform(asked(queues)).error == ""


def test_a_living_driver_is_named_with_process_age_and_what_to_do(queues: tuple[str, str]) -> None:
    lock = Lock(queues[0], names.working_lock("7"))
    assert lock.acquire()
    with Disk() as disk:
        text = disk.perform(asked(queues)).text
        assert text == (
            f"driver 7 has had it for 0 s and lives (process {os.getpid()} on {locks.HOST}); if it hangs, kill it, "
            "and the document is tried again"
        )
        assert disk.perform(asked(queues, word=True)).error == "exists", "no word is above a lock that is held"
    lock.release()


def test_a_command_that_outlives_its_driver_is_told_apart(queues: tuple[str, str]) -> None:
    lock = Lock(queues[0], names.working_lock("7"))
    assert lock.acquire()
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    os.ftruncate(lock.descriptor, 0)
    os.pwrite(lock.descriptor, f"{child.pid}\t1\t{locks.HOST}\n".encode(), 0)
    assert take_over(*queues, "7").text == f"is dead (process {child.pid}), but a command that it started still lives"
    lock.release()


def test_on_another_machine_only_an_operator_can_say_that_it_is_dead(
    queues: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "HOST", "another")
    taken = take_over(*queues, "7")
    assert (taken.locks, taken.error, taken.doubt) == (None, "exists", True)
    assert "nothing here shows whether it lives" in taken.text and "drive --dead 7" in taken.text
    by_word = take_over(*queues, "7", word=True)
    assert by_word.locks is not None
    for lock in by_word.locks:
        lock.release()


def test_who_publishes_elsewhere_is_left_alone_unless_that_is_known(queues: tuple[str, str]) -> None:
    os.unlink(f"{queues[1]}/{names.writing_lock('7')}")
    assert take_over(*queues, "7").error == "gone"
    known = take_over(*queues, "7", published=True)
    assert known.locks is not None
    for lock in known.locks:
        lock.release()


def test_an_age_in_words() -> None:
    ages = [long(seconds) for seconds in (-1.0, 119.0, 120.0, 7199.0, 7200.0)]
    assert ages == ["0 s", "119 s", "2 min", "120 min", "2 h"]
