"""Small files: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.core import Note
from engine.drive.keepsake import LIMIT, Keepsake


def test_what_was_saved_last_is_loaded(tmp_path: Path) -> None:
    keepsake = Keepsake(tmp_path / "state" / "saved")
    assert keepsake.load("negotiated") is None
    keepsake.save("negotiated", b"one")
    keepsake.save("negotiated", b"two")
    assert keepsake.load("negotiated") == b"two"
    assert [path.name for path in (tmp_path / "state" / "saved").iterdir()] == ["negotiated"]


def test_without_a_folder_nothing_is_kept() -> None:
    keepsake = Keepsake(None)
    keepsake.save("negotiated", b"one")
    assert keepsake.load("negotiated") is None


def test_a_folder_that_can_not_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "negotiated").mkdir()
    with pytest.raises(OSError, match="negotiated"):
        Keepsake(tmp_path).save("negotiated", b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["negotiated"]


def test_what_is_too_large_to_be_ours_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "negotiated").write_bytes(bytes(LIMIT + 1))
    assert Keepsake(tmp_path).load("negotiated") is None


def test_what_is_kept_is_its_owners_alone(tmp_path: Path) -> None:
    Keepsake(tmp_path / "kept").save("negotiated", b"one")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("kept", "kept/negotiated")]
    assert modes == [0o700, 0o600]


def test_a_fifo_in_the_place_of_what_was_kept_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "negotiated")
    said: list[Note] = []
    assert Keepsake(tmp_path).recall("negotiated", said.append) is None
    assert [note.text for note in said] == [
        f"what was kept is not used: {tmp_path}/negotiated is a FIFO, not a regular file"
    ]
