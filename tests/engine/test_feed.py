from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.core import Note
from engine.feed import Feed


def test_facts_are_numbered_from_one_and_carry_their_source() -> None:
    feed = Feed()
    feed.fact(Note("bad", "lost", b"\x01"), "broker", 5.0)
    feed.fact(Note("info", "sent"), "client", 6.0)
    facts, lost = feed.since(0)
    assert [tuple(fact) for fact in facts] == [
        (1, 5.0, "broker", "bad", "lost", b"\x01"),
        (2, 6.0, "client", "info", "sent", b""),
    ]
    assert lost == 0
    assert feed.since(2) == ([], 0)


@given(st.integers(1, 10), st.lists(st.booleans(), max_size=60))
def test_a_reader_gets_every_fact_once_or_is_told_how_many_it_lost(bound: int, script: list[bool]) -> None:
    """True: a fact is written; False: the reader reads."""
    feed, last, lost, got, written = Feed(bound), 0, 0, list[int](), 0
    for write in [*script, False]:
        if write:
            written += 1
            feed.fact(Note("info", str(written)), "lab", 0.0)
            continue
        facts, gap = feed.since(last)
        assert len(facts) <= bound
        got += [fact.number for fact in facts]
        lost += gap
        last = got[-1] if got else 0
    assert got == sorted(set(got)) and all(1 <= number <= written for number in got)
    assert len(got) + lost == written


def test_a_picture_is_the_newest_of_its_node_and_looking_is_noted() -> None:
    feed, never = Feed(), float("-inf")
    feed.show("broker", 1)
    feed.show("broker", 2)
    feed.show("pool", 3)
    assert (feed.looked("broker"), feed.looked("pool")) == (never, never), "writing is not looking"
    assert (feed.picture("broker"), feed.picture("client")) == (2, None)
    assert feed.looked("broker") > never and feed.looked("client") > never and feed.looked("pool") == never
    assert feed.pictures == {"broker": 2, "pool": 3}
    assert feed.looked("pool") >= feed.looked("broker")


def test_numbers_that_are_known_to_be_missed_are_left_out() -> None:
    feed = Feed()
    for text in ("a", "b"):
        feed.fact(Note("info", text), "x", 1.0)
        feed.skip(5)
    feed.fact(Note("info", "c"), "x", 1.0)
    assert [fact.number for fact in feed.since(0)[0]] == [1, 7, 13] and feed.since(2)[1] == 4


def test_who_peeks_makes_nobody_draw() -> None:
    feed = Feed()
    feed.show("broker", 5)
    before = feed.looked("broker")
    assert feed.peek("broker") == 5 and feed.peek("x") is None and feed.looked("broker") == before


def test_what_nodes_spent_on_drawing_is_summed_up() -> None:
    feed = Feed()
    feed.show("broker", 1, 0.5)
    feed.show("broker", 2, 0.25)
    feed.show("pool", 3, 1.0)
    feed.show("client", 4)
    assert feed.spent == 1.75
