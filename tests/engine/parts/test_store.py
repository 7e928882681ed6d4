"""The reference store, judged; and that the judge sees what is wrong with others."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.core import Ended, Entry, Outcome, Store
from engine.parts.store import KEPT, Counts, Keeps, Memory, Unavailable
from tests.helpers.storemodel import Crash, Judge

SEEDS = range(40)
UNIQUE = bytes(16)


def dies(store: Keeps, commands: list[Store], random: Random) -> Crash:
    """Before or behind the commands: there is nothing between."""
    assert isinstance(store, Memory)
    done = random.random() < 0.5
    if done:
        store.perform(commands)
    store.reopen()
    return Crash(store, done)


def entry(ident: bytes = UNIQUE) -> Entry:
    return Entry(b"c", [b"\x04", ident, b"\x01"])


def test_it_does_what_it_is_asked_for() -> None:
    for seed in SEEDS:
        Judge(Memory(), dies, Random(seed)).play()


class Forgets(Memory):
    def reopen(self) -> None:
        self.epoch += 1


class Reuses(Memory):
    def reopen(self) -> None:
        super().reopen()
        self.epoch = 1


class Unfenced(Memory):
    def _mine(self, token: int) -> Any:
        return self._rows.get(token & (1 << 40) - 1)


class Doubles(Memory):
    def _put(self, entry: Entry) -> Any:
        self._ids.pop(entry.message[1], None)
        return super()._put(entry)


@pytest.mark.parametrize("wrong", [Forgets, Reuses, Unfenced, Doubles])
def test_the_judge_sees_what_is_wrong(wrong: type[Memory]) -> None:
    def caught(seed: int) -> bool:
        try:
            Judge(wrong(), dies, Random(seed)).play()
        except (AssertionError, KeyError):
            return True
        return False

    assert any(map(caught, SEEDS))


def test_what_has_no_room_is_refused_and_the_rest_is_done() -> None:
    store = Memory(room=2)
    (first,) = store.perform([Store(1, [], [], [entry(b"a"), entry(b"b")], 1)])
    assert not first.refused and first.fates == [None, None]
    ended = [Ended(first.leased[0].token, Outcome(""))]
    (full,) = store.perform([Store(2, ended, [], [entry(b"c"), entry(b"d")], 0)])
    assert full.refused == "the store is full: it holds 2 tasks" and full.fates == [] == full.fenced
    assert store.counts() == Counts(2, 1, (), 1, 0, 0)


def test_a_global_id_is_one_task_and_its_outcome_is_kept_for_a_time() -> None:
    store = Memory(results=1)
    (first,) = store.perform([Store(1, [], [], [entry(), entry()], 5)])
    assert first.fates == [None, KEPT] and store.result(UNIQUE) == KEPT
    done = Outcome("", b"data", b"w")
    store.perform([Store(2, [Ended(first.leased[0].token, done)], [], [], 0)])
    assert store.perform([Store(3, [], [], [entry()], 0)])[0].fates == [done]
    other = bytes(15) + b"1"
    (second,) = store.perform([Store(4, [], [], [entry(other)], 1)])
    store.perform([Store(5, [Ended(second.leased[0].token, done)], [], [], 0)])
    assert store.result(UNIQUE) is None and store.result(other) == done


def test_one_that_is_down_does_nothing() -> None:
    store = Memory()
    store.down = "away"
    with pytest.raises(Unavailable, match="away"):
        store.perform([Store(1, [], [], [entry()], 0)])
    assert store.counts() == Counts(0, 0, (), 0, 0, 0)


def test_a_dead_task_is_kept_for_an_operator_and_the_oldest_is_forgotten() -> None:
    store = Memory(dead=1)
    first, second = bytes(15) + b"1", bytes(15) + b"2"
    leased = store.perform([Store(1, [], [], [entry(first), entry(second)], 2)])[0].leased
    died = [Ended(one.token, Outcome("deadline")) for one in leased]
    assert store.perform([Store(2, died, [], [], 0)])[0].dead == 1
    answer = store.perform([Store(3, [], [], [], 1, (1, 2))])[0]
    assert (answer.revived, answer.dead, answer.leased[0].message[1]) == (1, 0, second)
    assert store.counts() == Counts(2, 0, (("deadline", 1),), 0, 1, 1, 0)
