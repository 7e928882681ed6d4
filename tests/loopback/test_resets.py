"""Connections of real sockets that are reset or end with their broker, two workers of one name; a node a role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.drive.node import Node
from engine.drive.sockets import make_context
from engine.feed import Fact, Feed
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView, ClientView
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin.options import Options
from tests.chaos.proxy import Proxy
from tests.helpers.processes import WAIT, free_endpoint, until

QUICK = Options(heartbeat=0.2, expiry=2.0)  # a busy machine may hold a worker up for a second


class House:
    """A broker, workers and a client; everybody's node is stopped behind it."""

    def __init__(self) -> None:
        self.context, self.feed = make_context(), Feed()
        self.nodes: dict[str, Node] = {}

    def seat(self, name: str, seat: Any) -> None:
        node = self.nodes[name] = Node(name, self.context, self.feed)
        node.start()
        node.seat(name, seat).result()

    def seat_again(self, name: str, make: Callable[[], Any]) -> None:
        """Once its endpoint is free: libzmq closes a socket a moment after it was told to."""

        def seated() -> bool:
            try:
                self.seat(name, make())
            except zmq.ZMQError as error:
                if error.errno != zmq.EADDRINUSE:
                    raise
                self.nodes[name].stop()
                return False
            return True

        until(seated, f"a {name} at the old endpoint")

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
        house.nodes["client"].order("client", BulkSpec("ping", 10_000, in_flight=100, timeout=WAIT))
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


PATIENT: dict[str, dict[str, float]] = {  # silence tells nothing for five minutes at least
    "roundrobin": {"heartbeat": 300.0, "expiry": 900.0},
    "pingpong": {"ping_every": 300.0, "broker_timeout": 900.0, "worker_expiry": 900.0, "probe_deadline": 900.0},
    "conversation": {"heartbeat": 0.2, "expiry": 900.0},  # begins anew a heartbeat after the broker's ERROR(broken)
    "negotiated": {"heartbeat": 300.0},
}


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("name", PATIENT)
def test_a_broker_that_restarts_at_once_gets_its_worker_back(
    house: House, name: str, transport: str, tmp_path: Path
) -> None:
    """It was away for less than 2 s, so nobody missed a PONG, and its worker never joined again (45 s watched)."""
    system = SYSTEMS[name]
    options = system.options(**PATIENT[name])
    wall: dict[str, Any] = {"wall_offset": 0.0} if system.wall else {}
    saved: dict[str, Any] = {"saved": None} if system.wall else {}
    endpoint = free_endpoint() if transport == "tcp" else f"ipc://{tmp_path}/b"
    house.seat("broker", system.broker(options, [endpoint], **wall))
    house.seat("worker", system.worker(options, endpoint, 1, 4, **wall, **saved))
    until(lambda: house.nodes["worker"].ask("worker").result().joined)
    assert house.nodes["broker"].stop()
    house.seat_again("broker", lambda: system.broker(options, [endpoint], **wall))
    until(lambda: [row.state for row in house.broker.workers] == ["ready"], "the worker's return")
    until(lambda: house.nodes["worker"].ask("worker").result().joined)
