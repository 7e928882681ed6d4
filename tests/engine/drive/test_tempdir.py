"""Folders that go with their processes. Of one that was killed: ``tests/engine/labs/test_queues.py``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.drive.locks import Lock
from engine.drive.tempdir import MARK, LockedTempDir, sweep


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def left(folder: Path, name: str) -> Path:
    """A folder as a process leaves it that was killed."""
    (folder / name / "queue").mkdir(parents=True)
    (folder / name / MARK).touch()
    (folder / name / "queue" / "a.ready").touch()
    return folder / name


def test_a_folder_goes_with_its_owner_and_is_not_swept_before(temporary: Path) -> None:
    scratch = LockedTempDir("house-")
    other = LockedTempDir("house-")
    assert sorted(os.listdir(temporary)) == sorted(os.path.basename(one.path) for one in (scratch, other))
    scratch.close()
    assert os.listdir(temporary) == [os.path.basename(other.path)]
    other.close()
    assert os.listdir(temporary) == []


def test_only_what_is_surely_ours_and_nobodys_any_more_is_swept(temporary: Path) -> None:
    left(temporary, "house-dead")
    held = Lock(str(left(temporary, "house-alive")), MARK)
    assert held.acquire()
    stays = [
        left(temporary, "other"),
        temporary / "house-link",
        temporary / "house-file",
        temporary / "house-unmarked",
        left(temporary, "house-marked-by-a-link"),
    ]
    stays[1].symlink_to(left(temporary, "aim"))
    stays[2].touch()
    stays[3].mkdir()
    (stays[4] / MARK).unlink()
    (stays[4] / MARK).symlink_to(stays[2])
    before = sorted(os.listdir(temporary))
    sweep("house-")
    before.remove("house-dead")
    assert sorted(os.listdir(temporary)) == before
    held.release(remove=False)
    sweep("house-")
    before.remove("house-alive")
    assert sorted(os.listdir(temporary)) == before


def test_a_folder_of_another_user_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(temporary, "house-dead")
    me = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: me + 1)
    sweep("house-")
    assert os.listdir(temporary) == ["house-dead"]


def test_a_folder_that_another_sweeps_before_it_is_locked_is_made_anew(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire, tried = Lock.acquire, []

    def late(lock: Lock, create: bool = True) -> bool:
        tried.append(lock.path)
        if len(tried) == 1:
            os.rmdir(os.path.dirname(lock.path))
        return acquire(lock, create)

    monkeypatch.setattr(Lock, "acquire", late)
    scratch = LockedTempDir("house-")
    assert [os.path.dirname(path) == scratch.path for path in tried] == [False, True]
    scratch.close()


def test_no_place_for_a_folder_is_an_error(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "gone"))
    with pytest.raises(FileNotFoundError):
        LockedTempDir("house-")
