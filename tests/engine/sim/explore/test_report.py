"""What a walk comes to, as a value and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count

import pytest

from engine.sim.explore.model import Model
from engine.sim.explore.report import SCHEMA, document, explore
from engine.sim.explore.scene import Bounds
from tests.engine.sim.explore.scenes import scene


def test_a_scene_that_holds() -> None:
    report = explore(scene(), count().__next__)
    assert report.complete and not report.found and report.elapsed > 0
    shown = json.loads(json.dumps(document(report)))
    assert shown["schema"] == SCHEMA and shown["system"] == "negotiated" and shown["complete"] is True
    assert shown["states"] == report.progress.states and shown["violations"] == []
    assert shown["scene"]["workers"] == 2 and shown["scene"]["most"] == 0
    assert list(shown) == [
        "schema", "system", "scene", "states", "transitions", "depth", "complete", "bound", "violations", "coverage",
        "elapsed_s",
    ]  # fmt: skip


def test_seconds_are_a_bound() -> None:
    clock = count(0.0, 10.0)
    report = explore(replace(scene("roundrobin"), bounds=Bounds(rounds=1, seconds=5.0)), clock.__next__)
    assert (report.bound, report.complete) == ("5 seconds", False)


def test_a_violation_is_repeated_before_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Model(scene("roundrobin"))
    worker = type(made.seats[made.workers[0]].core)
    monkeypatch.setattr(worker, "_serve", lambda self, now, out: self._held.clear())
    report = explore(scene("roundrobin"), count().__next__)
    (found,) = report.found
    assert found.text == found.course.wrong == "0 of 2 tasks of client succeeded (2 timeout)"
    assert not report.complete and document(report)["violations"][0]["course"] == list(found.course.lines)
