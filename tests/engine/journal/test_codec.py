"""Values to the tape and back; nothing but values from a stranger's tape."""

from __future__ import annotations

from typing import Any

import pytest

from engine import core
from engine.core import Connected, Disconnected, Event, Finished, Ordered, Paused, Received, Started, Unsent, Woken
from engine.journal.codec import Codec, Unreadable, kept
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Drain, Inspect, StopRun, Withdraw
from engine.protocols import conversation, diskqueue, negotiated, roundrobin
from engine.protocols.conversation.frontend import StopWorkers
from engine.protocols.diskqueue import books, operations, watchdog

EVENTS: list[Event] = [
    Started(),
    Received([[b"w1", b"", b"x"], [b"w2"]], "frontend"),
    Woken(),
    Unsent([b"w1", b"x"], "full", "main"),
    Finished((b"w", 7), True, b"done"),
    Ordered(BulkSpec("data", 100, 1024, rate=10.0)),
    Ordered(Inspect(None)),
    Ordered(Drain(b"w1")),
    Ordered(Withdraw(b"c1")),
    Ordered(StopRun()),
    Paused(2.5),
    Connected("frontend", b"w1"),
    Disconnected(),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    tape = Codec(roundrobin)
    again = tape.value(tape.plain(event))
    assert again == event
    assert type(again) is type(event)


def test_the_orders_of_a_system_are_its_own() -> None:
    assert Codec(negotiated).value(Codec(negotiated).plain(Ordered(negotiated.HandBack()))) == Ordered(
        negotiated.HandBack()
    )
    order = Ordered(StopWorkers(2))
    assert Codec(conversation).value(Codec(conversation).plain(order)) == order
    with pytest.raises(TypeError, match="StopWorkers"):
        Codec(roundrobin).plain(order)


@pytest.mark.parametrize("value", [object(), {1: 2}, {1}, lambda: None])
def test_what_is_no_plain_value_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        Codec(roundrobin).plain(Ordered(value))


@pytest.mark.parametrize(
    "plain",
    [[], ["x"], ["\x00"], ["\x00", 1], ["\x00", "os.system", "true"], ["\x00", "Popen"], ["\x00", "Drain"], [1, 2, 3]],
)
def test_a_strangers_tape_makes_nothing_else(plain: list[Any]) -> None:
    with pytest.raises(Unreadable):
        Codec(roundrobin).value(plain)


def test_a_kept_event_does_not_change_when_the_core_takes_the_message_apart() -> None:
    event = Received([[b"w1", b"", b"x"]])
    same = kept(event)
    event.messages[0].pop()
    assert same == Received([[b"w1", b"", b"x"]])


def test_two_modules_of_one_word_are_told_apart() -> None:
    tape = Codec(diskqueue)
    for value in (books.Entry(1, 2, 3, 4), operations.Entry("a.ready", 5, 6)):
        again = tape.value(tape.plain(value))
        assert again == value and type(again) is type(value)


def test_a_word_of_the_contract_that_a_system_uses_in_its_own_sense_stays_the_systems() -> None:
    """Recordings from before the contract had the word hold the system's."""
    theirs = operations.Process("a", 1, "a.working", "a.done")
    tape = Codec(diskqueue)
    assert tape.plain(theirs) == ["\x00", "Process", "a", 1, "a.working", "a.done"]
    assert tape.value(tape.plain(theirs)) == theirs
    ours = core.Process("work", "1", "a", "b", "c")
    assert tape.value(tape.plain(ours)) == ours and Codec(conversation).plain(ours)[1] == "Process"


def test_a_body_is_told_in_a_checksum_as_it_was_before_it_came_into_the_contract() -> None:
    body = core.Process("work", "1", "a", "b", "c")
    words = "Process(command='work', argument='1', cwd='a', log_dir='b', log_name='c')"
    assert repr(core.Start((1, 1), body)) == f"Start(key=(1, 1), body={words})"


ROWS = tuple(operations.Entry(f"{number}.ready", number, 7) for number in range(3))


def test_many_records_of_one_class_stand_as_columns() -> None:
    tape = Codec(diskqueue)
    listing = operations.Done(operations.List("/q"), entries=ROWS)
    columns = tape.plain(listing)[5]
    assert columns[1] == "*" and columns[3:] == [["0.ready", "1.ready", "2.ready"], [0, 1, 2], [7, 7, 7]]
    again = tape.value(tape.plain(listing))
    assert again == listing and {*map(type, again.entries)} == {operations.Entry}
    for odd in ((*ROWS, 5), (operations.Entry("a", 1, (2,)), *ROWS), ((1, 2), (3, 4))):  # type: ignore[arg-type]
        assert tape.value(tape.plain(odd)) == odd


ENTRY = "operations.Entry"


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [ENTRY, [1]],
        [ENTRY, [1], [2], [3], [4]],
        [ENTRY, [1], [2, 2], [3]],
        [ENTRY, 5, 5, 5],
        [ENTRY, [[]], [1], [1]],
        [[ENTRY], [1]],
        ["Nobody", [1]],
        ["DriverConfig", [1]],
    ],
)
def test_columns_of_a_stranger_make_nothing_else(columns: list[Any]) -> None:
    with pytest.raises(Unreadable):
        Codec(diskqueue).value(["\x00", "*", *columns])


def test_sets_that_do_not_change_come_back() -> None:
    tape = Codec(diskqueue)
    looked = watchdog.Looked(frozenset({"b", "a"}), ())
    assert tape.plain(looked)[2][1:] == ["{}", "a", "b"]
    assert tape.value(tape.plain(looked)) == looked
    with pytest.raises(Unreadable):
        tape.value(["\x00", "{}", ["\x00", "[]"]])
