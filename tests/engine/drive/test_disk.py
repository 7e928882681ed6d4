"""The real disk: renames that replace nothing, and bounds."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from engine.drive import disk
from engine.drive.disk import Disk, Trouble, perform
from engine.protocols.diskqueue.operations import Append, List, Log, Read, Remove, Rename, Steps, Take, Touch, WriteOut


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
    assert perform(List(str(tmp_path))).odd == (("x.ready", "a folder"),)
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
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    with Disk() as held:
        assert held.perform(Touch(str(tmp_path), "b")).error == ""
        monkeypatch.setattr(os, "open", fail)
        assert held.perform(Touch(str(tmp_path), "a")).error == kind


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


def test_the_operation_itself_replaces_nothing(tmp_path: Path) -> None:
    """F14."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert perform(Rename(str(tmp_path), "a", "b")).error == "exists"
    assert (tmp_path / "b").read_text(encoding="utf-8") == "b"


# ---- others write here too ----------------------------------------------------------------------------------------


def test_a_record_is_appended_to_no_other_name_of_a_file(tmp_path: Path) -> None:
    """A hard link, where the system lets others make one, leads to a file elsewhere as a link does."""
    (tmp_path / "home").write_text("the operator's\n", encoding="utf-8")
    os.link(tmp_path / "home", tmp_path / ".x.attempts")
    assert perform(Append(str(tmp_path), ".x.attempts", "line")).error == ""
    assert (tmp_path / "home").read_text(encoding="utf-8") == "the operator's\n"
    assert (tmp_path / ".x.attempts").read_text(encoding="utf-8") == "line\n"


def test_timers_and_logs_are_written_through_no_link(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("the operator's", encoding="utf-8")
    for name in ("times", "times.tmp", "documents", "documents.tmp"):
        (tmp_path / name).symlink_to(home)
    assert perform(WriteOut(str(tmp_path / "times"), "text")).error == ""
    assert (tmp_path / "times").read_text(encoding="utf-8") == "text"
    refused = perform(Log(str(tmp_path / "documents"), "line"))
    assert refused.error == "broken" and "is a link" in refused.text
    assert home.read_text(encoding="utf-8") == "the operator's"


def test_files_of_ours_are_open_to_whom_their_queue_is(tmp_path: Path) -> None:
    for mode, wanted in ((0o700, 0o600), (0o770, 0o660), (0o755, 0o644), (0o777, 0o666)):
        queue = tmp_path / f"{mode:o}"
        queue.mkdir()
        queue.chmod(mode)
        former = os.umask(0o022)
        try:
            perform(Touch(str(queue), "done"))
            perform(Append(str(queue), ".x.attempts", "line"))
        finally:
            os.umask(former)
        for name in ("done", ".x.attempts"):
            assert stat.S_IMODE((queue / name).stat().st_mode) == wanted


def test_a_folder_that_is_swapped_is_not_followed(tmp_path: Path) -> None:
    queue, home = tmp_path / "queue", tmp_path / "home"
    for folder in (queue, home):
        folder.mkdir()
        (folder / "x.ready").touch()
    with Disk() as held:
        assert held.perform(List(str(queue))).error == ""
        queue.rename(tmp_path / "aside")
        queue.symlink_to(home)
        assert held.perform(Take(str(queue), "x.ready", "x.1.working")).error == ""
        assert os.listdir(home) == ["x.ready"]
        assert os.listdir(tmp_path / "aside") == ["x.1.working"]
        assert "was moved or replaced" in held.moved(str(queue))
        listing = held.perform(List(str(queue)))
        assert listing.error == "broken" and "was moved or replaced" in listing.text


def test_a_folder_that_was_lost_and_comes_back_is_used_again(tmp_path: Path) -> None:
    queue = tmp_path / "queue"
    queue.mkdir()
    with Disk() as held:
        assert held.perform(Touch(str(queue), "a")).error == ""
        (queue / "a").unlink()
        queue.rmdir()
        assert held.perform(Remove(str(queue), "a")).text == f"{queue} is gone"
        queue.mkdir()
        assert held.perform(Touch(str(queue), "b")).error == ""
    assert os.listdir(queue) == ["b"]


def test_what_another_user_made_is_told_apart(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file to another user")
    for name in ("mine", "theirs"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    os.chown(tmp_path / "theirs", 65534, 65534)
    assert not perform(Read(str(tmp_path), "mine")).foreign
    assert perform(Read(str(tmp_path), "theirs")).foreign
