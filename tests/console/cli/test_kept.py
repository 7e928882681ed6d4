"""Kept runs, listed and shown, and the paths."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from console.cli.kept import measured, paths, runs
from console.cli.streams import STDOUT
from engine.drive.pump.chosen import words
from engine.runs.export import to_csv
from engine.runs.history import History
from engine.runs.record import run_id, to_json
from tests.helpers.runs import a_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def history(home: Path) -> History:
    return History(home / "state" / "roundhouse" / "runs")


def asked(*words: str, csv: Path | None = None, json: Path | None = None) -> Namespace:
    return Namespace(id=list(words), csv=csv, json=json)


def test_nothing_kept_yet(home: Path, capsys: Capture) -> None:
    assert runs(asked()) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert err == ""


def test_a_line_a_run_and_foreign_files_named(history: History, capsys: Capture) -> None:
    for run in (a_run(2000), a_run(1, seconds=60)):
        history.keep(run)
    (history.folder / "x\x1b[2J.json").write_text("{}")
    assert runs(asked()) == 0
    out, err = capsys.readouterr()
    head, first, second = (line.split("  ") for line in out.splitlines())
    assert [cell.strip() for cell in first if cell] == [
        "20261128T010203.000456Z-ping",
        "2026-11-28T01:02:03+00:00",
        "roundrobin",
        "tcp",
        "–",
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
    assert runs(asked(name)) == 0
    out, err = capsys.readouterr()
    assert out.startswith(
        f"run       {name}\nstarted   2026-11-28T01:02:03.000456+00:00\nsystem    roundrobin over tcp\n"
    )
    assert out.endswith("verdict   PASS\n")
    assert err == ""


def test_a_run_is_named_in_short_words(history: History, capsys: Capture) -> None:
    names = [history.keep(a_run(3)), history.keep(a_run(3, seconds=60))]
    for short, shown in ((("show", "last"), 1), (("-2",), 0), (("show", names[0][:14]), 0)):
        assert runs(asked(*short)) == 0
        assert capsys.readouterr().out.startswith(f"run       {names[shown]}\n")
    for wrong in (("show",), ("last", "-2")):
        assert runs(asked(*wrong)) == 2
        assert capsys.readouterr().err.startswith(f"roundhouse: runs {' '.join(wrong)}: name one run")


def test_a_run_that_is_not_there(history: History, capsys: Capture) -> None:
    name = history.keep(a_run(3))
    other = run_id(a_run(seconds=1))
    assert runs(asked(other)) == 2
    assert capsys.readouterr() == ("", f"roundhouse: runs '{other}': no such run; did you mean {name}?\n")
    assert runs(asked("../../x")) == 2
    assert "not the name of a run" in capsys.readouterr().err


def test_all_runs_or_one_for_other_programs(history: History, tmp_path: Path, capsys: Capture) -> None:
    kept = [a_run(3), a_run(4, seconds=1)]
    names = [history.keep(run) for run in kept]
    (history.folder / "x.json").write_text("{}")
    assert runs(asked(csv=STDOUT)) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == to_csv(kept).splitlines()
    assert "x.json" in err
    assert runs(asked(json=tmp_path / "all.json")) == runs(asked(names[1], csv=tmp_path / "one.csv")) == 0
    assert (tmp_path / "all.json").read_text() == to_json(kept)
    assert (tmp_path / "one.csv").read_bytes().decode() == to_csv(kept[1:])
    capsys.readouterr()
    assert runs(asked(names[0], json=STDOUT)) == 0
    assert capsys.readouterr() == (to_json(kept[0]), "")


def test_an_export_that_can_not_be_written_or_is_of_nothing(history: History, tmp_path: Path, capsys: Capture) -> None:
    history.keep(a_run(3))
    gone = tmp_path / "gone" / "runs.csv"
    assert runs(asked(csv=gone)) == 1
    assert capsys.readouterr() == ("", f"roundhouse: --csv {gone}: No such file or directory\n")
    assert runs(asked(run_id(a_run(seconds=9)), csv=STDOUT)) == 2
    out, err = capsys.readouterr()
    assert out == "" and "no such run" in err


def test_paths(home: Path, capsys: Capture) -> None:
    assert paths() == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    known = ["config", "themes", "state", "runs", "jobs", "kept", "history", "log", "control", "alerts"]
    assert list(lines) == [*known, "minutes", "keys", "pump", "cores"]
    assert (lines["pump"], lines["cores"]) == (words(), "Python")
    assert lines["config"] == str(home / "config" / "roundhouse" / "roundhouse.toml")
    assert lines["runs"] == str(home / "state" / "roundhouse" / "runs")
    assert list(home.iterdir()) == []


def test_what_was_not_measured_has_no_latency() -> None:
    assert [measured(us) for us in (0.0, 999.4, 999.6, 999_996.0)] == ["-", "999 µs", "1.00 ms", "1.00 s"]
