"""A lab of another process as a session."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from console.kinds import session_of
from console.pictures.bridge import badge, stale
from console.screens.main import Main
from console.sessions.remote import RemoteSession
from engine.labs.lab import Mode
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


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
    assert badge(picture, False) == ("STALE", "bad") and stale(picture) == "as it was 12s ago"


class Lone(Far):
    """A process that has a broker and nothing else."""

    def publish(self) -> None:
        super().publish()
        self.feed.show("client", None)

    def seat_of(self, key: bytes) -> str | None:
        return None


def test_where_there_is_no_client_nobody_offers_its_runs(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.app.first_run = True
        driver.app.greet()
        await driver.tick()
        assert driver.shows("new here? U lists who sends") and not driver.shows("bulkping")
        await driver.press("j")
        for way in ((), ("U",), ("H",)):
            await driver.press(*way)
            await driver.tick()
            assert not driver.shows("bulkping") and not driver.shows("bulkdata") and not driver.shows("fills it")
            await driver.press(*("escape" for _ in way))
        driver.lab.__class__ = Far
        driver.lab.publish()
        await driver.tick()
        assert driver.shows("bulkping")

    drive(scenario, tmp_path, lab=Lone(3, busy=False), size=(200, 40))


def test_an_old_picture_still_says_of_whom_it_is(tmp_path: Path) -> None:
    lab = Far(3)
    lab.age = 250.0

    async def scenario(driver: Driver) -> None:
        first = driver.screen()[0]
        assert "STALE" in first and "as it was 4m ago" in first and lab.endpoints[0] in first

    drive(scenario, tmp_path, lab=lab, size=(80, 24))
