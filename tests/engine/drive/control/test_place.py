"""Where control sockets are, and whose folder that must be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from engine.drive.control.place import check_folder, make_folder, place, place_of, place_of_root
from tests.helpers.strangers import STRANGER, needs_stranger


def test_the_name_is_made_of_the_endpoint(tmp_path: Path) -> None:
    assert place(tmp_path, "tcp://127.0.0.1:6716") == tmp_path / "tcp-127.0.0.1-6716"
    assert place(tmp_path, "tcp://localhost:6716") == tmp_path / "tcp-127.0.0.1-6716"
    assert place(tmp_path, "ipc:///srv/x") == place(tmp_path, "ipc:///srv/../srv/x") != place(tmp_path, "ipc:///srv/y")
    for endpoint in ("ipc:///srv/" + "x" * 90, "tcp://" + "h" * 90 + ":1"):
        assert len(place(tmp_path, endpoint).name) <= 32


def test_a_root_that_is_not_utf8_has_a_place_too(tmp_path: Path) -> None:
    odd, other = os.fsdecode(b"/srv/q\xff"), os.fsdecode(b"/srv/q\xfe")
    assert place_of_root(tmp_path, odd) != place_of_root(tmp_path, other)
    assert place(tmp_path, f"ipc://{odd}") != place(tmp_path, f"ipc://{other}")


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_it_is_made_for_this_user_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_folder(tmp_path / "roundhouse")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "roundhouse").stat().st_mode) == 0o700
    make_folder(tmp_path / "roundhouse")


def test_what_is_there_already_is_taken_only_where_it_is_this_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "roundhouse"
    with pytest.raises(FileNotFoundError):
        check_folder(folder)
    (tmp_path / "else").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "else")
    with pytest.raises(PermissionError, match="is no folder"):
        make_folder(folder)
    folder.unlink()
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="has mode 755, so others can reach it"):
        make_folder(folder)


@needs_stranger
def test_a_folder_that_another_user_made_first_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "roundhouse"
    folder.mkdir(mode=0o700)
    os.chown(folder, STRANGER, STRANGER)
    with pytest.raises(PermissionError, match=f"belongs to user {STRANGER}"):
        make_folder(folder)


def test_who_has_no_endpoint_is_found_by_its_root_or_its_process(tmp_path: Path) -> None:
    assert place_of(tmp_path, "worker", ()) == tmp_path / f"worker-{os.getpid()}"
    assert place_of(tmp_path, "broker", ("tcp://127.0.0.1:1",)) == tmp_path / "tcp-127.0.0.1-1"
    assert place_of_root(tmp_path, "q") == place_of_root(tmp_path, os.path.abspath("q")) != place_of_root(tmp_path, "r")
