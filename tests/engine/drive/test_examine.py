"""Findings about a machine and a user's folders: what is bad, and what to do."""

from __future__ import annotations

import os
import resource
import socket
from collections import namedtuple
from pathlib import Path

import pytest

from engine.drive import examine
from engine.drive.control.place import place
from engine.drive.examine import TIME_ERROR, clock, disk, folder, limits, port, private, pump

Usage = namedtuple("Usage", "total used free")


def test_few_descriptors_are_told() -> None:
    assert limits(1024).level == "warn" and "ulimit" in limits(1024).advice
    assert limits(4096).level == "ok" and limits(resource.RLIM_INFINITY).words == "no limit"
    assert limits().level in ("ok", "warn")


def test_a_clock_that_nobody_keeps_right_is_told() -> None:
    assert clock(TIME_ERROR).level == "warn" and clock(0).words == "kept right"
    assert clock(-1).level == "ok" and clock().what == "clock"


def test_the_pump(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "WHY", "")
    assert pump().level == "ok"
    monkeypatch.setattr(examine, "WHY", "no compiler")
    assert pump().level == "warn" and "no compiler" in pump().words


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder("state", tmp_path / "not" / "yet").level == "ok"
    (tmp_path / "file").touch()
    assert folder("state", tmp_path / "file" / "x").level == "bad"
    wide = tmp_path / "wide"
    wide.mkdir()
    wide.chmod(0o777)
    assert folder("state", wide) == ("warn", "state", f"others can write in {wide}", f"chmod go-w {wide}")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert folder("state", tmp_path).level == "bad"


def test_private_folders(tmp_path: Path) -> None:
    assert private("control", tmp_path / "none").level == "ok"
    tmp_path.chmod(0o755)
    assert private("control", tmp_path).level == "bad" and "chmod 700" in private("control", tmp_path).advice
    tmp_path.chmod(0o700)
    assert private("control", tmp_path).level == "ok"


@pytest.mark.parametrize(("free", "level"), [(50, "ok"), (4, "warn"), (0, "bad")])
def test_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(100, 100 - free, free))
    assert disk(tmp_path / "not" / "yet").level == level


def test_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        endpoint = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        assert port("x", endpoint, tmp_path).level == "warn"
        path = place(tmp_path, endpoint)
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(path.name)
            assert port("x", endpoint, tmp_path).words == f"{endpoint}: a broker of this user is there"
    assert port("x", endpoint, tmp_path).words == f"{endpoint} is free"
    assert port("x", "ipc:///x", tmp_path).level == "ok"
