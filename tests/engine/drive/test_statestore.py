"""Small files: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.core import Note
from engine.drive.statestore import LIMIT, StateStore


def test_what_was_saved_last_is_loaded(tmp_path: Path) -> None:
    store = StateStore(tmp_path / "state" / "saved")
    assert store.load("negotiated") is None
    store.save("negotiated", b"one")
    store.save("negotiated", b"two")
    assert store.load("negotiated") == b"two"
    assert [path.name for path in (tmp_path / "state" / "saved").iterdir()] == ["negotiated"]


def test_without_a_folder_nothing_is_kept() -> None:
    store = StateStore(None)
    store.save("negotiated", b"one")
    assert store.load("negotiated") is None


def test_a_folder_that_can_not_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "negotiated").mkdir()
    with pytest.raises(OSError, match="negotiated"):
        StateStore(tmp_path).save("negotiated", b"one")
    assert [path.name for path in tmp_path.iterdir()] == ["negotiated"]


def test_what_is_too_large_to_be_ours_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "negotiated").write_bytes(bytes(LIMIT + 1))
    assert StateStore(tmp_path).load("negotiated") is None


def test_what_is_kept_is_its_owners_alone(tmp_path: Path) -> None:
    StateStore(tmp_path / "kept").save("negotiated", b"one")
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("kept", "kept/negotiated")]
    assert modes == [0o700, 0o600]


def test_a_fifo_in_the_place_of_what_was_kept_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "negotiated")
    said: list[Note] = []
    assert StateStore(tmp_path).recall("negotiated", said.append) is None
    assert [note.text for note in said] == [
        f"what was kept is not used: {tmp_path}/negotiated is a FIFO, not a regular file"
    ]
