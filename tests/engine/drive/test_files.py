"""A file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from engine.drive.files import write_whole


def test_a_file_is_put_in_place_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_whole(path, b"one")
    write_whole(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_any(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_whole(path, b"one")
    assert path.read_bytes() == b"one" and list(tmp_path.iterdir()) == [path]


def test_several_threads_may_write_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    texts = [bytes([65 + i]) * 10_000 for i in range(8)] * 10
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(write_whole, path), texts))
    assert path.read_bytes() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_after_a_failure_the_old_one_is_there_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    write_whole(path, b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
