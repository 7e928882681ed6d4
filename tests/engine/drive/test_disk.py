"""The real disk: renames that replace nothing, bounds, and what a folder must be able to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from engine.drive import disk
from engine.drive.disk import Trouble, check_queues, perform, rename_portably
from engine.protocols.diskqueue.config import Refused
from engine.protocols.diskqueue.operations import Append, List, Log, Read, Remove, Rename, Steps, Touch, WriteOut


@pytest.mark.parametrize("contended", [True, False])
def test_the_portable_rename_replaces_nothing(tmp_path: Path, contended: bool) -> None:
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    for path in (old, new):
        Path(path).write_text(path, encoding="utf-8")
    with pytest.raises(FileExistsError):
        rename_portably(old, new, contended)
    assert Path(new).read_text(encoding="utf-8") == new
    os.unlink(new)
    rename_portably(old, new, contended)
    assert os.listdir(tmp_path) == ["new"]
    with pytest.raises(FileNotFoundError):
        rename_portably(old, new + "er", contended)


def test_the_portable_rename_goes_on_where_a_driver_died_between_its_two_calls(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("text", encoding="utf-8")
    os.link(old, new)
    rename_portably(str(old), str(new), contended=False)
    assert os.listdir(tmp_path) == ["new"]


def test_a_folder_that_changes_is_not_still(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert not perform(List(str(tmp_path))).still
    os.utime(tmp_path, ns=(0, 0))
    answer = perform(List(str(tmp_path)))
    assert answer.still
    assert [entry.name for entry in answer.entries] == ["a"]


def test_folders_are_no_items(tmp_path: Path) -> None:
    (tmp_path / "x.ready").mkdir()
    assert perform(List(str(tmp_path))).entries == ()
    assert perform(Remove(str(tmp_path), "x.ready")).error == "exists"


def test_a_log_forgets_its_older_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LOG_MOST", 1000)
    path = str(tmp_path / "log")
    for number in range(100):
        assert perform(Log(path, f"line {number:10}")).error == ""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    assert lines[-1] == f"line {99:10}"
    assert 500 <= os.stat(path).st_size <= 1000
    assert lines == [f"line {number:10}" for number in range(100 - len(lines), 100)]


def test_an_append_that_finds_no_room_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "r").write_text("before\n", encoding="utf-8")
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    answer = perform(Append(str(tmp_path), "r", "after"))
    assert answer.error == "full"
    assert (tmp_path / "r").read_text(encoding="utf-8") == "before\n"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "full"),
        (errno.EACCES, "denied"),
        (errno.EROFS, "denied"),
        (errno.EIO, "broken"),
    ],
)
def test_errors_of_the_system_are_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: str) -> None:
    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", fail)
    assert perform(Touch(str(tmp_path), "a")).error == kind


def test_a_file_of_ones_own_is_replaced_in_one_step(tmp_path: Path) -> None:
    for text in ("one", "two"):
        assert perform(WriteOut(str(tmp_path / "times"), text)).error == ""
    assert os.listdir(tmp_path) == ["times"]
    assert (tmp_path / "times").read_text(encoding="utf-8") == "two"


def test_reading_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 100_000)
    assert len(perform(Read(str(tmp_path), "big")).text) == disk.READ_MOST


def test_a_procedure_in_trouble_raises(tmp_path: Path) -> None:
    def steps() -> Steps[None]:
        yield List(str(tmp_path / "none"))

    with pytest.raises(Trouble, match="is gone"):
        disk.run(steps())


# ---- queues -------------------------------------------------------------------------------------------------------


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


def test_a_file_system_that_replaces_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ruling 6, on a disk that renames as rename() does."""
    src = tmp_path / "src"
    src.mkdir()
    monkeypatch.setattr(disk, "_rename", lambda old, new, contended: os.rename(old, new))
    with pytest.raises(Refused, match="replaces a file"):
        check_queues(str(src), str(tmp_path / "dst"), "3")
    assert os.listdir(src) == []


def test_queues_that_cannot_be_renamed_between_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ruling 6, with a bind mount's answer."""
    src = tmp_path / "src"
    src.mkdir()

    def across(old: str, new: str) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)

    monkeypatch.setattr(os, "rename", across)
    with pytest.raises(Refused, match="cannot be renamed between them"):
        check_queues(str(src), str(tmp_path / "dst"), "3")
    assert os.listdir(src) == []


def test_the_operation_itself_replaces_nothing(tmp_path: Path) -> None:
    """F14."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert perform(Rename(str(tmp_path), "a", "b")).error == "exists"
    assert (tmp_path / "b").read_text(encoding="utf-8") == "b"
