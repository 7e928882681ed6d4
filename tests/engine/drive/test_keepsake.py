"""Small files: whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

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
