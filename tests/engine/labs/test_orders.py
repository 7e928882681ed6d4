"""Orders go to the pool as they are; a read-only lab refuses those that stop anybody."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import Refused
from engine.labs.orders import PATIENCE, WorkerOrders
from engine.parts.bulk import BulkView
from tests.helpers.fake_lab import FakeLab


class Pool:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, word: str) -> Any:
        return lambda *given: self.told.append((word, *given))


class Orders(WorkerOrders, FakeLab):
    """A lab whose orders go to a pool and a client."""

    def run_view(self) -> BulkView | None:
        return None

    def _tell_client(self, order: object) -> None:
        self.orders.append(("client", order))


def orders(readonly: bool) -> tuple[WorkerOrders, list[tuple[Any, ...]]]:
    lab, pool = Orders(), Pool()
    lab.readonly = readonly
    lab._pool = pool  # type: ignore[assignment]
    return lab, pool.told


def test_every_order_reaches_the_pool() -> None:
    lab, told = orders(readonly=False)
    lab.register()
    lab.bulk(7)
    lab.add_workers(2)
    lab.remove_workers(1)
    lab.endbulk()
    lab.deregister()
    assert told == [
        ("register", PATIENCE),
        ("bulk", 7, PATIENCE),
        ("add", 2, PATIENCE),
        ("remove", 1),
        ("endbulk",),
        ("deregister",),
    ]


def test_read_only_starts_and_stops_nobody() -> None:
    lab, told = orders(readonly=True)
    starts = (lab.register, lab.bulk, lambda: lab.add_workers(1))
    for order in (*starts, lab.deregister, lab.endbulk, lambda: lab.remove_workers(1)):
        with pytest.raises(Refused, match="readonly is set"):
            order()
    assert told == []


def test_the_client_is_told_what_is_its_own_and_no_run_is_stopped_twice() -> None:
    lab, _ = orders(readonly=False)
    lab.order_client("ask")
    lab.order_client("act", "acting")
    assert lab.orders == [("client", "ask"), ("client", "act")]  # type: ignore[attr-defined]
    with pytest.raises(Refused, match="no run is going on"):
        lab.stop_run()
    lab.readonly = True
    lab.order_client("ask")
    for order in (lab.stop_run, lambda: lab.order_client("act", "acting")):
        with pytest.raises(Refused, match="readonly is set"):
            order()
