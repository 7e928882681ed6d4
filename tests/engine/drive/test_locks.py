"""Locks: held for a life, by this user only, and nothing else is taken for one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.drive.locks import Lock, number_locks
from engine.errors import Refused
from tests.helpers.strangers import STRANGER, needs_stranger, open_folder, stranger

HOLD = """
import sys
from engine.drive.locks import Lock
lock = Lock(sys.argv[1], "l")
assert lock.acquire()
sys.stdout.write("held\\n"); sys.stdout.flush()
sys.stdin.read()
"""

TAKE = """
import fcntl, os, sys
try:
    fd = os.open(sys.argv[1], os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("held", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
sys.stdin.read()
"""


def test_a_lock_is_held_for_the_life_of_its_process(tmp_path: Path) -> None:
    lock = Lock(str(tmp_path), "l")
    assert not lock.acquire(create=False)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert not lock.acquire()
        other.kill()
    assert lock.acquire(create=False)
    lock.release()
    assert os.listdir(tmp_path) == []


def test_numbers_are_locked_in_both_queues_and_released_clean(tmp_path: Path) -> None:
    src, dst = tmp_path / "src", tmp_path / "dst"
    src.mkdir()
    dst.mkdir()
    with number_locks(str(src), str(dst), "3"):
        assert (os.listdir(src), os.listdir(dst)) == ([".3.working.lock"], [".3.writing.lock"])
        with pytest.raises(Refused, match="another driver works under number 3"), number_locks(str(src), str(dst), "3"):
            pass
    assert (os.listdir(src), os.listdir(dst)) == ([], [])


def test_who_only_looks_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, comes = Lock(str(tmp_path), "l"), Lock(str(tmp_path), "l")
    assert looks.acquire()
    monkeypatch.setattr("time.sleep", lambda seconds: looks.release(remove=False))
    assert comes.acquire_patiently()
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    assert not Lock(str(tmp_path), "l").acquire_patiently()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_lock_is_for_this_user_only_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        assert Lock(str(tmp_path), "l").acquire()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "l").stat().st_mode) == 0o600


def test_a_lock_that_others_may_read_is_closed_before_it_is_taken(tmp_path: Path) -> None:
    (tmp_path / "l").touch(0o666)
    (tmp_path / "l").chmod(0o666)
    lock = Lock(str(tmp_path), "l")
    assert lock.acquire(create=False)
    assert stat.S_IMODE((tmp_path / "l").stat().st_mode) == 0o600
    lock.release()


def second_name(path: Path) -> None:
    (path.parent / "mine").write_text("mine", encoding="utf-8")
    (path.parent / "mine").chmod(0o644)
    os.link(path.parent / "mine", path)


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    "plant",
    [lambda path: path.symlink_to("mine"), os.mkfifo, lambda path: path.mkdir(), second_name],
    ids=["link", "fifo", "folder", "hard link"],
)
def test_what_is_no_lock_is_neither_taken_nor_changed(
    tmp_path: Path, plant: Callable[[Path], None], create: bool
) -> None:
    plant(tmp_path / "l")
    before = {name: os.lstat(tmp_path / name).st_mode for name in os.listdir(tmp_path)}
    with pytest.raises(OSError, match=r"not a regular file|hard links"):
        Lock(str(tmp_path), "l").acquire(create)
    assert {name: os.lstat(tmp_path / name).st_mode for name in os.listdir(tmp_path)} == before


@needs_stranger
def test_a_reader_of_the_folder_can_not_take_a_lock() -> None:
    with open_folder(0o755) as folder:
        lock = Lock(str(folder), "l")
        assert lock.acquire()
        lock.release(remove=False)  # as a driver that was killed leaves it
        with stranger(TAKE, lock.path) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "PermissionError\n"
            assert lock.acquire(create=False)
        lock.release()


@needs_stranger
def test_another_users_lock_is_refused_with_its_owner() -> None:
    with open_folder(0o755) as folder:
        (folder / "l").touch()
        os.chown(folder / "l", STRANGER, STRANGER)
        with pytest.raises(OSError, match=f"belongs to uid {STRANGER}"):
            Lock(str(folder), "l").acquire()
        assert (folder / "l").stat().st_uid == STRANGER
