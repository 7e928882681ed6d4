from __future__ import annotations

from pathlib import Path

import pytest

from console import keys
from console.history import History
from console.kinds import session_of
from console.kinds.brokers import KIND, RESTED, ending
from console.screens.main import Main
from console.screens.sandbox import SandboxScreen
from console.sessions.session import Session
from engine.catalogue import SYSTEMS
from engine.labs.content import BrokerLab
from tests.helpers.fake_lab import FakeLab


def live() -> Session[BrokerLab]:
    lab = FakeLab(2)
    return session_of("roundrobin", lab)


def test_a_sandbox_is_of_the_same_system_and_has_a_screen_of_its_own(tmp_path: Path) -> None:
    sandbox = session_of("", KIND.sandbox(FakeSandboxed()))
    assert (sandbox.mode, sandbox.lab.system.name) == ("sandbox", "pingpong")
    history = History(tmp_path / "history")
    assert type(KIND.main(sandbox, history)) is SandboxScreen
    assert type(KIND.main(live(), history)) is Main
    sandbox.lab.close()


class FakeSandboxed:
    system = SYSTEMS["pingpong"]
    options = None


def test_the_palette_offers_every_key_of_the_main_screen_but_moving_the_focus() -> None:
    offered = [key.id for key in KIND.offered(live())]
    assert offered == [key.id for key in keys.MAIN if key.id != "focus.next"]


@pytest.mark.parametrize("what", ["maps", "conformance"])
def test_the_protocol_is_explained_from_a_picture(what: str) -> None:
    session = session_of("", KIND.sandbox(FakeSandboxed()))
    assert KIND.explained(session, what)(session.look(1000.0), 100)
    session.lab.close()


def test_what_the_broker_holds_is_told_once_it_can_not_be_the_own_run(tmp_path: Path) -> None:
    lab = FakeLab(0, busy=False)
    lab._backlog = 3
    session = session_of("roundrobin", lab)
    assert KIND.ends(session) == [], "nothing was seen yet"
    lab.advance(0.25)
    session.look(lab.at)
    assert KIND.ends(session) == ["tasks in the broker: 0 with workers, 3 in the backlog"]
    picture = session.picture
    assert ending(picture._replace(rested=RESTED)) == [], "that may be what a run of ours has just left"
