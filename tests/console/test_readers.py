"""How single values are read, and in which words they are refused."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.readers import control, given, percent, source, target
from engine.drive.control.place import NOWHERE


def test_where_something_is_written_and_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert (given(" a "), target("-"), target(str(file))) == (" a ", Path("-"), file)
    reading = source("a recording")
    for read, text, reason in (
        (given, " ", "expected a value, got ' '"),
        (target, "", "expected a value, got ''"),
        (target, str(tmp_path), f"{str(tmp_path)!r} is a folder; name a file in it"),
        (target, f"{tmp_path}/b/c", f"there is no folder '{tmp_path}/b'; make it first"),
        (reading, "", "expected a value, got ''"),
        (reading, str(tmp_path), f"{str(tmp_path)!r} is a folder; name a recording"),
        (reading, str(file), f"there is no file {str(file)!r}; name a recording"),
        (reading, "x" * 300, f"{'x' * 300!r}: File name too long"),
    ):
        with pytest.raises(argparse.ArgumentTypeError) as caught:
            read(text)
        assert str(caught.value) == reason
    file.touch()
    assert reading(str(file)) == file


def test_a_control_socket_is_a_path_or_none() -> None:
    assert control("none") == NOWHERE and control("ipc:///srv/x") == Path("/srv/x")
    assert control("ipc://x") == Path("x").absolute() and control("tcp://127.0.0.1:1") == "tcp://127.0.0.1:1"
    for text, why in (
        ("x", "expected ipc://PATH"),
        ("ipc://", "expected"),
    ):
        with pytest.raises(argparse.ArgumentTypeError, match=why):
            control(text)


def test_a_bound_is_in_percent() -> None:
    assert percent("5") == 5.0
    with pytest.raises(argparse.ArgumentTypeError, match="percent"):
        percent("-1")
