"""Deaf twice, with a prompt answer between: the id is taken. Anything else is a line or a broker that fails."""

from __future__ import annotations

from engine.parts.taken import Taken

PATIENCE, HEARTBEAT = 6.0, 2.0


def deaf_once(heard_again: float) -> Taken:
    one = Taken(PATIENCE, HEARTBEAT)
    one.heard(0.0)
    assert not one.silent(6.0)
    one.heard(heard_again)
    return one


def test_deaf_twice_with_a_prompt_answer_between_is_taken() -> None:
    one = deaf_once(6.1)
    one.heard(11.0)
    assert one.silent(17.0)


def test_once_is_a_line_that_failed() -> None:
    one = deaf_once(6.1)
    for second in range(7, 100):
        one.heard(float(second))
    assert not one.silent(106.0)


def test_a_broker_that_did_not_run_answers_late() -> None:
    one = deaf_once(9.0)
    assert not one.silent(15.0)


def test_a_connection_that_was_never_answered_says_nothing() -> None:
    one = Taken(PATIENCE, HEARTBEAT)
    assert not any(one.silent(6.0 * n) for n in range(1, 10))


def test_a_connection_that_was_closed_is_no_takeover() -> None:
    one = deaf_once(6.1)
    one.disconnected()
    assert not one.silent(12.0)
    one.heard(12.1)
    assert not one.silent(18.1)


def test_a_patience_that_ends_before_the_first_heartbeat_tells_nothing() -> None:
    one = Taken(3.0, 3.0)
    for begun in range(0, 30, 3):
        one.heard(begun + 0.1)
        assert not one.silent(begun + 3.1)


def test_after_a_verdict_it_begins_anew() -> None:
    one = deaf_once(6.1)
    assert one.silent(12.1)
    one.heard(12.2)
    assert not one.silent(18.2)


def test_two_of_one_name_by_turns() -> None:
    """Each takes the id back after its patience; the one that had it first finds out, and the other keeps it."""
    older, newer = Taken(PATIENCE, HEARTBEAT), Taken(PATIENCE, HEARTBEAT)
    older.heard(0.0)
    newer.heard(1.0)  # it has come
    assert not older.silent(6.0)
    older.heard(6.1)
    newer_last = 5.0
    newer.heard(newer_last)
    assert not newer.silent(newer_last + PATIENCE)
    newer.heard(11.1)
    assert older.silent(10.1 + PATIENCE)
    newer.heard(13.0)
