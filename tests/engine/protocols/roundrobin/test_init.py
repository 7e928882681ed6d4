from __future__ import annotations

from engine.core import CLIENTS, WORKERS, Socket
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.client import Client
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.roles import said
from engine.protocols.roundrobin.worker import Worker

TCP = "tcp://127.0.0.1:6714"


def test_the_system_says_who_it_is() -> None:
    assert (SYSTEM.name, SYSTEM.seed, SYSTEM.endpoint, SYSTEM.options) == ("roundrobin", "000", TCP, Options)


def test_the_broker_is_called_by_the_string_that_peers_connect_to() -> None:
    seat = SYSTEM.broker(Options(), (TCP, "inproc://roundrobin"))
    assert isinstance(seat.core, Broker)
    (socket,) = seat.sockets
    assert (socket.bind, socket.routing_id) == ((TCP, "inproc://roundrobin"), TCP.encode())
    assert socket.roles == WORKERS + CLIENTS and socket.said is said


def test_peers_are_called_by_that_string_and_a_number() -> None:
    worker, client = SYSTEM.worker(Options(), TCP, 503206, 7), SYSTEM.client(Options(), TCP, 178484)
    assert worker.sockets == (Socket("dealer", connect=(TCP,), routing_id=b"tcp://127.0.0.1:6714:503206"),)
    assert client.sockets == (Socket("dealer", connect=(TCP,), routing_id=b"tcp://127.0.0.1:6714:178484"),)
    assert isinstance(worker.core, Worker) and worker.core.slots == 7 and isinstance(client.core, Client)
