"""Kept runs, listed and shown, and the paths."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from console.cli.kept import paths, runs
from engine.history import History
from engine.load import run_id
from tests.helpers.runs import a_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def history(home: Path) -> History:
    return History(home / "state" / "roundhouse" / "runs")


def test_nothing_kept_yet(home: Path, capsys: Capture) -> None:
    assert runs(Namespace(id=None)) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert err == ""


def test_a_line_a_run_and_foreign_files_named(history: History, capsys: Capture) -> None:
    for run in (a_run(2000), a_run(1, seconds=60)):
        history.keep(run)
    (history.folder / "x\x1b[2J.json").write_text("{}")
    assert runs(Namespace(id=None)) == 0
    out, err = capsys.readouterr()
    head, first, second = (line.split("  ") for line in out.splitlines())
    assert [cell.strip() for cell in first if cell] == [
        "20261128T010203.000456Z-ping",
        "2026-11-28T01:02:03+00:00",
        "roundrobin",
        "ping",
        "2,000",
        "2,000",
        "1,000",
        "1.00 ms",
        "1.00 ms",
        "pass",
    ]
    assert second[0] == "20261128T010303.000456Z-ping"
    assert head[0] == "run"
    assert err.startswith("roundhouse: skipped ")
    assert "x·[2J.json: not the name of a run" in err


def test_one_run_in_words(history: History, capsys: Capture) -> None:
    name = history.keep(a_run(3))
    assert runs(Namespace(id=name)) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        f"run       {name}\nstarted   2026-11-28T01:02:03.000456+00:00\nsystem    roundrobin over tcp\n"
    )
    assert out.endswith("verdict   PASS\n")
    assert err == ""


def test_a_run_that_is_not_there(history: History, capsys: Capture) -> None:
    name = history.keep(a_run(3))
    other = run_id(a_run(seconds=1))
    assert runs(Namespace(id=other)) == 2
    assert capsys.readouterr() == ("", f"roundhouse: runs '{other}': no such run; did you mean {name}?\n")
    assert runs(Namespace(id="../../x")) == 2
    assert "not the name of a run" in capsys.readouterr().err


def test_paths(home: Path, capsys: Capture) -> None:
    assert paths() == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(lines) == ["config", "themes", "state", "runs", "kept", "history", "log"]
    assert lines["config"] == str(home / "config" / "roundhouse" / "roundhouse.toml")
    assert lines["runs"] == str(home / "state" / "roundhouse" / "runs")
    assert list(home.iterdir()) == []
