from __future__ import annotations

from pathlib import Path

import pytest

from console import keys
from console.history import History
from console.kinds.brokers import KIND
from console.screens.main import Main
from console.screens.sandbox import SandboxScreen
from console.sessions.session import Session, at_once
from engine.catalogue import SYSTEMS
from tests.helpers.fake_lab import FakeLab


def live() -> Session:
    lab = FakeLab(2)
    return KIND.session("roundrobin", lab, at_once(lab))


def test_a_sandbox_is_of_the_same_system_and_has_a_screen_of_its_own(tmp_path: Path) -> None:
    sandbox = KIND.sandbox(FakeSandboxed())
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
    session = KIND.sandbox(FakeSandboxed())
    assert KIND.explained(session, what)(session.look(1000.0), 100)
    session.lab.close()
