"""One worker as the broker knows it."""

from __future__ import annotations

import pytest

from engine.core import MAIN, Note, Send
from engine.protocols.conversation import header, links
from engine.protocols.conversation.job import JobTask
from engine.protocols.conversation.jobs import Jobs
from engine.protocols.conversation.links import STREAM, Link, Stopped, hang_up
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import array


def link() -> Link:
    return Link(b"k", b"p", "main", "name", 100, 1.0)


def task(slots: int = 1) -> JobTask:
    jobs = Jobs(Options())
    jobs.add(array("echo"), slots, b"c", 1, 1.0)
    found = jobs.next(slots, slots)
    assert found is not None
    return found


def test_free_is_what_is_not_used() -> None:
    """Ruling 5, on the broker's side."""
    one = link()
    one.max_nproc = 4
    held = task(3)
    assert one.hold(held) == 1 and one.free == 1
    one.max_nproc = 2
    assert one.free == 0
    one.yield_(held)
    assert one.free == 2 and not one.out
    one.shut = True
    assert one.free == 0


def test_the_counter_is_never_0() -> None:
    one = link()
    one.counter = links.WRAP
    assert one.hold(task()) == 1


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        (b"worker-1", "worker-1"),
        (b"\0\0\0\0\1", "0000000001"),
        (b"x" * 25, "78" * 12),
        ("é".encode(), "c3a9"),
        (b"a\n", "610a"),
    ],
)
def test_names(peer: bytes, name: str) -> None:
    assert links.name_of(peer) == name


def test_a_second_live_connection_of_its_id_is_told() -> None:
    one = link()
    told = [Note("warn", "name: its name was taken over by another connection while it was alive", b"k")]
    assert one.changed(True, lively=True) == told
    assert one.changed(True, lively=False) == []  # it was silent: its line was cut
    assert one.changed(False, lively=True) == [] == one.changed(True, lively=True)  # it is back


def test_a_conversation_ends_in_the_words_of_its_transport() -> None:
    assert hang_up(b"p", STREAM) == Send([b"p", b""], STREAM)
    assert hang_up(b"p", MAIN) == Send([b"p", header.OVER], MAIN)


def stopped(peer: bytes, left: int, socket: str = MAIN) -> Link:
    """A link whose worker came with 4 processors, of which so many are left."""
    one = Link(peer, peer, socket, "name", 100, 1.0)
    one.offered, one.max_nproc, one.doubt = 4, left, int(left < 4)
    return one


def test_who_was_stopped_and_comes_back_with_more_is_told_again_once() -> None:
    known = Stopped(6.0)
    known.ended(stopped(b"w", 1), left=False, now=10.0)
    assert known.excess(stopped(b"v", 4), 16.0) == 0
    assert known.excess(stopped(b"w", 4), 16.0) == 3
    assert known.excess(stopped(b"w", 4), 16.0) == 0
    known.ended(stopped(b"w", 1), left=False, now=10.0)
    assert known.excess(stopped(b"w", 1), 16.0) == 0  # the STOP had arrived


def test_who_left_or_was_never_stopped_or_came_over_plain_tcp_is_not_remembered() -> None:
    known = Stopped(6.0)
    for link, left in ((stopped(b"w", 0), True), (stopped(b"w", 4), False), (stopped(b"w", 1, STREAM), False)):
        known.ended(link, left, 10.0)
        assert known.excess(stopped(b"w", 4), 16.0) == 0


def test_so_many_that_were_stopped_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "REMEMBERED", 2)
    known = Stopped(6.0)
    for peer in (b"1", b"2", b"3"):
        known.ended(stopped(peer, 1), left=False, now=10.0)
    assert [known.excess(stopped(peer, 4), 16.0) for peer in (b"1", b"2", b"3")] == [0, 3, 3]


def test_who_comes_later_than_a_lost_conversation_takes_is_another_process() -> None:
    known = Stopped(6.0)
    known.ended(stopped(b"w", 0), left=False, now=10.0)
    assert known.excess(stopped(b"w", 4), 16.1) == 0
