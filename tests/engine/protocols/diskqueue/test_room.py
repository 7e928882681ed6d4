"""Whether a destination has room, counted as the original does, and told once."""

from __future__ import annotations

from engine.protocols.diskqueue.operations import Done, Entry, List
from engine.protocols.diskqueue.room import Room, fullness
from engine.sim.driver import config


def asked(room: Room, *entries: Entry) -> str:
    steps = room.full()
    try:
        listing = next(steps)
        assert listing == List("dst")
        steps.send(Done(listing, entries=entries))
    except StopIteration as end:
        found: str = end.value
        return found
    raise AssertionError("it asks for more")


def test_fullness_counts_what_the_original_counts() -> None:
    listed = ("a.ready", "b.1.writing.xml", "c.failed", "d.1.working", "e.failed_twice", "done", ".x.attempts")
    assert fullness(tuple(Entry(name, 0, 10) for name in listed)) == (3, 30)


def test_a_full_destination_is_named_once_and_so_is_its_end() -> None:
    room = Room(config("src", "dst", "1", max_files=2, max_bytes=50))
    two = Entry("a.ready", 0, 1), Entry("b.failed", 0, 1)
    told = [room.news(asked(room, *found)) for found in (two[:1], two, two, two[:1], (Entry("c.ready", 0, 50),))]
    assert told == [
        "",
        "waits: dst is full, 2 of 2 documents",
        "",
        "goes on: dst has room again",
        "waits: dst is full, 50 of 50 bytes",
    ]


def test_without_a_limit_nothing_is_listed() -> None:
    assert list(Room(config("src", "dst", "1")).full()) == []
