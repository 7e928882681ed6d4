"""What a folder must be able to do, and how queues are made."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from engine.drive import queuefolders
from engine.drive.queuefolders import check_queues, make_queue
from engine.errors import Refused


def test_queues_are_tried_with_real_files_and_left_empty(tmp_path: Path) -> None:
    src, dst = tmp_path / "src", tmp_path / "new" / "dst"
    src.mkdir()
    check_queues(str(src), str(dst), "3")
    assert (os.listdir(src), os.listdir(dst)) == ([], [])


def test_folders_that_cannot_be_queues_are_refused(tmp_path: Path) -> None:
    src = tmp_path / "src"
    with pytest.raises(Refused, match="is not a folder"):
        check_queues(str(src), str(tmp_path / "dst"), "3")
    src.mkdir()
    with pytest.raises(Refused, match="the same queue"):
        check_queues(str(src), str(src), "3")
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="cannot use"):
        check_queues(str(src), str(tmp_path / "file"), "3")


def test_a_folder_that_nothing_can_be_made_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(name: str, **_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)

    (tmp_path / "src").mkdir()
    monkeypatch.setattr("engine.files.safely.create", denied)
    with pytest.raises(Refused, match=f"cannot use {tmp_path}/src or {tmp_path}/dst as a queue: Permission denied"):
        check_queues(str(tmp_path / "src"), str(tmp_path / "dst"), "3")


def test_a_file_system_that_replaces_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ruling 6, on a disk that renames as rename() does."""
    src = tmp_path / "src"
    src.mkdir()

    def replaces(old: str, new: str, at: int, contended: bool) -> None:
        os.rename(old, new, src_dir_fd=at, dst_dir_fd=at)

    monkeypatch.setattr(queuefolders, "rename", replaces)
    with pytest.raises(Refused, match="replaces a file"):
        check_queues(str(src), str(tmp_path / "dst"), "3")
    assert os.listdir(src) == []


def test_queues_that_cannot_be_renamed_between_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ruling 6, with a bind mount's answer."""
    src = tmp_path / "src"
    src.mkdir()

    def across(old: str, new: str, **_: int) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)

    monkeypatch.setattr(os, "rename", across)
    with pytest.raises(Refused, match="cannot be renamed between them"):
        check_queues(str(src), str(tmp_path / "dst"), "3")
    assert os.listdir(src) == []


def test_the_probe_of_a_queue_goes_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even one that was made under the name of the probe just before it."""
    src, home = tmp_path / "src", tmp_path / "home"
    src.mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda size: "0")
    for name in (".3.0.1.probe.lock", ".3.0.2.probe.lock", ".3.probe.lock"):
        (src / name).symlink_to(home)
    with pytest.raises(Refused, match="File exists"):
        check_queues(str(src), str(tmp_path / "dst"), "3")
    assert not home.exists()
    assert len(os.listdir(src)) == 3, "and what others made is left"


def test_a_queue_is_made_0700_unless_more_is_asked_for(tmp_path: Path) -> None:
    make_queue(str(tmp_path / "own"))
    make_queue(str(tmp_path / "shared"), 0o2770)
    make_queue(str(tmp_path / "shared"))  # it is there: its mode stays
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o2770
