"""A recording at the console plays by itself, and what it shows depends on the position alone."""

from __future__ import annotations

from pathlib import Path

from console.kinds import session_of
from console.sessions.replay import ReplaySession
from engine.labs.timeline import Timeline
from tests.helpers.protocols import recording
from tests.helpers.queue_recordings import opened, write


def replayed(lab: Timeline) -> ReplaySession:
    session = session_of("", lab)
    assert isinstance(session, ReplaySession)
    return session


def test_a_recording_moves_only_while_it_plays(tmp_path: Path) -> None:
    session = replayed(recording(tmp_path / "a.journal"))
    session.look(10.0)
    session.look(10.25)
    assert session.lab.position == 0
    session.transport.playing = True
    session.look(10.5)
    assert session.lab.now > session.lab.started


def test_the_same_position_gives_the_same_picture_from_both_sides(tmp_path: Path) -> None:
    session = replayed(recording(tmp_path / "a.journal"))
    session.lab.seek(5)
    first = session.look(1.0)
    session.lab.seek(session.lab.last)
    session.look(1.25)
    session.lab.seek(5)
    again = session.look(1.5)
    assert (again.broker, again.client, again.backlog) == (first.broker, first.client, first.backlog)


def test_a_recording_of_disk_queues_too(tmp_path: Path) -> None:
    session = replayed(opened(write(tmp_path / "a.journal")))
    session.lab.seek(session.lab.last)
    end = session.look(1.0)
    session.lab.seek(0)
    assert session.look(1.25).view != end.view
    session.lab.seek(session.lab.last)
    assert session.look(1.5).view == end.view
