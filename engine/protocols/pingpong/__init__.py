"""Ping-pong, seed 002: workers and broker that show each other that they are alive, one job at a time."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core import CLIENTS, WORKERS, Seat, Socket
from engine.parts.limits import MAX_FRAME
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.client import Client
from engine.protocols.pingpong.durable import Durable
from engine.protocols.pingpong.explain import EXPLAIN
from engine.protocols.pingpong.explored import EXPLORED
from engine.protocols.pingpong.frontend import FRONTEND
from engine.protocols.pingpong.operated import BACKEND, TAKES, UNTAKEN
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.promises import times
from engine.protocols.pingpong.rogue import GARBAGE, OVERCREDIT
from engine.protocols.pingpong.worker import Worker
from engine.system import System


def _broker(options: Options, bind: Sequence[str]) -> Seat:
    """A broker for workers at the endpoints of ``bind`` and for clients beside each of them."""
    frontends = tuple(dict.fromkeys(options.frontend_of(endpoint) for endpoint in bind))
    backend = Socket("router", bind=tuple(bind), name=BACKEND, roles=WORKERS)
    core = Durable(options) if options.backlog else Broker(options)
    return Seat(core, (backend, Socket("router", bind=frontends, name=FRONTEND, roles=CLIENTS)))


def _worker(options: Options, endpoint: str, nonce: int, slots: int) -> Seat:
    """A worker; the seed's workers have one slot, whatever ``slots`` says."""
    name = f"worker-{nonce}"
    return Seat(Worker(options, name), (Socket("dealer", connect=(endpoint,), routing_id=name.encode()),))


def _client(options: Options, endpoint: str, nonce: int) -> Seat:
    """A client of the broker whose workers connect to ``endpoint``."""
    frontend = options.frontend_of(endpoint)
    name = f"client-{nonce}"
    return Seat(Client(options, name), (Socket("dealer", connect=(frontend,), routing_id=name.encode()),))


SYSTEM = System(
    name="pingpong",
    seed="002",
    title="Ping-pong",
    endpoint="tcp://127.0.0.1:6715",
    options=Options,
    broker=_broker,
    worker=_worker,
    client=_client,
    payload=lambda options: MAX_FRAME,
    explain=EXPLAIN,
    times=times,
    garbage=GARBAGE,
    overclaims=OVERCREDIT,
    owners=True,
    goodbye=False,
    store="backlog",
    explored=EXPLORED,
    takes=TAKES,
    untaken=UNTAKEN,
)
