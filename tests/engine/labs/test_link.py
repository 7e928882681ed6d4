"""The connection to another process over a real control socket; the other side is a fake lab in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.drive.control.found import Found
from engine.drive.control.server import Control, Said, Word, listening
from engine.errors import Refused
from engine.labs import link as module
from engine.labs.controlsession import BrokerControlSession
from engine.labs.remote import Remote
from engine.parts.bulk import BulkSpec
from tests.helpers.fake_lab import FakeLab
from tests.helpers.processes import WAIT, until

ROUND = SYSTEMS["roundrobin"]


class There:
    """The other process."""

    def __init__(self, folder: Path) -> None:
        self.at = folder / "control" / "x"
        self.found = Found(self.at, "roundrobin", "broker", (), 1)
        self.lab = FakeLab(3)
        self._stack = ExitStack()
        self.start()

    def start(self, **words: Word) -> None:
        """Open its socket."""
        self._desk = BrokerControlSession(self.lab, "broker", dict)
        told = {**self._desk.words, **words}
        self.control = self._stack.enter_context(listening(lambda note: None, self.at, {}, told))
        assert isinstance(self.control, Control)

    def stop(self) -> None:
        """Close it."""
        self._desk.close()
        self._stack.close()


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[There]:
    monkeypatch.setattr(module, "HERTZ", 20)
    monkeypatch.setattr(module, "STALE", WAIT)
    monkeypatch.setattr(module, "PATIENCE", WAIT)
    made = There(tmp_path)
    yield made
    made.stop()


def said(lab: Remote, words: str) -> Callable[[], bool]:
    return lambda: any(words in fact.text for fact in lab.feed.since(0)[0])


def test_it_shows_what_the_other_shows_and_goes_on(there: There) -> None:
    there.lab.seats[there.lab.workers[0].key] = "worker-1"
    with Remote(there.found, ROUND) as lab:
        assert lab.mode == "remote" and lab.feed.picture("broker") == there.lab.feed.picture("broker")
        assert lab.endpoints == there.lab.endpoints and lab.seat_of(there.lab.workers[0].key) == "worker-1"
        assert lab.health() == there.lab.health() and lab.stale == 0.0 and lab.runs() == []
        there.lab.replace(0, done=9_000_000)
        there.lab.publish()
        there.lab.fact("a fact of there")
        until(lambda: lab.feed.picture("broker") == there.lab.feed.picture("broker"))
        until(said(lab, "a fact of there"))


def test_the_history_of_the_other_side_is_there_with_the_first_pictures(there: There) -> None:
    with Remote(there.found, ROUND) as lab:
        assert lab.minutes() == b"", "it knows no such word"
    there.stop()
    there.start(minutes=lambda fields: ("minutes", {"Data": b"as the file is"}))
    with Remote(there.found, ROUND) as lab:
        assert lab.minutes() == b"as the file is"


def test_orders_are_carried_there_and_refused_in_its_words(there: There) -> None:
    with Remote(there.found, ROUND) as lab:
        spec = BulkSpec("ping", 10)
        lab.run(spec)
        lab.stop_worker(b"key")
        assert there.lab.orders == [("run", spec), ("stop_worker", b"key")]
        there.lab.refusal = "not now"
        with pytest.raises(Refused, match="not now"):
            lab.stop_run()


def test_a_viewer_may_be_read_only_and_a_read_only_lab_is_one(there: There) -> None:
    with Remote(there.found, ROUND, readonly=True) as lab:
        with pytest.raises(Refused, match="the order add workers is refused: readonly is set"):
            lab.add_workers(1)
        lab.inspect(None)
    there.lab.readonly = True
    with Remote(there.found, ROUND) as lab:
        until(lambda: lab.readonly)
    assert there.lab.orders == [] or there.lab.orders == [("inspect", None)]


def test_it_comes_back_by_itself_and_says_what_it_missed(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STALE", 0.3)
    with Remote(there.found, ROUND) as lab:
        there.stop()
        until(lambda: lab.stale)
        before = lab.feed.picture("broker")  # not earlier: one more may have been on its way
        until(said(lab, "x does not answer: what is shown is what was heard last"))
        assert before.workers and lab.feed.picture("broker") is before
        with pytest.raises(Refused, match="x is not there"):
            lab.add_workers(1)
        there.lab = FakeLab(5)
        there.lab.fact("a fact of another")
        there.start()
        until(said(lab, "x was started anew; it was away for"))
        until(said(lab, "a fact of another"))
        until(lambda: len(lab.feed.picture("broker").workers) == 5)
        until(lambda: not lab.stale)


def test_events_that_were_missed_are_a_gap(there: There) -> None:
    with Remote(there.found, ROUND) as lab:
        until(lambda: lab._link._facts)
        there.lab.feed.fact(Note("info", "before"), "broker", 1.0)
        until(said(lab, "before"))
        for number in range(2500):
            there.lab.fact(f"flood {number}")
        until(said(lab, "flood 2499"))
        facts, _ = lab.feed.since(0)
        assert facts[-1].number > lab._link._facts - 10 and len(facts) == 2000, (
            "the hole is where it was, and then some"
        )
        assert lab.feed.since(facts[0].number - 700)[1] > 0


def test_who_does_not_answer_or_not_in_words_is_not_attached_to(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    there.stop()
    with pytest.raises(Refused, match="nothing of this user is called x"):
        Remote(there.found, ROUND).open()
    there.start(look=lambda fields: ("dances", {}))
    with pytest.raises(Refused, match="x tells what can not be read: dances"):
        Remote(there.found, ROUND).open()


def test_what_can_not_be_read_is_said_once_and_changes_nothing(there: There, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HERTZ", 50)
    wrongs: list[dict[str, Any]] = [{"Up": "x"}, {"Facts": [[1]]}, {"Data": b"junk"}, {"Dead": 5}, {"Lag": None}]
    with Remote(there.found, ROUND) as lab:
        there.stop()
        session, asked = BrokerControlSession(there.lab, "broker", dict), 0

        def look(fields: dict[str, Any]) -> Said:
            nonlocal asked
            asked += 1
            word, told = session.words["look"](fields)  # type: ignore[misc]
            return word, {**told, "Pages": 1, **wrongs[asked // 4 % len(wrongs)]}

        there.start(look=look)
        until(lambda: asked > 4 * len(wrongs))
        told = [fact.text for fact in lab.feed.since(0)[0] if "can not be read" in fact.text]
        assert 3 <= len(told) <= 10 and len(lab.feed.picture("broker").workers) == 3 and lab.health().dead == ()
        session.close()


def test_another_version_is_said(there: There) -> None:
    with Remote(there.found, ROUND) as lab:
        for _ in range(2):
            lab._link._answered("version 9 is not spoken here")
        assert [fact.text for fact in lab.feed.since(0)[0]].count("version 9 is not spoken here") == 1
