"""Alerts at the console: each lab that runs is watched, once a second."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.guards import Guards, notification
from console.kinds import session_of
from engine.alerts.rules import Notify, Rule, Rules
from engine.alerts.watch import Change
from engine.errors import Refused
from engine.files.minutes import Figures, Recorder, path_of
from tests.helpers.fake_lab import FakeLab

FEW = Rule("few", "workers", "critical", below=3)
RULES = Rules((FEW, Rule("many", "workers", "warning", above=100)), Notify(("/nonexistent",)))


def test_a_lab_is_looked_at_once_a_second_and_what_fires_is_told_once(tmp_path: Path) -> None:
    lab, guards = FakeLab(2), Guards(RULES._replace(notify=Notify()), tmp_path)
    session = session_of("roundrobin", lab)
    assert [change.rule.name for change in guards.look([session], 1000.0)] == ["few"]
    lab.workers = []
    lab.publish()
    assert guards.look([session], 1000.5) == [] and guards.rows()[0].text.endswith("2 (below 3)")
    assert guards.look([session], 1001.0) == [] and guards.rows()[0].text.endswith("0 (below 3)")
    assert guards.firing() == 1
    first, second = guards.rows()
    assert (first.where, first.name, first.state, second.state) == ("roundrobin", "few", "firing", "cleared")
    guards.acknowledge(first, 1002.0)
    assert guards.firing() == 0 and guards.rows()[0].state == "acknowledged"
    with pytest.raises(Refused, match="many does not fire"):
        guards.acknowledge(second, 1002.0)
    assert guards.silence(guards.rows()[0], 1003.0) == 3600.0 and guards.rows()[0].state == "silenced"
    assert guards.silence(guards.rows()[0], 1004.0) == 0.0
    assert json.loads(lab.words["status"]({})[1]["Status"])["role"] == "console"
    guards.close()


def test_charts_begin_with_what_a_process_before_kept(tmp_path: Path) -> None:
    lab, path, wall = FakeLab(1), tmp_path / "minutes", 29_000_000 * 60.0 + 30
    recorder = Recorder(path_of(path, "roundrobin", lab.endpoints), lambda words, well: None)
    for second, done in ((-7200, 0), (-7190, 5000), (-3600, 6000)):
        recorder.look(wall + second, Figures(done, 0, 700, 20_000, 1, 2))
    recorder.close()
    guards, session = Guards(Rules(()), tmp_path), session_of("roundrobin", lab)
    guards.begin(session, 5000.0, wall)
    picture = session.look(5000.5)
    day, minute = 3, 0
    assert max(picture.series["backlog"].values(day)) == 700 and max(picture.series["latency"].values(day)) == 20_000
    assert max(picture.series["lost"].values(day)) == 2 and max(picture.series["throughput"].values(day)) > 0
    assert picture.series["lost"].values(day)[-5:] == (0,) * 5, "in between nothing ran"
    assert set(picture.series["lost"].values(minute)) == {0}
    there = FakeLab(1)
    told = path_of(path, "roundrobin", lab.endpoints).read_bytes()
    there.minutes = lambda: told  # type: ignore[method-assign]
    elsewhere = session_of("roundrobin", there)
    elsewhere.lab.mode = "remote"
    guards.begin(elsewhere, 5000.0, wall)
    assert max(elsewhere.look(5000.5).series["backlog"].values(day)) == 700, "the process itself tells it"
    path_of(path, "roundrobin", lab.endpoints).unlink()
    path_of(path, "roundrobin", lab.endpoints).mkdir()
    guards.begin(session, 5000.0, wall)
    assert "the history of minutes can not be read" in lab.feed.since(0)[0][-1].text


def test_what_a_lab_here_does_is_kept_and_that_of_another_process_is_not(tmp_path: Path) -> None:
    for mode, kept in (("live", 1), ("remote", 0)):
        lab, guards = FakeLab(1), Guards(Rules(()), tmp_path / mode)
        session = session_of("roundrobin", lab)
        session.lab.mode = mode
        guards.look([session], 1000.0)
        guards.close()
        assert len(list((tmp_path / mode).glob("minutes/*"))) == kept


def test_what_does_not_run_has_no_alerts(tmp_path: Path) -> None:
    lab, guards = FakeLab(0), Guards(RULES, tmp_path)
    session = session_of("roundrobin", lab)
    session.lab.mode = "replay"
    assert guards.look([session], 1000.0) == [] and guards.rows() == []
    session.lab.mode = "remote"
    assert [change.rule.name for change in guards.look([session], 1000.0)] == ["few"]
    assert guards._watchers["roundrobin"]._notifier._thread is None  # the process itself tells others
    guards.close()


def test_a_notification_can_not_steer_the_terminal() -> None:
    change = Change(FEW._replace(name="a\x1b\\b"), "pending", "firing", 1.0)
    assert notification(change).count("\x1b") == 2 and notification(change).startswith("\a\x1b]9;roundhouse: a·")
