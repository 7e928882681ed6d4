"""Events as a screen has seen them."""

from __future__ import annotations

from console.pictures.eventlog import EVENTS, EventLog, Gap, newest
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


def test_a_flood_of_one_level_does_not_push_out_the_others() -> None:
    lost = Fact(1, 0.0, "broker", "bad", "w1 lost", b"")
    joined = [lost._replace(level="good", number=n) for n in range(10_000)]
    late = [lost._replace(level="warn", number=20_000 + n) for n in range(10_000)]
    kept = newest((lost, *joined))
    assert kept == (lost, *joined[-EVENTS + 1 :])
    kept = newest((lost, *joined, *late))
    assert kept == (lost, *joined[-500:], *late[-499:])
    assert newest((*joined[:9], *late, lost)) == (*joined[:9], *late[-EVENTS + 10 :], lost)
    assert newest((lost,) * EVENTS) == (lost,) * EVENTS
