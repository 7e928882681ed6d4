"""Renames replace nothing, on Linux and elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.drive.renaming import rename, rename_portably, stands
from engine.files import safely


@pytest.fixture
def at(tmp_path: Path) -> Iterator[int]:
    with safely.folder(str(tmp_path)) as handle:
        yield handle


@pytest.mark.parametrize("contended", [True, False])
def test_the_portable_rename_replaces_nothing(tmp_path: Path, at: int, contended: bool) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    with pytest.raises(FileExistsError):
        rename_portably("old", "new", at, contended)
    assert (tmp_path / "new").read_text(encoding="utf-8") == "new"
    (tmp_path / "new").unlink()
    rename_portably("old", "new", at, contended)
    assert os.listdir(tmp_path) == ["new"]
    with pytest.raises(FileNotFoundError):
        rename_portably("old", "newer", at, contended)


def test_the_portable_rename_goes_on_where_a_driver_died_between_its_two_calls(tmp_path: Path, at: int) -> None:
    (tmp_path / "old").write_text("text", encoding="utf-8")
    os.link(tmp_path / "old", tmp_path / "new")
    rename_portably("old", "new", at, contended=False)
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize("contended", [True, False])
def test_a_rename_replaces_nothing_and_goes_through_no_link(tmp_path: Path, at: int, contended: bool) -> None:
    (tmp_path / "old").symlink_to("nowhere")
    (tmp_path / "taken").write_text("text", encoding="utf-8")
    with pytest.raises(FileExistsError):
        rename("old", "taken", at, contended)
    rename("old", "new", at, contended)
    assert sorted(os.listdir(tmp_path)) == ["new", "taken"]
    assert os.readlink(tmp_path / "new") == "nowhere"
    assert stands("new", at) and not stands("old", at)
