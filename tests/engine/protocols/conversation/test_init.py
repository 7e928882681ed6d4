"""How the three roles are seated."""

from __future__ import annotations

from engine.core import CLIENTS, MAIN, WORKERS, Socket
from engine.protocols.conversation import SYSTEM
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.jobfrontend import FRONTEND, OPEN
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Worker


def test_the_broker_has_four_sockets_and_takes_orders_within_its_process_alone() -> None:
    seat = SYSTEM.broker(Options(), ("tcp://127.0.0.1:7000", "inproc://x"))
    assert isinstance(seat.core, Broker)
    assert seat.sockets == (
        Socket("router", bind=("tcp://127.0.0.1:7000", "inproc://x"), name=MAIN, private=True, roles=WORKERS),
        Socket("router", bind=("inproc://x-frontend",), name=FRONTEND),
        Socket("router", bind=("tcp://127.0.0.1:7100",), name=OPEN, roles=CLIENTS),
        Socket("stream", bind=("tcp://127.0.0.1:7200",), name=STREAM, private=True),
    )
    assert [socket.name for socket in SYSTEM.broker(Options(), ("inproc://x",)).sockets] == [MAIN, FRONTEND]


def test_options_say_otherwise() -> None:
    options = Options(frontend="inproc://f", stream="tcp://127.0.0.1:9")
    sockets = SYSTEM.broker(options, (SYSTEM.endpoint,)).sockets
    assert [socket.bind for socket in sockets[1:]] == [("inproc://f",), ("tcp://127.0.0.1:9",)]
    assert len(SYSTEM.broker(Options(stream="none"), (SYSTEM.endpoint,)).sockets) == 2
    assert SYSTEM.client(options, SYSTEM.endpoint, 3).sockets[0].connect == ("inproc://f",)


def test_peers() -> None:
    worker = SYSTEM.worker(Options(), "tcp://127.0.0.1:7000", 12, 4)
    assert isinstance(worker.core, Worker) and worker.core.max_nproc == 4
    assert worker.sockets == (
        Socket("dealer", connect=("tcp://127.0.0.1:7000",), routing_id=b"worker-12", private=True),
    )
    client = SYSTEM.client(Options(), "tcp://127.0.0.1:7000", 13)
    assert isinstance(client.core, Client)
    assert client.sockets == (Socket("dealer", connect=("tcp://127.0.0.1:7100",), routing_id=b"client-13"),)
