"""Events as a screen has seen them."""

from __future__ import annotations

from console.pictures.eventlog import EVENTS, WORSE, EventLog, Gap, newest
from engine.core import Note
from engine.feed import Fact, Feed


def test_new_facts_come_once_and_nothing_new_is_the_same_object() -> None:
    feed = Feed()
    log = EventLog(feed)
    assert log.read() == ()
    feed.fact(Note("info", "one"), "lab", 1.0)
    first = log.read()
    assert log.read() is first
    feed.fact(Note("info", "two"), "lab", 2.0)
    assert [line.text for line in log.read() if not isinstance(line, Gap)] == ["one", "two"]


def test_what_came_too_fast_is_a_gap_and_the_whole_is_bounded() -> None:
    feed = Feed(facts=2)
    log = EventLog(feed)
    feed.fact(Note("info", "one"), "lab", 1.0)
    log.read()
    for number in range(5):
        feed.fact(Note("info", str(number)), "lab", 2.0)
    assert log.read()[1] == Gap(3)
    for number in range(EVENTS):
        feed.fact(Note("info", str(number)), "lab", 2.0)
        log.read()
    assert len(log.read()) == EVENTS


def test_a_flood_of_routine_does_not_push_out_what_is_bad_nor_the_other_way_round() -> None:
    lost = Fact(1, 0.0, "broker", "bad", "w1 lost", b"")
    joined = [Fact(2 + n, 1.0, "broker", "good", "joined", b"") for n in range(10_000)]
    kept = newest((lost, *joined))
    assert len(kept) == EVENTS and kept[0] is lost and kept[1:] == tuple(joined[-EVENTS + 1 :])
    worse = [lost._replace(number=20_000 + n) for n in range(10_000)]
    kept = newest((*joined, *worse))
    assert kept == (*joined[-(EVENTS - WORSE) :], *worse[-WORSE:])
    assert len(newest(tuple(worse))) == EVENTS == len(newest((*joined[:9], *worse)))
