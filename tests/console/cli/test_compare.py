"""Kept runs compared on the command line, and the gate behind a bulk run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from console.cli.compare import against, baseline_of, compare_kept
from console.cli.streams import STDOUT
from engine.runs.history import History
from engine.runs.record import RunRecord, run_id
from tests.helpers.runs import a_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def history(home: Path) -> History:
    return History(home / "state" / "roundhouse" / "runs")


def run(seconds: float, rate: float = 1000.0) -> RunRecord:
    made = a_run(5, seconds=seconds)
    made["rate_per_s"] = rate
    return made


def after(baseline: str | None, bound: float | None = None, json: Path | None = None) -> Namespace:
    return Namespace(baseline=baseline, bound=bound, json=json)


def test_a_table_and_a_status(history: History, capsys: Capture) -> None:
    a, b = history.keep(run(0)), history.keep(run(60, rate=900.0))
    assert compare_kept(Namespace(a=a, b=b, bound=None)) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"A  {a}\nB  {b}\n\n")
    assert out.splitlines()[4].split() == ["rate", "1,000", "/s", "900", "/s", "-10.0", "%", "?", "unknown"]
    assert err == ""
    assert compare_kept(Namespace(a=a, b=b, bound=9.0)) == 0
    assert "service time" in capsys.readouterr().out
    history.keep(run(59, rate=910.0))
    assert compare_kept(Namespace(a=a, b=b, bound=9.0)) == 1
    assert "regression" in capsys.readouterr().out
    assert compare_kept(Namespace(a=b, b=a, bound=9.0)) == 0
    history.keep(run(1, rate=890.0))
    assert compare_kept(Namespace(a=a, b=b, bound=9.0)) == 0  # within the noise of A


def test_a_run_that_is_not_there(history: History, capsys: Capture) -> None:
    a = history.keep(run(0))
    other = run_id(run(60))
    for first, second in ((a, other), (other, a)):
        assert compare_kept(Namespace(a=first, b=second, bound=None)) == 2
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"roundhouse: compare {other!r}: no such run; did you mean {a}?\n")


def test_a_baseline_is_looked_up_before_anything_is_run(history: History, capsys: Capture) -> None:
    kept = run(0)
    name = history.keep(kept)
    assert baseline_of(after(name)) == (kept, True)
    assert baseline_of(after("last")) == baseline_of(after(None)) == baseline_of(Namespace()) == (None, True)
    assert capsys.readouterr() == ("", "")
    assert baseline_of(after("x")) == (None, False)
    assert capsys.readouterr().err.startswith("roundhouse: --baseline 'x': not the name of a run")


def test_a_run_against_its_baseline(history: History, capsys: Capture) -> None:
    before, now = run(0), run(60, rate=900.0)
    for kept in (run(-1), before, now):
        history.keep(kept)
    assert against(None, now, after(None, 0.0)) and against(None, now, Namespace())
    assert capsys.readouterr() == ("", "")
    assert against(before, now, after(run_id(before)))
    assert capsys.readouterr().out.startswith(f"\nA  {run_id(before)}\nB  {run_id(now)}\n\n")
    assert not against(None, now, after("last", 9.0))
    assert f"A  {run_id(before)}\n" in capsys.readouterr().out


def test_stdout_is_left_to_the_json(history: History, capsys: Capture) -> None:
    history.keep(run(0))
    assert against(None, run(60), after("last", 1.0, STDOUT))
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"roundhouse: A  {run_id(run(0))}\n")


def test_a_gate_that_can_judge_nothing_is_not_open(history: History, capsys: Capture) -> None:
    assert against(None, run(60), after("last"))
    assert not against(None, run(60), after("last", 5.0))
    assert capsys.readouterr() == (
        "",
        "roundhouse: --baseline last: no kept run before this one is a repeat of it\n" * 2,
    )
