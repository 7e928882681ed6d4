"""``roundhouse doctor``: each line ok, warn or bad; 1 where something is bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.__main__ import main
from console.cli import doctor as module
from engine.drive.examine import Finding
from engine.drive.stores.sqlite import Sqlite
from engine.settings.paths import Paths

Capture = pytest.CaptureFixture[str]
LOOKS = ("limits", "clock", "pump")


@pytest.fixture(autouse=True)
def machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which all is well, whatever this one is like."""
    for name in LOOKS:
        monkeypatch.setattr(module, name, lambda name=name: Finding("ok", name, "well"))
    monkeypatch.setattr(module, "disk", lambda path: Finding("ok", "disk", "well"))
    monkeypatch.setattr(module, "port", lambda *_: Finding("warn", "port", "taken", "end it"))


def test_each_line_says_how_it_is_and_what_to_do(capsys: Capture) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(("ok    ", "warn  ", " " * 27)) for line in lines)
    assert "warn  port                  taken" in lines and f"{'':<27} end it" in lines
    assert any(line.startswith("ok    folder of control") for line in lines)


def test_what_is_bad_is_status_1(home: Path, capsys: Capture) -> None:
    config = home / "config" / "roundhouse"
    config.mkdir(parents=True)
    (config / "alerts.toml").write_text("[x]\nabove = 1\n")
    assert main(["doctor"]) == 1
    assert "bad   configuration" in capsys.readouterr().out


def test_the_file_of_a_backlog_is_looked_at(home: Path, capsys: Capture) -> None:
    config, file = home / "config" / "roundhouse", home / "kept.sqlite"
    config.mkdir(parents=True)
    (config / "roundhouse.toml").write_text(f"[roundrobin]\nbacklog = 'sqlite:{file}'\n")
    assert main(["doctor"]) == 0
    assert f"ok    backlog of roundrobin {home}" in capsys.readouterr().out
    Sqlite(file).close()
    assert main(["doctor"]) == 0
    assert f"ok    backlog of roundrobin {file}" in capsys.readouterr().out
    file.write_bytes(b"it is none" * 1000)
    assert main(["doctor"]) == 1
    assert f"bad   backlog of roundrobin {file}: file is not a database" in capsys.readouterr().out


def test_the_usual_file_of_a_broker_is_looked_at_and_so_is_its_room(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Paths.of_user().kept / "backlog" / "pingpong.sqlite"
    Sqlite(file).close()
    monkeypatch.setattr(module, "FREE", 1)
    assert main(["doctor"]) == 0
    assert f"ok    backlog of pingpong   {file}" in capsys.readouterr().out
    monkeypatch.setattr(module, "FREE", 1 << 62)
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert f"bad   backlog of pingpong   {file}: " in told and "no task is taken" in told and "make room" in told


def test_without_the_extra_it_says_how_to_have_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install" in module.metrics().words
