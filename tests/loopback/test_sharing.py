"""Workers of one node by one tcp connection: what a broker makes of those that are killed, silent or cut off."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import psutil
import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.core import Socket
from engine.drive.node import Node
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from engine.drive.sharing import envelope
from engine.drive.sockets import Context, make_context, open_socket
from engine.feed import Feed
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Slow
from engine.parts.view import BrokerView
from engine.protocols.roundrobin import messages as wire
from tests.helpers.processes import WAIT, free_endpoint, until

MANY = 10
NEVER: dict[str, Any] = {"heartbeat": 1800.0, "expiry": 3600.0}  # seconds
QUICK: dict[str, Any] = {"heartbeat": 0.2, "expiry": 0.8}
SYSTEM = SYSTEMS["roundrobin"]


class Rig:
    """A broker, workers and a client, each on a node and in a context of its own."""

    def __init__(self) -> None:
        self.at = free_endpoint()
        self.feeds: dict[str, Feed] = {}
        self._nodes: dict[str, tuple[Node, Context]] = {}
        self._nonces = iter(range(1, 10**6))

    def node(self, name: str, curve: Curve | None = None) -> Node:
        """The node of this name."""
        if name not in self._nodes:
            feed = self.feeds[name] = Feed()
            context = make_context(lambda note: feed.fact(note, name, 0.0), curve=curve)
            node = Node(name, context, feed)
            node.start()
            self._nodes[name] = node, context
        return self._nodes[name][0]

    def options(self, packed: bool = True, **pace: float) -> Any:
        return SYSTEM.options(packed=packed, **pace)

    def broker(self, curve: Curve | None = None, **options: Any) -> None:
        seat = SYSTEM.broker(self.options(**options), [self.at])
        self.node("broker", curve).seat("broker", seat).result(WAIT)

    def workers(self, n: int, node: str = "pool", curve: Curve | None = None, **options: Any) -> None:
        for nonce in (next(self._nonces) for _ in range(n)):
            self.work(nonce, node, curve, **options)

    def work(self, nonce: int, node: str = "pool", curve: Curve | None = None, **options: Any) -> None:
        seat = SYSTEM.worker(self.options(**options), self.at, nonce, 10)
        self.node(node, curve).seat(f"worker-{nonce}", seat).result(WAIT)

    def run(self, n: int, kind: Any = "ping", size: int = 0, curve: Curve | None = None, **options: Any) -> None:
        """Begin to have so many tasks done."""
        node = self.node("client", curve)
        if not node.names():
            node.seat("client", SYSTEM.client(self.options(**options), self.at, next(self._nonces))).result(WAIT)
        until(lambda: node.ask("client").result(WAIT).linked)
        node.order("client", BulkSpec(kind, n, size, in_flight=100, timeout=WAIT))

    def succeeds(self, n: int) -> None:
        until(lambda: self.view().ledger.succeeded == n, f"{n} tasks done")

    def stop(self, name: str) -> None:
        node, context = self._nodes.pop(name)
        assert node.stop(WAIT) and node.dead is None, node.dead
        context.term()

    def close(self) -> None:
        for name in list(self._nodes):
            self.stop(name)

    def view(self) -> BrokerView:
        view = self.node("broker").ask("broker").result(WAIT)
        assert isinstance(view, BrokerView)
        return view

    def states(self) -> list[str]:
        """Of the broker's workers."""
        return sorted(worker.state for worker in self.view().workers)

    def told(self, node: str, words: str) -> int:
        """How many facts of a node have these words."""
        return sum(words in fact.text for fact in self.feeds[node].since(0)[0])

    def connected(self) -> list[int]:
        """The descriptors of this process's connections to the broker."""
        port = int(self.at.rpartition(":")[2])
        found = psutil.Process().net_connections("tcp")
        return [one.fd for one in found if one.status == psutil.CONN_ESTABLISHED and one.raddr and one.raddr[1] == port]


@pytest.fixture
def rig() -> Iterator[Rig]:
    with closing(Rig()) as made:
        yield made


def test_ten_workers_take_one_connection_and_each_its_share(rig: Rig) -> None:
    rig.workers(MANY)
    rig.broker()
    until(lambda: rig.states() == ["ready"] * MANY)
    until(lambda: len(rig.connected()) == 1)
    rig.run(2000)
    rig.succeeds(2000)
    rig.run(20, "data", 1024 * 1024)
    rig.succeeds(2020)
    view = rig.view()
    done = [worker.done for worker in view.workers]
    assert min(done) > 0.5 * max(done), "the least recently used first"
    assert dict(view.counters)["violations"] == 0
    assert len(rig.connected()) == 2, "one is the client's"


