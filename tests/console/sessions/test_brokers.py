from __future__ import annotations

from console.kinds import kind_of
from console.sessions.brokers import BrokerSession
from console.sessions.session import at_once
from tests.helpers.fake_lab import FakeLab


def session_of(lab: FakeLab) -> BrokerSession:
    return BrokerSession("roundrobin", lab, at_once(lab))


def test_a_session_keeps_what_was_seen() -> None:
    lab = FakeLab(4)
    session, kind = session_of(lab), kind_of(lab.system)
    assert kind.ink(session) == "label", "nothing was seen yet"
    picture = session.look(lab.at)
    assert session.picture is picture
    assert len(picture.rows) == 4
    assert session.busy
    lab.advance(0.25)
    assert len(session.look(lab.at).backlog) == 2
    assert kind.ink(session) == "good"
    summary = kind.summary(session)
    assert summary is not None
    assert summary.startswith("bulkping 100,000: not finished")


def test_a_session_without_a_run_has_no_summary() -> None:
    lab = FakeLab(1, busy=False)
    assert kind_of(lab.system).summary(session_of(lab)) is None
