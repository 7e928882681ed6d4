"""Events as a screen has seen them."""

from __future__ import annotations

from console.pictures.eventlog import EVENTS, EventLog, Gap
from engine.core import Note
from engine.feed import Feed


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
