"""A recorded stage, shown again: the same pictures, facts and messages whichever way a moment is reached."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.errors import Refused
from engine.journal import write
from engine.journal.codec import Unreadable
from engine.journal.format import EVENT
from engine.journal.read import read
from engine.labs.replaylab import ReplayLab
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.tracing.trace import Trace


def recorded(path: Path, system: str = "roundrobin", tasks: int = 20) -> Path:
    """Two workers, a run, and one of the workers is killed in the middle of it."""
    with Sandbox(SYSTEMS[system], workers=2, slots=2, journal=path) as stage:
        stage.advance(3.0)
        stage.run(BulkSpec("ping", tasks, 0, 4, 50.0))
        stage.advance(0.2)
        stage.kill("worker-2")
        stage.advance(8.0)
    return path


def opened(path: Path) -> ReplayLab:
    return ReplayLab(read(path, SYSTEMS), SYSTEMS)


def shown(lab: ReplayLab) -> tuple[dict[str, Any], list[Any]]:
    """Without service times: percentiles hold for a second once somebody has looked."""
    pictures = dict(lab.feed.pictures)
    if (broker := pictures.get("broker")) is not None:
        pictures["broker"] = broker._replace(workers=tuple(row._replace(took=None) for row in broker.workers))
    return pictures, lab.feed.since(0)[0]


def test_backwards_shows_what_forwards_did(tmp_path: Path) -> None:
    lab = opened(recorded(tmp_path / "a.journal"))
    assert lab.position == 0 and lab.last == len(lab.replay) and not lab.broken
    forwards = {0: shown(lab)}
    while lab.step_message():
        forwards[lab.position] = shown(lab)
    forwards[lab.position] = shown(lab)
    backwards = {lab.position: shown(lab)}
    while lab.step_message(forwards=False):
        backwards[lab.position] = shown(lab)
    backwards[lab.position] = shown(lab)
    assert lab.position == 0 and len(forwards) > 40
    assert backwards == forwards


def test_the_recorded_facts_and_ledger_are_the_replayed_ones(tmp_path: Path) -> None:
    with Sandbox(SYSTEMS["roundrobin"], workers=2, slots=2, journal=tmp_path / "a") as stage:
        stage.advance(3.0)
        stage.run(BulkSpec("ping", 20, 0, 4))
        stage.advance(5.0)
        said = [(fact.level, fact.text) for fact in stage.feed.since(0)[0] if fact.source != "sandbox"]
        sight = stage.sight()
    lab = opened(tmp_path / "a")
    lab.seek_time(lab.end)
    facts = lab.feed.since(0)[0]
    assert [(fact.level, fact.text) for fact in facts] == said
    assert sight.broker is not None
    assert lab.feed.pictures["broker"].ledger == sight.broker.ledger
    assert lab.feed.pictures["client"].run.ledger.succeeded == 20
    assert lab.replay.differences == [] and lab.health().dead == ()


def test_seeking_by_time_stands_still_between_records(tmp_path: Path) -> None:
    lab = opened(recorded(tmp_path / "a.journal"))
    lab.seek_time(2.0)
    at = lab.position
    assert lab.now == 2.0 and all(record[1] <= 2.0 for record in lab.replay.records[:at])
    assert lab.replay.records[at][1] > 2.0
    lab.seek_time(-5.0)
    assert (lab.position, lab.now) == (sum(record[1] == 0.0 for record in lab.replay.records), 0.0)
    lab.seek_time(1e9)
    assert (lab.position, lab.now) == (lab.last, lab.end)
    lab.seek(10**9)
    assert lab.position == lab.last


def test_a_trace_is_filled_wherever_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReplayLab, "window", 30)
    lab = opened(recorded(tmp_path / "a.journal"))
    lab.seek(100)
    trace = Trace(lab.system)
    lab.attach(trace)
    expected = [entry.frames for entry in trace.entries()]
    assert expected and all(70 <= (entry.record or 0) < 100 for entry in trace.entries())
    lab.seek(40)
    assert all(10 <= (entry.record or 0) < 40 for entry in trace.entries())
    lab.seek(100)
    assert [entry.frames for entry in trace.entries()] == expected
    lab.seek(101)
    assert len(trace.entries()) >= len(expected) and lab.position == 101
    lab.detach(trace)
    total = trace.total
    lab.seek(0)
    assert trace.total == total


def test_details_are_shown_and_change_nothing(tmp_path: Path) -> None:
    lab = opened(recorded(tmp_path / "a.journal"))
    lab.seek_time(3.1)
    key = lab.feed.pictures["broker"].workers[0].key
    lab.inspect(key)
    assert lab.feed.pictures["broker"].detail.key == key
    lab.inspect(None)
    assert lab.feed.pictures["broker"].detail is None
    lab.seek(lab.last)
    assert lab.replay.differences == []


def test_samples_are_of_the_time_before_the_position(tmp_path: Path) -> None:
    lab = opened(recorded(tmp_path / "a.journal"))
    assert lab.samples(60.0) == []
    lab.seek_time(5.0)
    found = lab.samples(1.0)
    assert found and all(4.0 <= sample.at <= 5.0 and sample.record <= lab.position for sample in found)
    assert len(lab.samples(60.0)) > len(found)


def test_it_takes_no_orders(tmp_path: Path) -> None:
    lab = opened(recorded(tmp_path / "a.journal"))
    for order in (partial(lab.run, BulkSpec("ping", 1)), lab.bulk, lab.hand_back, partial(lab.stop_worker, b"")):
        with pytest.raises(Refused, match="takes no orders"):
            order()
    assert lab.runs() == [] and lab.endpoints == (SYSTEMS["roundrobin"].endpoint,)


def test_where_a_core_can_not_go_on_the_recording_ends(tmp_path: Path) -> None:
    reading = read(recorded(tmp_path / "a.journal"), SYSTEMS)
    place = next(at for at, record in enumerate(reading.records) if record[0] == EVENT and at > 50)
    reading.records[place][3] = Note("bad", "no event at all")
    lab = ReplayLab(reading, SYSTEMS)
    assert lab.last == place and lab.broken
    assert "can not be played any further" in lab.health().dead[0]
    lab.seek(10**9)
    assert lab.position == place
    assert lab.end == reading.records[place - 1][1]


def test_ten_thousand_pings_with_a_worker_killed_in_the_middle(tmp_path: Path) -> None:
    with Sandbox(SYSTEMS["roundrobin"], workers=4, slots=4, journal=tmp_path / "a") as stage:
        stage.advance(3.0)
        stage.run(BulkSpec("ping", 10_000, 0, 32, None, 15.0))
        stage.advance(1.0)
        view = stage.run_view()
        assert view is not None and view.state == "running"
        stage.kill("worker-2")
        stage.advance(30.0)
        stage.advance(30.0)
        sight, view = stage.sight(), stage.run_view()
    assert view is not None and view.passed and sight.broker is not None
    lab = opened(tmp_path / "a")
    assert lab.replay.differences == [] and not lab.broken
    lab.seek(lab.last)
    end = shown(lab)
    assert lab.feed.pictures["client"].run.ledger == view.ledger
    assert lab.feed.pictures["broker"].ledger == sight.broker.ledger
    for position in (lab.last // 2, 7, lab.last - 1, lab.last):
        lab.seek(position)
    assert shown(lab) == end


def test_a_journal_that_is_cut_anywhere_opens_as_far_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "BLOCK", 1024)
    path = recorded(tmp_path / "a.journal")
    whole, last = path.read_bytes(), opened(path).last
    reached: list[int] = []
    for at in range(len(whole) - 1, 600, -97):
        path.write_bytes(whole[:at])
        lab = opened(path)
        assert lab.replay.cut.endswith("is cut") and lab.replay.differences == [] and not lab.broken
        reached.append(lab.last)
    assert last > reached[0] and reached == sorted(reached, reverse=True) and len(set(reached)) > 5
    path.write_bytes(whole[:40])
    with pytest.raises(Unreadable, match="cut before its first whole block"):
        opened(path)
