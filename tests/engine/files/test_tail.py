"""The end of a log, and nothing but a regular file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.files import tail as module
from engine.files.tail import tail


def test_a_short_log_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntwo \xff")
    assert tail(str(path)) == ("one\ntwo \ufffd", 0)


def test_of_a_long_one_whole_lines_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 8)
    path = tmp_path / "x.log"
    path.write_text("first\nsecond\nlast\n")
    assert tail(str(path)) == ("last\n", 13)
    path.write_text("x" * 20)
    assert tail(str(path)) == ("x" * 8, 12)


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        with pytest.raises(OSError, match="not a regular file"):
            tail(str(tmp_path / name))
    with pytest.raises(FileNotFoundError):
        tail(str(tmp_path / "nothing"))
