"""How the three roles are seated."""

from __future__ import annotations

from engine.core import CLIENTS, WORKERS, Socket
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.client import Client
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.worker import Worker

HERE = "tcp://127.0.0.1:6715"


def test_the_system_says_who_it_is() -> None:
    assert (SYSTEM.name, SYSTEM.seed, SYSTEM.endpoint, SYSTEM.options) == ("pingpong", "002", HERE, Options)


def test_the_broker_has_a_socket_for_workers_and_one_for_clients() -> None:
    seat = SYSTEM.broker(Options(), (HERE, "inproc://x"))
    assert isinstance(seat.core, Broker)
    assert seat.sockets == (
        Socket("router", bind=(HERE, "inproc://x"), name="backend", roles=WORKERS),
        Socket("router", bind=("tcp://127.0.0.1:6815", "inproc://x-frontend"), name="frontend", roles=CLIENTS),
    )


def test_a_frontend_that_is_set_is_bound_once() -> None:
    seat = SYSTEM.broker(Options(frontend="inproc://f"), (HERE, "inproc://x"))
    assert seat.sockets[1].bind == ("inproc://f",)


def test_peers_keep_their_routing_ids_across_reconnects() -> None:
    """Ruling 8."""
    worker, client = SYSTEM.worker(Options(), HERE, 7, 10), SYSTEM.client(Options(), HERE, 7)
    assert isinstance(worker.core, Worker) and isinstance(client.core, Client)
    assert worker.sockets == (Socket("dealer", connect=(HERE,), routing_id=b"worker-7"),)
    assert client.sockets == (Socket("dealer", connect=("tcp://127.0.0.1:6815",), routing_id=b"client-7"),)
