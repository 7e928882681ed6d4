"""The exit status and the words of a walk."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli import explore, explorewords
from engine.sim.explore.model import Model
from engine.sim.explore.scene import Scene
from engine.sim.explore.walk import Progress

Capture = pytest.CaptureFixture[str]
SMALL = 'system = "{system}"\n{more}\n[bounds]\nrounds = 1\n'


def scene(tmp_path: Path, system: str = "negotiated", more: str = "") -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(system=system, more=more), encoding="utf-8")
    return str(path)


def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of round robin that keep their answers for themselves."""
    from engine.catalogue import SYSTEMS

    made = Model(Scene(SYSTEMS["roundrobin"]))
    worker = type(made.seats[made.workers[0]].core)
    monkeypatch.setattr(worker, "_serve", lambda self, now, out: self._held.clear())


def test_a_scene_that_holds(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explore", "--scene", scene(tmp_path)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == "" and lines[0] == "system    negotiated"
    assert lines[1] == "scene     2 workers of 1 slot, 1 client, 2 tasks each; nothing goes wrong"
    assert lines[2].startswith("bounds    1 heartbeat round of 1 s after all have joined; no wake-up may overtake")
    assert lines[4].startswith("walked    ") and "transitions" in lines[4]
    assert lines[-1] == "verdict   held, complete within these bounds"


def test_a_scene_that_does_not(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    silent(monkeypatch)
    journal = tmp_path / "found.journal"
    assert main(["explore", "--scene", scene(tmp_path, "roundrobin"), "--journal", str(journal)]) == 1
    out, _ = capsys.readouterr()
    assert "violated  0 of 2 tasks of client succeeded (2 timeout)" in out
    assert (
        "\n! client is asked\n" in out
        and "│─ TRACKEXEC PING 0 ─▶│" in out
        and out.endswith("verdict   VIOLATED, ended by a violation\n")
    )
    assert main(["replay", "--check", str(journal)]) == 0
    assert "as recorded" in capsys.readouterr().out


def test_the_report_for_programs(tmp_path: Path, capsys: Capture) -> None:
    path = scene(tmp_path)
    assert main(["explore", "--scene", path, "--json", "-", "--faults", "leave"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["schema"], report["scene"]["faults"]) == ("roundhouse.explore/1", ["leave"])
    assert main(["explore", "--scene", path, "--json", "/dev/full"]) == 1
    assert "No space left" in capsys.readouterr().err


def test_bounds_are_told(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explore", "--scene", scene(tmp_path), "--depth", "4"]) == 0
    assert capsys.readouterr().out.endswith("verdict   held, bounded: ended by a depth of 4 moves\n")


def test_nothing_to_record_and_nowhere_to_record_it(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, journal = scene(tmp_path, "roundrobin"), tmp_path / "there.journal"
    assert main(["explore", "--scene", path, "--journal", str(journal)]) == 0
    assert "nothing was found wrong" in capsys.readouterr().err and not journal.exists()
    silent(monkeypatch)
    journal.touch()
    assert main(["explore", "--scene", path, "--journal", str(journal)]) == 1
    assert "File exists" in capsys.readouterr().err


def test_a_signal_ends_it_and_what_was_covered_is_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = explorewords.in_words

    def interrupted(progress: Progress, seconds: float) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return line(progress, seconds)

    monkeypatch.setattr(explore, "in_words", interrupted)
    assert main(["explore"]) == 128 + signal.SIGINT
    assert "bounded: ended by a signal" in capsys.readouterr().out


def test_a_file_that_is_no_scene(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explore", "--scene", scene(tmp_path, more="workerz = 1")]) == 2
    assert "did you mean workers?" in capsys.readouterr().err
    assert main(["explore", "--scene", scene(tmp_path), "--system", "pingpong"]) == 2
    assert "names its own system" in capsys.readouterr().err


def test_it_ends_with_the_process_that_wants_to_know(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explore", "--scene", scene(tmp_path), "--parent", "1"]) == 0
    assert "bounded: ended by the end of the process" in capsys.readouterr().out
    assert main(["explore", "--scene", scene(tmp_path), "--parent", str(os.getppid())]) == 0
    assert "complete" in capsys.readouterr().out
