"""A lab of another process as a session."""

from __future__ import annotations

from typing import ClassVar

from console.kinds import session_of
from console.pictures.bridge import badge, stale
from console.screens.main import Main
from console.sessions.remote import RemoteSession
from engine.labs.lab import Mode
from tests.helpers.fake_lab import FakeLab


class Far(FakeLab):
    """As another process."""

    mode: ClassVar[Mode] = "remote"
    age = 0.0

    @property
    def stale(self) -> float:
        return self.age


def test_it_has_the_screens_of_what_runs_and_nothing_of_it_ends_with_the_console() -> None:
    lab = Far()
    session = session_of("x", lab)
    assert isinstance(session, RemoteSession)
    assert session.kind.main(session, None).__class__ is Main  # type: ignore[arg-type]
    assert type(session.listen()) is type(lab.trace(1))
    session.look(1.0)
    assert session.kind.ends(session) == session.kind.depends(session) == []


def test_an_old_picture_says_how_old_it_is() -> None:
    lab = Far()
    session = session_of("x", lab)
    assert badge(session.look(1.0), False)[0] == "DEGRADED"
    lab.age = 12.0
    picture = session.look(2.0)
    assert badge(picture, False) == ("STALE", "bad") and stale(picture) == "not heard for 12s: this is how it was then"
