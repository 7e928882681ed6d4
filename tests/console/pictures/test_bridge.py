from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from console.pictures.bridge import SETTLE, STUCK, Bridge, Picture, badge, trouble
from console.pictures.eventlog import EVENTS, Gap
from console.pictures.samples import HERTZ, SPAN
from engine.feed import Feed
from engine.labs.health import Health
from engine.parts.view import BrokerView, Kept, LedgerView
from tests.helpers.fake_lab import FakeLab, kept_run


def polls(bridge: Bridge, lab: FakeLab, n: int) -> Picture:
    for _ in range(n):
        lab.advance(1 / HERTZ)
        picture = bridge.poll(lab.at)
    return picture


def test_a_picture_holds_what_the_feed_holds() -> None:
    lab = FakeLab(16)
    picture = polls(Bridge(lab), lab, 20)
    assert picture.broker is lab.feed.pictures["broker"]
    assert len(picture.rows) == 16
    assert len(picture.backlog) == 20
    assert picture.rates.done > 1000
    assert picture.hertz == lab.feed.refresh == pytest.approx(HERTZ)
    assert picture.up == pytest.approx(lab.at - lab.started)
    assert picture.busy
    assert picture.failed == 61
    assert lab.orders == []


def test_the_backlog_is_kept_for_a_minute() -> None:
    lab = FakeLab(2)
    assert len(polls(Bridge(lab), lab, SPAN * HERTZ + 9).backlog) == SPAN * HERTZ


def test_the_backlog_that_came_and_went_between_two_looks_is_in_the_chart_once() -> None:
    lab = FakeLab(2, busy=False)
    bridge = Bridge(lab)
    polls(bridge, lab, 2)
    seen = lab.feed.pictures["broker"]
    lab.at += 1 / HERTZ
    lab.feed.show("broker", seen._replace(at=lab.at, peaks=((lab.at - 0.1, 1900), (lab.at - 0.05, 3))))
    picture = bridge.poll(lab.at)
    assert picture.broker is not None and picture.broker.backlog == 0
    assert picture.backlog[-1] == 1900
    lab.at += 1 / HERTZ
    assert bridge.poll(lab.at).backlog[-2:] == (1900, 0), "the same picture, looked at again"


def test_facts_come_once_and_gaps_are_seen() -> None:
    lab = FakeLab(1, busy=False)
    lab.feed = Feed(facts=3)
    bridge = Bridge(lab)
    lab.fact("one")
    assert [fact.text for fact in bridge.poll(1.0).events if not isinstance(fact, Gap)] == ["one"]
    before = bridge.poll(1.25).events
    assert bridge.poll(1.5).events is before
    for i in range(5):
        lab.fact(f"fact {i}")
    lines = bridge.poll(1.75).events
    assert lines[1] == Gap(2)
    assert len(lines) == 5


def test_facts_have_a_bound() -> None:
    lab = FakeLab(1, busy=False)
    bridge = Bridge(lab)
    for i in range(EVENTS + 50):
        lab.fact(str(i))
    assert len(bridge.poll(1.0).events) == EVENTS


def test_kept_runs_are_read_at_the_start_and_after_the_end_of_a_run() -> None:
    class Counting(FakeLab):
        reads = 0

        def runs(self) -> Sequence[Mapping[str, Any]]:
            self.reads += 1
            return super().runs()

    lab = Counting(16)
    bridge = Bridge(lab)
    polls(bridge, lab, 20)
    assert lab.reads == 1
    while lab.feed.pictures["client"].run.state != "ended":
        lab.advance(1 / HERTZ)
    lab.kept.append(kept_run(7))
    bridge.poll(lab.at)
    assert len(bridge.poll(lab.at).runs) == 3
    for _ in range(SETTLE):
        picture = bridge.poll(lab.at)
    assert len(picture.runs) == 4
    assert lab.reads == 2


def test_without_a_broker_the_run_is_what_is_shown() -> None:
    lab = FakeLab(16)
    del lab.feed._pictures["broker"]
    picture = Bridge(lab).poll(lab.at)
    assert picture.broker is None
    assert not picture.rows
    assert picture.ledger is lab.feed.pictures["client"].run.ledger


