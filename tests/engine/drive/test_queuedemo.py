"""The demonstration: a steady pace, and documents that fail once and twice among them."""

from __future__ import annotations

import os
from pathlib import Path

from engine.drive.documents import parse_work
from engine.drive.queuedemo import EVERY, STAGES, DemoFeeder
from engine.protocols.diskqueue.operations import Done
from engine.protocols.diskqueue.pipeline import check_stages


def test_its_stages_make_a_pipeline_and_their_work_exists() -> None:
    for stage in check_stages(STAGES):
        assert callable(parse_work(stage.work))


def test_it_feeds_at_its_pace_and_marks_some(tmp_path: Path) -> None:
    feeder = DemoFeeder(str(tmp_path))
    for step in range(20):
        assert feeder.step(step * EVERY) == ""
        assert feeder.step(step * EVERY) == ""
    queue = tmp_path / "queue-start"
    firsts = {name: (queue / name).read_text(encoding="utf-8").splitlines()[0] for name in os.listdir(queue)}
    assert len(firsts) == 20
    assert sorted(first for first in firsts.values() if first != "a document") == ["fail once", "fail twice"]


def test_what_is_fed_at_once_is_counted(tmp_path: Path) -> None:
    feeder = DemoFeeder(str(tmp_path), "more")
    assert [feeder.feed() for _ in range(20)] == [""] * 20
    assert feeder.fed == 20 == len(os.listdir(tmp_path / "queue-start"))
    assert (tmp_path / "queue-start" / "more-0020.txt.ready").exists()
    (tmp_path / "queue-start" / "more-0021.txt.ready").touch()
    assert "exists" in feeder.feed().lower()
    assert feeder.fed == 20


def test_whoever_wants_to_know_is_told_of_each_document(tmp_path: Path) -> None:
    told: list[Done] = []
    assert DemoFeeder(str(tmp_path), told=told.append).feed() == ""
    assert [getattr(answer.operation, "new", "") for answer in told] == ["doc-0001.txt.ready"]
