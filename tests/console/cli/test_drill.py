"""The exit status and the words of a drill."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from console.__main__ import main
from engine.catalogue import CATALOGUE, SYSTEMS
from engine.faults import real
from engine.faults.drill import Report
from engine.faults.script import read_drill
from engine.parts.store import Counts
from engine.runs.checker import Judgement

Capture = pytest.CaptureFixture[str]
GOOD = """\
system = "pingpong"
workers = 2
until = 20

[[do]]
at = 2
run = "bulkping 20"

[[do]]
at = 4
fault = "kill w2"
"""


def script(tmp_path: Path, text: str = GOOD) -> str:
    path = tmp_path / "good.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_drill_that_passes(tmp_path: Path, capsys: Capture) -> None:
    assert main(["drill", script(tmp_path)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == "" and lines[:3] == ["drill     good", "system    pingpong, 2 workers of 10 slots, seed 0", ""]
    assert lines[3] == "    2.00  ✓ run    bulkping 20: 20 of 20 succeeded: pass, expected pass"
    assert lines[4] == "    4.00  ✓ fault  kill w2: w2 is dead, without a word"
    assert lines[5].startswith("                   ✓ w2 is lost within 7 s, and what it held is given to others · ")
    assert lines[-3:] == ["", "promises  4 of 4 held", "verdict   PASS"]


def test_a_drill_that_fails(tmp_path: Path, capsys: Capture) -> None:
    assert main(["drill", script(tmp_path, GOOD.replace("until = 20", "until = 5"))]) == 1
    out, _ = capsys.readouterr()
    assert "✗ fault  kill w2" in out and "✗ w2 is not counted on" in out and "open at the end" in out
    assert out.endswith("verdict   FAIL\n")


def test_a_file_that_is_no_drill(tmp_path: Path, capsys: Capture) -> None:
    path = script(tmp_path, GOOD.replace("fault", "fualt"))
    assert main(["drill", path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == f"roundhouse: {path}:9: do: fualt: no such key; did you mean fault?"
    assert main(["drill", str(tmp_path / "none.toml")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_the_report_for_programs(tmp_path: Path, capsys: Capture) -> None:
    path = script(tmp_path)
    assert main(["drill", path, "--json", "-", "--seed", "3"]) == 0
    out, _ = capsys.readouterr()
    report = json.loads(out)
    assert (report["schema"], report["seed"], report["verdict"]) == ("roundhouse.drill/1", 3, "pass")
    target = tmp_path / "report.json"
    assert main(["drill", path, "--json", str(target)]) == 0
    assert capsys.readouterr().out.startswith("drill     good")
    assert json.loads(target.read_text(encoding="utf-8"))["seed"] == 0


def test_a_report_that_can_not_be_written(tmp_path: Path, capsys: Capture) -> None:
    assert main(["drill", script(tmp_path), "--json", "/dev/full"]) == 1
    assert "No space left" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["drill", "drill a b", f"drill {__file__} --seed -1", f"--journal j drill {__file__}"])
def test_wrong_usage(line: str, capsys: Capture) -> None:
    assert main(line.split()) == 2
    assert "roundhouse drill --help" in capsys.readouterr().err


def test_on_real_processes(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script(tmp_path)
    with monkeypatch.context() as without:
        for systems in (SYSTEMS, CATALOGUE):
            without.setitem(systems, "pingpong", replace(SYSTEMS["pingpong"], store=""))
        assert main(["drill", path, "--real"]) == 2
    assert capsys.readouterr().err.startswith(f"roundhouse: {path}: pingpong has no broker with a store")
    path = script(tmp_path, GOOD.replace("pingpong", "roundrobin"))
    report = Report(read_drill(Path(path)), 0, (), ())
    played = real.Real(report, Judgement(20, (("ok", 20),), 1, ("one ended twice",)), Counts(20, 19, (), 0, 0, 20))
    monkeypatch.setattr(real, "play", lambda drill: played)
    assert main(["drill", path, "--real", "--json", str(tmp_path / "r")]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "system    roundrobin, 2 workers of 10 slots, on real processes",
        "",
        "",
        "history   20 tasks: 20 ok; 1 executed again",
        "wrong     one ended twice",
        "store     20 accepted, 19 succeeded, 0 waiting; its books do not balance",
        "verdict   FAIL",
    ]
    assert json.loads((tmp_path / "r").read_text(encoding="utf-8"))["history"]["wrong"] == ["one ended twice"]
    held = played._replace(judged=played.judged._replace(wrong=()), counts=played.counts._replace(succeeded=20))
    monkeypatch.setattr(real, "play", lambda drill: held)
    assert main(["drill", path, "--real"]) == 0
    assert main(["drill", path, "--real", "--seed", "1"]) == 2
