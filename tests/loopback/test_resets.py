"""Connections of real sockets that are reset, two workers of one name: round robin, each role on a node of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine.drive.node import Node
from engine.drive.sockets import make_context
from engine.feed import Fact, Feed
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView, ClientView
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin.options import Options
from tests.chaos.proxy import Proxy
from tests.helpers.processes import free_endpoint, until

QUICK = Options(heartbeat=0.2, expiry=0.6)


class House:
    """A broker, workers and a client; everybody's node is stopped behind it."""

    def __init__(self) -> None:
        self.context, self.feed = make_context(), Feed()
        self.nodes: dict[str, Node] = {}

    def seat(self, name: str, seat: Any) -> None:
        node = self.nodes[name] = Node(name, self.context, self.feed)
        node.start()
        node.seat(name, seat).result()

    @property
    def broker(self) -> BrokerView:
        view: BrokerView = self.nodes["broker"].ask("broker").result()
        return view

    @property
    def client(self) -> ClientView:
        view: ClientView = self.nodes["client"].ask("client").result()
        return view

    def said(self) -> list[Fact]:
        return self.feed.since(0)[0]

    def close(self) -> None:
        ended = [node.stop() for node in self.nodes.values()]
        assert all(ended)
        assert not [node.dead for node in self.nodes.values() if node.dead]
        self.context.term()


@pytest.fixture
def house() -> Iterator[House]:
    one = House()
    yield one
    one.close()


@pytest.mark.parametrize("packed", [True, False])
def test_six_resets_on_four_workers_lose_none_of_ten_thousand(house: House, packed: bool) -> None:
    """940 were lost: each worker that was reset ran 0 tasks, and held 10 for the broker until their deadline."""
    endpoint, options = free_endpoint(), replace(QUICK, packed=packed)
    house.seat("broker", SYSTEM.broker(options, [endpoint]))
    with Proxy() as proxy:
        lines = [proxy.link(endpoint, seed) for seed in range(4)]
        for number, line in enumerate(lines, 1):
            house.seat(f"w{number}", SYSTEM.worker(options, line.endpoint, number, 10))
        house.seat("client", SYSTEM.client(options, endpoint, 99))
        until(lambda: len(house.broker.workers) == 4 and house.client.linked)
        house.nodes["client"].order("client", BulkSpec("ping", 10_000, in_flight=100, timeout=10.0))
        for number in range(6):
            seen = 1_200 * (number + 1)
            until(lambda seen=seen: house.client.run.ledger.succeeded >= seen)  # type: ignore[misc, union-attr]
            lines[number % 4].close(reset=True)
        until(lambda: house.client.run.state == "ended")  # type: ignore[union-attr]
        run = house.client.run
        assert run is not None and run.passed and run.ledger.succeeded == 10_000
        until(lambda: [row.free for row in house.broker.workers] == [10] * 4, "all slots of all workers")
        assert house.broker.ledger.balanced and house.broker.ledger.in_flight == 0


def test_two_live_workers_of_one_name_end_as_two(house: House) -> None:
    endpoint = free_endpoint()
    house.seat("broker", SYSTEM.broker(QUICK, [endpoint]))
    for name in ("older", "newer"):
        house.seat(name, SYSTEM.worker(QUICK, endpoint, 1, 10))
        until(lambda name=name: house.nodes[name].ask(name).result().joined)  # type: ignore[misc]
    taken = "another live peer has this name"
    until(lambda: [note for note in house.said() if taken in note.text], "the older one finds out")
    until(lambda: len([row for row in house.broker.workers if row.state == "ready"]) == 2, "two workers")
    assert len([note for note in house.said() if taken in note.text]) == 1
    assert dict(house.broker.counters)["takeovers"] >= 1
    assert [note for note in house.said() if "a second live connection took its id over" in note.text]
