"""Tasks of a shared backlog end once: two brokers, late ends, ends that were not acknowledged, dead letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from engine.core import Ended, Leased, Outcome, Store, Told
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.natsending import Endings
from engine.drive.stores.natslink import Ask, Link
from tests.engine.drive.stores.test_sqlite import end, entry, put
from tests.helpers.processes import until

DONE = Outcome("", b"data", b"w")


@contextmanager
def opened(url: str, lease: float = 60.0) -> Iterator[tuple[JetStream, list[Told]]]:
    store, told = JetStream(url, lease=lease), list[Told]()
    store.listen(told.append)
    try:
        yield store, told
    finally:
        store.kill()


def outcomes(told: list[Told]) -> list[tuple[bytes, bytes, Outcome]]:
    return [one for each in told for one in each.ended]


def leased(store: JetStream) -> list[Leased]:
    """What comes by and by: a lease ends when its time is over."""
    found: list[Leased] = []

    def some() -> bool:
        found.extend(put(store, lease=9).leased)
        return bool(found)

    until(some, "a lease")
    return found


def test_the_broker_of_its_client_hears_how_a_task_ended_at_another(backlog: str) -> None:
    with opened(backlog) as (here, told), opened(backlog) as (there, _):
        assert put(here, 1).fates == [None] and put(there, 1).fates == ["kept"]
        (one,) = put(there, lease=5).leased
        assert one.far and one.client not in (b"client", b"") and one.message == entry(1).message
        there.perform([end_of(one, DONE)])
        until(lambda: outcomes(told), "the outcome")
        assert outcomes(told) == [(b"client", entry(1).message[1], DONE)]
        assert put(here, 1).fates == [DONE] == put(there, 1).fates
        assert here.counts()[:6] == (1, 1, (), 0, 0, 1) and here.results([entry(1).message[1]]).popitem()[1] == DONE


def end_of(one: Leased, outcome: Outcome) -> Any:
    return Store(5, [Ended(one.token, outcome)], [], [], 0)


def test_who_asked_elsewhere_finds_the_outcome_that_nobody_told(backlog: str) -> None:
    with opened(backlog) as (first, _), opened(backlog) as (second, told), opened(backlog) as (third, _):
        put(first, 1)
        assert put(second, 1).fates == ["kept"]
        first.kill()
        (one,) = put(third, lease=1).leased
        third.perform([end_of(one, DONE)])
        until(lambda: outcomes(told), "the outcome")
        assert outcomes(told) == [(b"client", entry(1).message[1], DONE)]


def test_a_lease_that_is_not_extended_is_anothers_and_the_late_end_is_fenced(
    backlog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say = Link.say

    async def mute(link: Link, said: Sequence[Ask]) -> bool:
        return await say(link, [one for one in said if one.payload != b"+WPI"])

    monkeypatch.setattr(Link, "say", mute)
    with opened(backlog, 0.5) as (late, told), opened(backlog, 0.5) as (other, _):
        (mine,) = put(late, 1, lease=1).leased
        (theirs,) = leased(other)
        assert (theirs.attempts, theirs.message) == (1, mine.message) and theirs.token != mine.token
        other.perform([end_of(theirs, DONE)])
        assert end(late, mine.token, why="deadline").fenced == [mine.token]
        until(lambda: outcomes(told), "the outcome")
        assert late.counts()[:6] == (1, 1, (), 0, 0, 1)


def test_who_got_all_it_asked_for_still_hears_that_a_dead_brokers_leases_may_be_back(backlog: str) -> None:
    with opened(backlog, 0.5) as (dies, _), opened(backlog, 0.5) as (lives, told):
        theirs = put(dies, 1, 2, 3, lease=2).leased
        mine = put(lives, lease=1).leased  # as many as were asked for, and then nothing is pending
        assert (len(theirs), len(mine)) == (2, 1)
        dies.kill()
        back: list[Leased] = []

        def came() -> bool:
            """As a broker with room: it asks when it is told that something waits, or when the answer said so."""
            asks = any(each.waiting for each in told)
            told.clear()
            while asks:
                answer = put(lives, lease=1)
                back.extend(answer.leased)
                asks = answer.waiting > 0
            return len(back) == 2

        until(came, "the dead broker's tasks")
        assert sorted(one.message[1] for one in mine + back) == [entry(n).message[1] for n in (1, 2, 3)]


def test_what_has_ended_and_was_not_acknowledged_is_not_done_again(
    backlog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(endings: Endings, leases: object) -> None:
        return

    with opened(backlog, 0.5) as (dies, _), opened(backlog, 0.5) as (lives, _):
        found = put(dies, 1, 2, lease=2).leased
        with monkeypatch.context() as patched:
            patched.setattr(Endings, "_acknowledge", nothing)
            dies.perform([end_of(found[0], Outcome("deadline"))])
        dies.kill()
        assert [one.message for one in leased(lives)] == [found[1].message]
        assert lives.counts()[:6] == (2, 0, (("deadline", 1),), 0, 1, 1)


def test_what_failed_is_a_dead_letter_and_lost_workers_are_counted_over_brokers(backlog: str) -> None:
    with opened(backlog, 0.5) as (first, _), opened(backlog, 0.5) as (second, _):
        found = put(first, 1, 2, lease=2).leased
        first.perform([Store(3, [Ended(found[0].token, Outcome("undeliverable"))], [found[1].token] * 2, [], 0)])
        first.kill()
        (again,) = leased(second)
        assert (again.lost, again.attempts) == (2, 1)
        assert second.counts()[:6] == (2, 0, (("undeliverable", 1),), 0, 1, 1)
