"""Pools by name on places that are none. With real sockets: test_liveworkers.py."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import count
from typing import Any

import pytest

from engine.core import Seat, Socket
from engine.errors import Refused
from engine.labs.pool import Pool
from engine.labs.pools import MOST, Kind, Pools
from engine.parts.orders import Leave


class Place:
    """A node that seats at once."""

    def __init__(self, name: str) -> None:
        self.name, self.here, self.orders = name, list[str](), list[tuple[str, object]]()

    def names(self) -> list[str]:
        return list(self.here)

    def seat(self, name: str, seat: Seat) -> Future[None]:
        self.here.append(name)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def order(self, name: str, order: object) -> None:
        if name in self.here:
            self.orders.append((name, order))
        if isinstance(order, Leave) and name in self.here:
            self.here.remove(name)


def made() -> tuple[Pools, dict[str, Place]]:
    places: dict[str, Place] = {}
    numbers = count(1)
    core: Any = None

    def pool(name: str, node: str, kind: Kind) -> Pool:
        place = places[node] = Place(node)
        return Pool(place, lambda seat: Seat(core, (Socket("dealer", routing_id=seat.encode()),)), numbers=numbers)

    return Pools(pool, Kind(10)), places


def test_workers_are_numbered_over_all_pools_and_each_has_its_place() -> None:
    pools, places = made()
    pools.add(1, 0.0)
    pools.bulk(2, 0.0)
    pools.bulk(2, 0.0, "slow", Kind(2, "tcp"))
    assert (places["pool"].here, places["pool.slow"].here) == (["worker-1", "worker-2"], ["worker-3", "worker-4"])
    assert pools.alive() == pools.names() == ["worker-1", "worker-2", "worker-3", "worker-4"]
    assert pools.kinds == {"": Kind(10), "slow": Kind(2, "tcp")}
    assert (pools.seat_of(b"worker-3"), pools.name_of(b"worker-3"), pools.name_of(b"worker-1")) == (
        "worker-3", "slow", "",
    )  # fmt: skip
    assert pools.name_of(b"stranger") is None and pools.seat_of(b"stranger") is None
    pools.order("worker-4", "go")
    assert places["pool.slow"].orders == [("worker-4", "go")] and places["pool"].orders == []
    assert pools.where()["worker-4"] == "pool.slow"


def test_endbulk_ends_the_pool_that_is_named_and_of_the_first_what_bulk_started() -> None:
    pools, _ = made()
    pools.add(1, 0.0)
    pools.bulk(2, 0.0)
    pools.bulk(1, 0.0, "slow")
    pools.endbulk("slow")
    assert pools.alive() == ["worker-1", "worker-2"]
    pools.endbulk()
    assert pools.alive() == ["worker-1"]
    with pytest.raises(Refused, match="no pool 'fast'; there are slow"):
        pools.endbulk("fast")


def test_a_pool_takes_another_kind_of_workers_only_when_it_has_none() -> None:
    pools, _ = made()
    pools.bulk(1, 0.0, "slow", Kind(2))
    with pytest.raises(Refused, match="workers of the pool slow have 2 slots: endbulk stops them first"):
        pools.bulk(2, 0.0, "slow", Kind(3))
    pools.bulk(2, 0.0, "slow")
    pools.endbulk("slow")
    pools.bulk(1, 0.0, "slow", Kind(3))
    assert pools.kinds["slow"] == Kind(3)


def test_names_are_words_and_pools_are_few() -> None:
    pools, _ = made()
    for name in ("A", "a b", "x" * 17, "9a"):
        with pytest.raises(Refused, match="no pool can have the name"):
            pools.bulk(1, 0.0, name)
    for n in range(MOST - 1):
        pools.bulk(1, 0.0, f"p{n}")
    with pytest.raises(Refused, match="16 pools at most"):
        pools.bulk(1, 0.0, "one-more")


def test_workers_that_go_where_the_lab_goes_are_renewed_and_the_main_one_stays_the_main_one() -> None:
    pools, places = made()
    pools.add(1, 0.0)
    pools.bulk(2, 0.0)
    pools.bulk(1, 0.0, "slow", Kind(2, "tcp"))
    pools.move(0.0)
    assert places["pool"].here == ["worker-4", "worker-5"] and places["pool.slow"].here == ["worker-3"]
    pools.deregister()
    assert places["pool"].here == ["worker-5"]
    pools.close(1.0)
    assert pools.names() == []