def test_one_that_is_killed_is_lost_at_once_and_its_tasks_are_done_by_the_others(rig: Rig) -> None:
    rig.workers(MANY, **NEVER)
    rig.broker(**NEVER)
    until(lambda: rig.states() == ["ready"] * MANY)
    pool = rig.node("pool")
    for name in pool.names():
        pool.order(name, Slow(3600.0))
    rig.run(MANY, **NEVER)
    until(lambda: rig.view().in_flight == MANY)
    pool.remove("worker-3").result(WAIT)
    until(lambda: rig.states().count("lost") == 1, "its end, which is told: nobody waits for its silence")
    for name in pool.names():
        pool.order(name, Slow(0.0))
    rig.succeeds(MANY)
    assert rig.states().count("ready") == MANY - 1
    rig.work(3, **NEVER)
    until(lambda: rig.states() == ["ready"] * MANY)
    assert len(rig.connected()) == 2 and not rig.view().detail


def test_one_that_is_silent_is_lost_alone_and_comes_back(rig: Rig) -> None:
    rig.workers(4, **QUICK)
    rig.broker(**QUICK)
    until(lambda: rig.states() == ["ready"] * 4)
    rig.node("pool").hold("worker-2", 2.0, True).result(WAIT)
    until(lambda: rig.told("broker", "w2 lost (silent"))
    until(lambda: rig.told("broker", "w2 is back"))
    until(lambda: rig.states() == ["ready"] * 4 and len(rig.connected()) == 1)


def test_when_the_connection_ends_all_are_lost_and_whoever_answers_next_is_asked_again(rig: Rig) -> None:
    rig.workers(4, **QUICK)
    rig.broker(**QUICK)
    until(lambda: rig.states() == ["ready"] * 4 and len(rig.connected()) == 1)
    rig.stop("broker")
    rig.broker(packed=False, **QUICK)
    until(lambda: rig.states() == ["ready"] * 4, "as an original it agrees to nothing")
    until(lambda: len(rig.connected()) == 4)
    rig.run(200, packed=False)
    rig.succeeds(200)
    assert dict(rig.view().counters)["violations"] == 0
    rig.stop("client")
    rig.stop("broker")
    rig.broker(**QUICK)
    until(lambda: rig.states() == ["ready"] * 4)
    until(lambda: len(rig.connected()) == 1)


def test_a_connection_that_is_cut_ends_for_all_and_all_come_back_by_one(rig: Rig) -> None:
    rig.workers(4)
    rig.broker()
    until(lambda: rig.states() == ["ready"] * 4 and len(rig.connected()) == 1)
    with socket.socket(fileno=os.dup(rig.connected()[0])) as connection:
        connection.shutdown(socket.SHUT_RDWR)
    until(lambda: rig.told("pool", "connection to the broker ended") == 4)
    until(lambda: rig.states() == ["ready"] * 4 and len(rig.connected()) == 1)


def test_a_stranger_gets_nowhere_with_what_is_nearly_wrapped(rig: Rig) -> None:
    rig.workers(2)
    rig.broker()
    until(lambda: rig.states() == ["ready"] * 2)
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        stranger.connect(rig.at)
        wrong = [b"RHS1", b"RHS1\xc1", b"RHS1\x91\x91\xc4\x00", b"RHS1" + b"\x91" * 5000]
        for frame in wrong:
            stranger.send(frame)
        until(lambda: dict(rig.view().counters)["violations"] == len(wrong))
    assert rig.states() == ["ready"] * 2
    rig.run(100)
    rig.succeeds(100)


def test_with_keys_riders_speak_under_their_connections_key_and_under_no_others_name(rig: Rig, tmp_path: Path) -> None:
    for name, role in {"depot": "broker", "w1": "worker", "w2": "worker", "c1": "client"}.items():
        keys.authorize(tmp_path, keys.make(tmp_path, name, role)._replace(secret=""))
    rig.workers(3, curve=Curve(tmp_path, "w1", "depot"))
    rig.broker(curve=Curve(tmp_path, "depot"))
    until(lambda: rig.states() == ["ready"] * 3 and len(rig.connected()) == 1)
    thief, owned = Curve(tmp_path, "w2", "depot"), f"{rig.at}:1".encode()
    with make_context(curve=thief) as context:
        spec = Socket("dealer", connect=(rig.at,), routing_id=b"thief")
        stranger = open_socket(context, spec, curve=thief)
        stranger.set(zmq.SNDTIMEO, int(WAIT * 1000))
        ping = wire.link_ping(wire.link_id(1, shares=True))
        stranger.send(envelope.MAGIC + msgpack.packb([[b"its own", *ping], [owned, *ping]]))
        until(lambda: rig.told("broker", "uses the name of another key's peer"))
        stranger.close()
    rig.workers(2, "intruders", Curve(tmp_path, "c1", "depot"), heartbeat=0.1, expiry=10.0)
    walked = {("registering", "no RESPONSE for a heartbeat"): 3}
    intruder = rig.node("intruders")
    name = intruder.names()[-1]
    until(lambda: walked.items() <= {key: min(n, 3) for key, n in intruder.ask(name).result(WAIT).walked}.items())
    assert rig.states() == ["ready"] * 3, "who has no right to may ask, as any client, and does not register"
    rig.run(100, curve=Curve(tmp_path, "c1", "depot"))
    rig.succeeds(100)
    keys.revoke(tmp_path, "w1")
    until(lambda: rig.states() != ["ready"] * 3, "whose key is revoked")
    until(lambda: "ready" not in rig.states())
