"""Round robin (seed 000): one ROUTER, workers by least recent use, a backlog in front of them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core import CLIENTS, WORKERS, Seat, Socket
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.client import Client
from engine.protocols.roundrobin.durable import Durable
from engine.protocols.roundrobin.explain import EXPLAIN
from engine.protocols.roundrobin.explored import EXPLORED
from engine.protocols.roundrobin.link import Another
from engine.protocols.roundrobin.operated import TAKES
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.promises import times
from engine.protocols.roundrobin.rogue import GARBAGE, OVERCREDIT
from engine.protocols.roundrobin.roles import said
from engine.protocols.roundrobin.worker import Worker
from engine.system import System

ENDPOINT = "tcp://127.0.0.1:6714"


def _broker(options: Options, endpoints: Sequence[str]) -> Seat:
    """The original's peers address the broker by the string that they connect to, so that is its routing id."""
    routing_id = endpoints[0].encode()
    socket = Socket("router", bind=tuple(endpoints), routing_id=routing_id, roles=WORKERS + CLIENTS, said=said)
    return Seat(Durable(options) if options.backlog else Broker(options), (socket,))


def _peer(endpoint: str, nonce: int, shares: bool = False) -> Socket:
    return Socket("dealer", connect=(endpoint,), routing_id=f"{endpoint}:{nonce}".encode(), shares=shares)


def _worker(options: Options, endpoint: str, nonce: int, slots: int) -> Seat:
    socket = _peer(endpoint, nonce, shares=options.packed)
    return Seat(Worker(options, slots, seed=nonce, name=Another(endpoint, nonce)), (socket,))


def _client(options: Options, endpoint: str, nonce: int) -> Seat:
    return Seat(Client(options, Another(endpoint, nonce)), (_peer(endpoint, nonce),))


SYSTEM = System(
    name="roundrobin",
    seed="000",
    title="Round robin",
    endpoint=ENDPOINT,
    options=Options,
    broker=_broker,
    worker=_worker,
    client=_client,
    payload=lambda options: int(options.max_stream),
    explain=EXPLAIN,
    times=times,
    garbage=GARBAGE,
    overclaims=OVERCREDIT,
    owners=True,
    lane="packed",
    store="backlog",
    explored=EXPLORED,
    takes=TAKES,
)
