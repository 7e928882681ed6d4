from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console import keys
from console.history import History
from console.kinds import session_of
from console.kinds.queues import KIND
from console.screens.pipeline import Pipelines
from console.screens.queuesandbox import QueueSandboxScreen
from console.sessions.session import Session
from engine.labs.content import QueueLab
from tests.helpers.fake_queues import FakeQueues


def live() -> Session[QueueLab]:
    lab = FakeQueues()
    return session_of("diskqueue", lab)


def test_a_sandbox_has_a_screen_of_its_own(tmp_path: Path) -> None:
    sandbox = session_of("", KIND.sandbox(FakeQueues()))
    history = History(tmp_path / "history")
    assert sandbox.mode == "sandbox"
    assert type(KIND.main(sandbox, history)) is QueueSandboxScreen
    assert type(KIND.main(live(), history)) is Pipelines


def test_the_palette_offers_every_key_of_the_main_screen_but_moving_the_focus() -> None:
    assert [key.id for key in KIND.offered(live())] == [key.id for key in keys.QUEUES if key.id != "focus.next"]


@pytest.mark.parametrize("what", ["maps", "conformance"])
def test_the_protocol_is_explained_from_a_picture(what: str) -> None:
    session = live()
    assert KIND.explained(session, what)(session.look(1000.0), 100)


def test_the_rows_of_a_sandbox_are_counted_and_those_of_other_processes_are_not_said_to_be() -> None:
    sandbox = session_of("", KIND.sandbox(FakeQueues()))
    sandbox.lab.advance(10.0)
    heads = [line for line in shown(sandbox, sandbox.look(1000.0)) if "on the left" in line]
    assert len(heads) == 4
    session = live()
    lines = shown(session, session.look(1000.0))
    assert not any("on the left" in line for line in lines) and not any(line.startswith("    · ") for line in lines)


def shown(session: Session[Any], picture: Any) -> list[str]:
    return ["".join(text for text, _ in line) for line in KIND.explained(session, "maps")(picture, 116)]


def test_what_is_said_at_the_end_is_the_ledger_as_it_was_seen_last() -> None:
    session = live()
    assert KIND.summary(session) is None, "nothing was seen yet"
    session.look(1000.0)
    summary = KIND.summary(session)
    assert summary is not None
    assert summary.startswith("fed 62 = published 43")


def test_what_others_run_does_not_end_with_the_console() -> None:
    session = live()
    session.look(1000.0)
    session.lab.demonstration = False
    assert "drivers of" in KIND.ends(session)[0]
    session.lab.watches = True
    assert KIND.ends(session) == []
