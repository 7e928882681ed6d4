"""Who was refused, as far as a monitor's words tell."""

from __future__ import annotations

from engine.drive.security.greetings import YOUNG, Greetings


def test_who_is_closed_without_a_word_was_refused() -> None:
    it = Greetings()
    it.accepted(7, 0.0)
    it.settle(0.0)
    assert it.refused == 0, "it may still greet"
    it.ended(7)
    it.settle(0.0)
    assert it.refused == 1


def test_who_greets_was_not_and_neither_was_who_went_by_itself() -> None:
    it = Greetings()
    it.accepted(7, 0.0)
    it.greeted()
    it.ended(7)
    it.accepted(8, 0.0)
    it.failed(refused=False)
    it.ended(8)
    it.accepted(9, 0.0)
    it.failed(refused=True)
    it.ended(9)
    it.settle(1.0)
    assert it.refused == 1, "the one that said what is no handshake"


def test_many_at_once_with_the_same_descriptors() -> None:
    it = Greetings()
    for n in range(1000):
        it.accepted(7, n / 1000)
        it.accepted(8, n / 1000)
        it.greeted()
        it.ended(7)
        it.settle(n / 1000)
        assert it.refused == n, "of two one has greeted, and one may be about to"
        it.ended(8)
        it.settle(n / 1000)
        assert it.refused == n + 1


def test_an_end_that_nobody_told_of_is_noticed_when_it_should_have_greeted_long_ago() -> None:
    it = Greetings()
    it.accepted(7, 0.0)
    it.settle(YOUNG)
    assert it.refused == 0
    it.settle(YOUNG + 0.1)
    assert it.refused == 1