def test_the_unbalanced_books_are_shown_first() -> None:
    lab = FakeLab(16)
    picture = Bridge(lab).poll(lab.at)
    assert picture.client is not None and picture.run is not None
    wrong = LedgerView(9, 1, (), 0, 0, 0)
    run = picture.run._replace(ledger=wrong)
    assert picture._replace(client=picture.client._replace(run=run)).ledger is wrong


def broker_of(picture: Picture) -> BrokerView:
    assert picture.broker is not None
    return picture.broker


def test_the_state_of_everything_in_one_word() -> None:
    lab = FakeLab(10, busy=False)
    bridge = Bridge(lab)
    ready = polls(bridge, lab, 2)
    assert badge(ready, False) == ("READY", "good")
    assert badge(ready, True) == ("PAUSED", "warn")
    assert badge(ready._replace(rates=ready.rates._replace(sent=5.0)), False) == ("RUNNING", "good")
    assert badge(ready._replace(dead=("broker: ZMQError",)), False) == ("FAULT", "bad")
    assert badge(ready._replace(broker=None, client=None), False) == ("STARTING", "label")
    assert badge(ready._replace(tally=ready.tally._replace(states={"lost": 2})), False) == ("NO WORKERS", "bad")
    assert badge(ready._replace(tally=ready.tally._replace(states={"ready": 2, "late": 1})), False)[0] == "DEGRADED"
    unbalanced = broker_of(ready)._replace(ledger=LedgerView(5, 1, (), 0, 0, 0))
    assert badge(ready._replace(broker=unbalanced), False) == ("UNBALANCED", "bad")
    keeps = ready._replace(broker=broker_of(ready)._replace(kept=Kept(3, 0, "")))
    assert badge(keeps, False) == ("READY", "good")
    full = ready._replace(broker=broker_of(ready)._replace(kept=Kept(3, 0, "the disk is full")))
    assert badge(full, False) == ("REFUSING", "bad") and trouble(full) == "tasks are refused: the disk is full"


def test_work_that_stands_still_degrades_it_and_the_reason_is_said() -> None:
    lab = FakeLab(2, busy=False)
    bridge = Bridge(lab)
    assert trouble(polls(bridge, lab, 2)) == ""
    for place in (0, 1):
        lab.replace(place, in_flight=5, state="late")
    assert trouble(polls(bridge, lab, 2)) == "all 10 tasks with workers that are late or lost"
    lab.replace(0, state="ready")
    assert trouble(polls(bridge, lab, 2)) == "1 of 2 workers late or lost"
    for place in (0, 1):
        lab.replace(place, state="ready", in_flight=0, free=8)
    lab._backlog = 3
    polls(bridge, lab, 1)
    lab.advance(STUCK)
    assert trouble(bridge.poll(lab.at)).endswith("s although 16 slots free")
    assert badge(bridge.poll(lab.at), False) == ("DEGRADED", "warn")
    lab._done += 1
    assert trouble(polls(bridge, lab, 1)) == "", "one has ended"
    lab._backlog = 0
    busy = FakeLab(1)
    view = busy.feed.pictures["broker"]
    picture = Bridge(busy).poll(busy.at)._replace(stuck=4.0, broker=view._replace(backlog=0))
    assert trouble(picture) == "no answer for 4.0s, 256 in flight"


def test_a_dead_thread_and_lag_are_passed_on() -> None:
    lab = FakeLab(1)
    lab.state = Health(("broker: boom",), 0.25)
    picture = Bridge(lab).poll(lab.at)
    assert (picture.dead, picture.lag) == (("broker: boom",), 0.25)


def test_a_task_that_waits_for_an_empty_worker_is_named_though_slots_are_free() -> None:
    """R12: what a lost worker had is tried alone."""
    lab = FakeLab(2, busy=False)
    bridge = Bridge(lab)
    picture = polls(bridge, lab, 2)
    assert picture.broker is not None and badge(picture, False)[0] == "READY"
    waiting = picture._replace(broker=picture.broker._replace(backlog=1, apart=1))
    assert trouble(waiting) == f"1 task of lost workers waits for an empty one, {picture.tally.free} slots free"
    assert badge(waiting, False) == ("DEGRADED", "warn")
