"""A pipeline that runs without a screen, as a lab for who attaches. Orders to real drivers: test_queues.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.core import Note
from engine.drive.pipeline import Pipeline
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.controlsession import ControlSession
from engine.labs.health import Health
from engine.labs.queueorders import Overseen, said
from engine.protocols.diskqueue.pipeline import Stage


def test_it_takes_orders_and_its_pictures_are_seen_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(str(tmp_path), [Stage("a")])
    lab = Overseen(pipeline, Feed())
    assert lab.view() is pipeline.picture() and (lab.fed(1.0), lab.health()) == (0, Health((), 0.0))
    given: list[object] = []
    monkeypatch.setattr(pipeline, "order", given.append)
    lab.set_workers("a", 3)
    lab.pause_stage("a")
    lab.resume_stage("a")
    assert [type(order).__name__ for order in given] == ["SetWorkers", "PauseStage", "ResumeStage"]
    with pytest.raises(Refused, match="there is no stage b"):
        lab.set_workers("b", 1)
    with pytest.raises(Refused, match="has ended already"):
        lab.kill_driver("7")
    with pytest.raises(Refused, match="does not take that order"):
        lab.attach(None)
    lab.detach(None)
    said(lab.feed, Note("bad", "a stage was stopped"))
    assert [(fact.source, fact.text) for fact in lab.feed.since(0)[0]] == [("watchdog", "a stage was stopped")]
    session = ControlSession(lab, "pipeline")
    answer = session.words["look"]({})
    assert isinstance(answer, tuple) and answer[1]["Bare"] and answer[1]["Options"]["poll"] == pipeline.options.poll
    session.close()
    monkeypatch.setattr(pipeline, "_view", pipeline.picture()._replace(state="ended"))
    with pytest.raises(Refused, match="the pipeline has ended"):
        lab.pause_stage("a")
