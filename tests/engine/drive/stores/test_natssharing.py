"""Brokers that share a backlog hear of each other, and see how its queue is; junk that somebody says is no broker."""

from __future__ import annotations

from contextlib import closing
from itertools import count

from engine.core import Shared, Store, Told
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.natslink import Ask
from tests.engine.drive.stores.test_natsending import opened
from tests.engine.drive.stores.test_sqlite import put
from tests.helpers.processes import until

_numbers = count(1)


def work(store: JetStream, workers: int, slots: int) -> None:
    store.perform([Store(next(_numbers), [], [], [], 0, crew=(workers, slots))])


def newest(told: list[Told]) -> Shared | None:
    return next((one.shared for one in reversed(told) if one.shared is not None), None)


def test_each_tells_its_workers_and_leases_and_all_see_the_queue(backlog: str) -> None:
    with opened(backlog) as (one, told), opened(backlog) as (two, others), closing(JetStream(backlog)) as looks:
        put(one, 1, 2, 3, lease=1)
        work(one, 2, 20)
        work(two, 3, 15)
        said = [Ask(f"{one.streams.name}.here", junk) for junk in (b"", b"junk", b"\x95\1\1\1\1\1")]
        one.link.run(one.link.say(said))
        assert looks.counts().waiting == 2  # it looks, and is no broker

        def seen(told: list[Told]) -> bool:
            crews = sorted((each.workers, each.slots, each.leased) for each in getattr(newest(told), "brokers", ()))
            return crews == [(2, 20, 1), (3, 15, 0)]

        until(lambda: seen(told) and seen(others), "that both know both")
        shared = newest(others)
        assert shared is not None and shared.place == two.name and shared.leader and not shared.behind
        assert (shared.waiting, shared.leased, shared.redelivered, shared.dead, shared.copies) == (2, 1, 0, 0, 1)
        assert 0 < shared.used < shared.room == 2**30
        two.kill()
        until(lambda: len(getattr(newest(told), "brokers", ())) == 1, "that it is gone")
