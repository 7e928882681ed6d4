"""What runs on this machine, by its control sockets."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from engine.drive.control.found import Found, about, read_hello, running
from engine.drive.control.server import listening
from engine.drive.control.wire import Message


def test_whoever_answers_is_found_and_what_is_dead_is_removed(tmp_path: Path) -> None:
    assert running(tmp_path / "none") == []
    folder = tmp_path / "control"
    told = about("diskqueue", "pipeline", (), "/q")
    with (
        listening(print, folder / "b", told, {}),
        listening(print, folder / "a", about("roundrobin", "broker", ("inproc://x",)), {}),
        listening(print, folder / "odd", {"system": 7}, {}),
    ):
        (folder / "file").write_text("no socket")
        found = running(folder, 60)
        assert found == [
            Found(folder / "a", "roundrobin", "broker", ("inproc://x",), os.getpid()),
            Found(folder / "b", "diskqueue", "pipeline", (), os.getpid(), "/q"),
        ]
        assert found[0].name == "a"
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(folder / "dead"))
        assert [one.name for one in running(folder, 60)] == ["a", "b"]
        assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "file", "odd"]


def test_a_folder_that_others_can_reach_is_not_looked_into(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(PermissionError):
        running(tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"system": "s", "role": "r", "endpoints": ["e"], "pid": True},
        {"system": "s", "role": "r", "endpoints": "e", "pid": 1},
        {"system": "s", "role": "r", "endpoints": [1], "pid": 1},
        {"system": "s" * 2000, "role": "r", "endpoints": [], "pid": 1},
        {"system": "s", "role": "r", "endpoints": [], "pid": 1, "root": 3},
    ],
)
def test_what_is_no_hello_is_nobody(fields: dict[str, object]) -> None:
    assert read_hello(Path("x"), Message(1, "hello", fields)) is None
    assert read_hello(Path("x"), "version 9 is not spoken here") is None
