"""A position in a recording, whatever was recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import Refused
from engine.labs.timeline import Timeline
from tests.helpers.protocols import recording
from tests.helpers.queue_recordings import opened, write


def of_brokers(folder: Path) -> Timeline:
    return recording(folder / "a.journal", "pingpong", 3)


def of_queues(folder: Path) -> Timeline:
    return opened(write(folder / "a.journal"))


@pytest.mark.parametrize("make", [of_brokers, of_queues])
def test_it_stands_where_it_was_sought(tmp_path: Path, make: Callable[[Path], Timeline]) -> None:
    lab = make(tmp_path)
    assert (lab.position, lab.now, lab.mode, lab.readonly) == (0, lab.started, "replay", True)
    lab.seek(10**9)
    assert (lab.position, lab.now) == (lab.last, lab.end)
    lab.seek(-1)
    assert lab.position == 0 and list(lab.samples(60.0)) == []
    lab.seek_time((lab.started + lab.end) / 2)
    assert lab.now == (lab.started + lab.end) / 2 and 0 < lab.position < lab.last
    assert all(one.record <= lab.position for one in lab.samples(60.0))


@pytest.mark.parametrize("make", [of_brokers, of_queues])
def test_steps_lead_to_the_same_places_both_ways(tmp_path: Path, make: Callable[[Path], Timeline]) -> None:
    lab = make(tmp_path)
    there = []
    while lab.step_message():
        there.append(lab.position)
    assert len(there) > 5 and lab.position == lab.last
    back = []
    while lab.step_message(forwards=False):
        back.append(lab.position)
    assert lab.position == 0 and back[::-1] == [one for one in there if one != lab.last]


@pytest.mark.parametrize("make", [of_brokers, of_queues])
def test_why_needs_a_choice(tmp_path: Path, make: Callable[[Path], Timeline]) -> None:
    lab = make(tmp_path)
    with pytest.raises(Refused, match="choose a"):
        lab.why(None)
    with pytest.raises(Refused, match="lately"):
        lab.why_last()
    lab.seek_time((lab.started + lab.end) / 2)
    assert len(lab.why_last().split("\n")) > 2
