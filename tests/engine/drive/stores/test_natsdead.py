"""Dead tasks of a shared backlog: listed, tried again once, and forgotten where another has been asked for."""

from __future__ import annotations

from contextlib import closing

from engine.core import Ended, Outcome, Store
from engine.drive.stores import natsdead
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.natsstreams import Lease
from tests.engine.drive.stores.test_natsending import opened
from tests.engine.drive.stores.test_sqlite import end, entry, put
from tests.helpers.processes import until


def revive(store: JetStream, *numbers: int) -> int:
    return store.perform([Store(9, [], [], [], 0, numbers)])[0].revived


def test_a_letter_is_found_by_its_reason_and_is_of_one_task() -> None:
    letter = natsdead.letter_of("x", Lease(7 << 20 | 2, b"k", "", b"o", b"c", [b"m"], 1), "deadline")
    assert letter.subject == natsdead.subject_of("x", "deadline") and natsdead.why_of(letter.subject) == "deadline"
    assert letter.headers == {"Nats-Msg-Id": "6b.7", "Roundhouse-Lost": "1", "Roundhouse-Tried": "2"}
    assert natsdead.why_of("x.dead.zz") == ""


def test_what_died_is_listed_and_tried_again_and_the_books_balance(backlog: str) -> None:
    with opened(backlog) as (store, _), opened(backlog) as (other, told):
        found = put(store, 1, 2, 3, lease=3).leased
        ended = [
            Ended(one.token, Outcome(why)) for one, why in zip(found, ("undeliverable", "deadline", "no"), strict=True)
        ]
        store.perform([Store(3, ended, [found[0].token], [], 0)])
        late, first = store.dead()
        assert (first.why, first.client, first.message, first.lost) == ("undeliverable", b"client", entry(1).message, 0)
        assert late.why == "deadline" and late.number > first.number and late.at >= first.at > 1e9
        assert store.counts()[1:] == (0, (("deadline", 1), ("no", 1), ("undeliverable", 1)), 0, 0, 3, 2)
        assert put(other, lease=1).leased == []
        told.clear()
        assert revive(store, first.number, 99) == 1 == revive(store, late.number)
        until(lambda: any(each.waiting for each in told), "that the other broker hears of it")
        assert store.dead() == [] and revive(store, first.number) == 0
        assert store.counts()[:5] == (3, 0, (("no", 1),), 2, 0) and store.counts().balanced
        assert put(store, 1).fates == ["kept"]
        one, two = put(other, lease=2).leased
        assert (one.message, one.lost, one.attempts) == (entry(1).message, 0, 0)
        assert end(other, one.token).fenced == [] and end(other, two.token, why="deadline").fenced == []
        assert store.counts()[:5] == (3, 1, (("deadline", 1), ("no", 1)), 0, 0)
        assert [one.why for one in store.dead()] == ["deadline"]


def test_one_that_was_asked_for_anew_is_forgotten_and_stays_in_the_books(backlog: str) -> None:
    with closing(JetStream(backlog)) as store:
        end(store, put(store, 1, lease=1).leased[0].token, why="deadline")
        (dead,) = store.dead()
        streams = store.streams
        purged = {"filter": f"{streams.name}.result.{entry(1).message[1].hex()}"}
        store.link.run(streams.api(f"STREAM.PURGE.{streams.results}", purged))  # as after a day
        assert put(store, 1).fates == [None]
        assert revive(store, dead.number) == 0 and store.dead() == []
        assert dict(store.counts().failed) == {"deadline": 1} and store.counts().waiting == 1


def test_who_dies_before_the_letter_is_deleted_has_lost_nothing(backlog: str) -> None:
    with closing(JetStream(backlog)) as store:
        end(store, put(store, 1, lease=1).leased[0].token, why="undeliverable")
        (dead,) = store.dead()
        api, streams = store.streams.api, store.streams

        async def dies(what: str, *asked: object, **more: object) -> object:
            if "MSG.DELETE" in what:
                raise RuntimeError("killed")
            return await api(what, *asked, **more)  # type: ignore[arg-type]

        streams.api = dies  # type: ignore[assignment,method-assign]
        try:
            revive(store, dead.number)
        except RuntimeError:
            streams.api = api  # type: ignore[method-assign]
        assert store.dead() == [dead] and revive(store, dead.number) == 1 and store.dead() == []
        assert store.counts()[:5] == (1, 0, (), 1, 0) and store.counts().balanced
