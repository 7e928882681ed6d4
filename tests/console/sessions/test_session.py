from __future__ import annotations

import pytest

from console.kinds import kind_of, session_of
from console.sessions.session import at_once
from engine.errors import Refused
from tests.helpers.fake_lab import FakeLab


def test_an_order_to_a_lab_of_this_thread_is_done_when_it_returns() -> None:
    asked: list[object] = []
    assert at_once("lab")(asked.append).result() is None
    assert asked == ["lab"]


def test_a_refusal_is_in_the_future_and_nowhere_else() -> None:
    def refuse(_: object) -> None:
        raise Refused("not now")

    with pytest.raises(Refused, match="not now"):
        at_once("lab")(refuse).result()


def test_a_session_keeps_what_was_seen() -> None:
    lab = FakeLab(4)
    session, kind = session_of("roundrobin", lab), kind_of(lab.system)
    assert kind.ink(session) == "label", "nothing was seen yet"
    picture = session.look(lab.at)
    assert session.picture is picture
    assert len(picture.rows) == 4
    lab.advance(0.25)
    assert len(session.look(lab.at).backlog) == 2
    assert kind.ink(session) == "good"
    summary = kind.summary(session)
    assert summary is not None
    assert summary.startswith("bulkping 100,000: not finished")


def test_a_session_without_a_run_has_no_summary() -> None:
    lab = FakeLab(1, busy=False)
    assert kind_of(lab.system).summary(session_of("roundrobin", lab)) is None
