"""What is kept is nobody else's, and what is read is a regular file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from engine.files import personal
from engine.files.safely import Unsafe


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_is_kept_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "state" / "roundhouse" / "runs" / "a.json"
    before = os.umask(0)
    try:
        personal.keep(path, b"one")
        personal.keep(path, b"two")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"two" and mode(path) == 0o600
    assert [mode(folder) for folder in list(path.parents)[:3]] == [0o700] * 3
    assert list(path.parent.iterdir()) == [path]


def test_an_old_looser_folder_and_file_are_tightened(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a.json"
    path.parent.mkdir()
    path.parent.chmod(0o755)
    path.write_bytes(b"old")
    path.chmod(0o644)
    assert "others can read it, its mode is 0644" in personal.readers(path)
    personal.keep(path, b"new")
    assert (mode(path.parent), mode(path), personal.readers(path)) == (0o700, 0o600, "")


def test_a_link_in_the_place_of_a_kept_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a").symlink_to(tmp_path / "mine")
    personal.keep(tmp_path / "runs" / "a", b"new")
    assert (tmp_path / "mine").read_bytes() == b"mine" and not (tmp_path / "runs" / "a").is_symlink()


def test_a_full_disk_leaves_the_old_one_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    personal.keep(path, b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        personal.keep(path, b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_fifo_a_device_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, what in (("fifo", "a FIFO"), ("zero", "a device"), (".", "a folder")):
        with pytest.raises(Unsafe, match=f"is {what}, not a regular file"):
            personal.read(tmp_path / name, 10)


def test_more_than_the_bound_can_be_seen_and_no_more_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert (personal.read(tmp_path / "a", 5), personal.read(tmp_path / "a", 3)) == (b"12345", b"1234")


def test_links_of_this_user_are_followed(tmp_path: Path) -> None:
    (tmp_path / "dots" / "deep").mkdir(parents=True)
    (tmp_path / "dots" / "real").write_bytes(b"here")
    (tmp_path / "folder").symlink_to("dots/deep")
    (tmp_path / "dots" / "deep" / "up").symlink_to("../real")
    (tmp_path / "far").symlink_to(tmp_path / "folder" / "up")
    assert personal.read(tmp_path / "far", 10) == b"here"
    assert personal.read(tmp_path / "folder" / ".." / "real", 10) == b"here"


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"):
        personal.read(tmp_path / "a", 10)


def test_a_link_that_another_user_has_put_there_leads_nowhere(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can make a link of another user")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "journal").symlink_to("secret")
    (tmp_path / "ours").symlink_to("journal")
    os.lchown(tmp_path / "journal", 65534, 65534)
    for name in ("journal", "ours"):
        with pytest.raises(Unsafe, match="is a link that uid 65534 has put there"):
            personal.read(tmp_path / name, 10)


def test_what_is_believed_is_of_this_user_or_of_root(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("only root can make a file of another user")
    (tmp_path / "kept").write_bytes(b"x")
    os.chown(tmp_path / "kept", 65534, 65534)
    assert personal.read(tmp_path / "kept", 10) == b"x"
    with pytest.raises(Unsafe, match="belongs to uid 65534"):
        personal.read(tmp_path / "kept", 10, own=True)
