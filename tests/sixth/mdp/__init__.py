"""Majordomo, ZeroMQ RFC 7 (MDP 0.1): clients ask for a service by its name, and workers offer one."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core import Seat, Socket
from engine.parts.limits import MAX_FRAME
from engine.system import System
from tests.sixth.mdp.broker import Broker
from tests.sixth.mdp.client import Client
from tests.sixth.mdp.explain import EXPLAIN
from tests.sixth.mdp.options import Options
from tests.sixth.mdp.promises import times
from tests.sixth.mdp.rogue import GARBAGE, OVERCLAIMS
from tests.sixth.mdp.worker import Worker


def _broker(options: Options, bind: Sequence[str]) -> Seat:
    """A broker for workers and clients, all of them at each endpoint of ``bind``."""
    return Seat(Broker(options), (Socket("router", bind=tuple(bind)),))


def _worker(options: Options, endpoint: str, nonce: int, slots: int) -> Seat:
    """A worker; one of MDP has one slot, whatever ``slots`` says."""
    name = f"worker-{nonce}"
    return Seat(Worker(options, name), (Socket("dealer", connect=(endpoint,), routing_id=name.encode()),))


def _client(options: Options, endpoint: str, nonce: int) -> Seat:
    """A client."""
    name = f"client-{nonce}"
    return Seat(Client(options, name), (Socket("dealer", connect=(endpoint,), routing_id=name.encode()),))


SYSTEM = System(
    name="mdp",
    seed="RFC 7",
    title="Majordomo",
    endpoint="tcp://127.0.0.1:5555",
    options=Options,
    broker=_broker,
    worker=_worker,
    client=_client,
    payload=lambda options: MAX_FRAME,
    explain=EXPLAIN,
    times=times,
    garbage=GARBAGE,
    overclaims=OVERCLAIMS,
)
