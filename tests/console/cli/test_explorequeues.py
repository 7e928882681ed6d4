"""The exit status and the words of a walk of disk queues."""

from __future__ import annotations

import json

import pytest

from console.__main__ import main
from console.cli import explorequeues
from engine.sim.explore.documents import Documents

Capture = pytest.CaptureFixture[str]
QUEUES = ["explore", "--system", "diskqueue"]


def test_a_walk_that_holds(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorequeues, "DOCUMENTS", 1)
    assert main(QUEUES) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["system    diskqueue", "scene     2 drivers, 1 documents; nothing goes wrong"]
    assert any(line.startswith("rows      ") and line.endswith(" of A document") for line in lines)
    assert lines[-1] == "verdict   held, complete"


def test_bounds_are_told(capsys: Capture) -> None:
    assert main([*QUEUES, "--faults", "kill", "--states", "500", "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["schema"], report["complete"], report["bound"]) == ("roundhouse.explore/1", False, "500 states")
    assert main([*QUEUES, "--depth", "12"]) == 0
    assert "ended by a depth of 12 moves" in capsys.readouterr().out
    assert main([*QUEUES, "--seconds", "0.01"]) == 0
    assert "ended by 0.01 seconds" in capsys.readouterr().out


def test_what_does_not_hold(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Documents, "wrong", lambda self, state: "" if state == self.begin else "d1 is lost")
    assert main(QUEUES) == 1
    out = capsys.readouterr().out
    assert "violated  d1 is lost\n" in out and "\n! driver 1 goes on\n? d1 is lost\n" in out and "· d1 is lost" in out
    assert out.endswith("verdict   VIOLATED, ended by a violation\n")


def test_what_can_not_go_wrong(capsys: Capture) -> None:
    assert main([*QUEUES, "--faults", "lose"]) == 2
    assert "of disk queues one of kill, power may go wrong, got lose" in capsys.readouterr().err
    assert main(["explore", "--faults", "power"]) == 2
    assert "power is for disk queues alone" in capsys.readouterr().err
