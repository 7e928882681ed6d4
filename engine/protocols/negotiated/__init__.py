"""Seed 004: the broker that negotiates its peers' configuration, and a fallback that takes over from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.core import CLIENTS, FALLBACKS, WORKERS, Seat, Socket
from engine.protocols.negotiated import endpoints as ends
from engine.protocols.negotiated.broker import Broker, Publish
from engine.protocols.negotiated.client import Ask, Client
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.durable import Durable
from engine.protocols.negotiated.explain import EXPLAIN
from engine.protocols.negotiated.explored import EXPLORED
from engine.protocols.negotiated.faults import FAULTS
from engine.protocols.negotiated.link import SAVED
from engine.protocols.negotiated.messages import MAX_BODY
from engine.protocols.negotiated.operated import TAKES, UNTAKEN
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.orders import CONTROL, ORDERS, Configure, HandBack, Serve, ShowPair, beside
from engine.protocols.negotiated.pair import FALLBACK_ID, PEER, Pair
from engine.protocols.negotiated.promises import times
from engine.protocols.negotiated.rogue import GARBAGE, OVERCREDIT
from engine.protocols.negotiated.tasks import FRONTEND
from engine.protocols.negotiated.worker import Worker
from engine.system import System

__all__ = ["SAVED", "SYSTEM", "Ask", "Configure", "HandBack", "Options", "Publish", "Serve", "ShowPair", "backup"]
__all__ += ["primary"]

ENDPOINT = "tcp://127.0.0.1:6717"
NOWHERE = Address("", "")  # of a broker that is bound to wildcards only


def _broker(options: Options, bind: Sequence[str], *, wall_offset: float = 0.0) -> Seat:
    """A broker of its own; with ``fallback`` set the primary of a pair, or the fallback where that is to be bound."""
    if options.fallback:
        make = backup if set(bind) & set(ends.listed(options.fallback)) else primary
        return make(options, bind, wall_offset=wall_offset)
    ours = ends.addresses(bind, options, own=True)
    role = Durable if options.backlog else Broker
    core = role(options, _config(options, ours), _first(ours), wall_offset=wall_offset)
    return Seat(core, (*_sockets(options, bind), *_control(bind)), wall_offset)


def primary(options: Options, bind: Sequence[str], *, wall_offset: float = 0.0) -> Seat:
    """The broker that usually serves, of a pair whose fallback is at ``options.fallback``."""
    ours = ends.addresses(bind, options, own=True)
    theirs = ends.addresses(ends.listed(options.fallback), options)
    pair = Pair("primary", options.heartbeat, _first(theirs))
    core = Broker(options, _config(options, ours + theirs), _first(ours), pair=pair, wall_offset=wall_offset)
    link = (options.peer,) if options.peer else tuple(map(ends.peer_of, bind))
    peer = Socket("router", bind=link, name=PEER, roles=FALLBACKS)
    return Seat(core, (*_sockets(options, bind), peer, *_control(bind)), wall_offset)


def backup(options: Options, bind: Sequence[str], *, wall_offset: float = 0.0) -> Seat:
    """The fallback of the broker at ``options.primary``; ``bind`` is as a rule ``options.fallback``."""
    first = ends.listed(options.primary) or (ENDPOINT,)
    ours = ends.addresses(bind, options, own=True)
    theirs = ends.addresses(first, options)
    pair = Pair("backup", options.heartbeat, _first(theirs))
    core = Broker(options, _config(options, theirs + ours), _first(ours), pair=pair, wall_offset=wall_offset)
    peer = Socket("dealer", connect=(options.peer or ends.peer_of(first[0]),), routing_id=FALLBACK_ID, name=PEER)
    return Seat(core, (*_sockets(options, bind), peer, *_control(bind)), wall_offset)


def _worker(
    options: Options,
    endpoint: str,
    nonce: int,
    slots: int,
    *,
    wall_offset: float = 0.0,
    saved: bytes | None = None,
) -> Seat:
    """A worker that is told of the broker at ``endpoint``. Raises ValueError where its services have no names."""
    identity = f"worker-{nonce}"
    core = Worker(options, endpoint, identity, slots, wall_offset=wall_offset, saved=saved)
    return Seat(core, (Socket("dealer", connect=(endpoint,), routing_id=identity.encode()),), wall_offset)


def _client(
    options: Options, endpoint: str, nonce: int, *, wall_offset: float = 0.0, saved: bytes | None = None
) -> Seat:
    """A client of the broker whose workers connect to ``endpoint``; it connects to the frontend beside it."""
    identity = f"client-{nonce}"
    frontend = options.frontend or ends.clients_of(endpoint)
    core = Client(options, frontend, identity, wall_offset=wall_offset, saved=saved)
    return Seat(core, (Socket("dealer", connect=(frontend,), routing_id=identity.encode()),), wall_offset)


def _paired(options: Options, first: str, second: str) -> Options:
    """The settings of a primary whose peers find it at ``first`` and its fallback at ``second``."""
    return replace(options, primary=first, fallback=second)


def _sockets(options: Options, bind: Sequence[str]) -> tuple[Socket, ...]:
    frontend = (options.frontend,) if options.frontend else tuple(map(ends.clients_of, bind))
    workers = Socket("router", bind=tuple(bind), roles=WORKERS)
    return workers, Socket("router", bind=frontend, name=FRONTEND, roles=CLIENTS)


def _control(bind: Sequence[str]) -> tuple[Socket, ...]:
    """Where a broker is operated: from its own process, and nowhere else."""
    inner = tuple(beside(endpoint) for endpoint in bind if endpoint.startswith("inproc://"))
    return (Socket("router", bind=inner, name=CONTROL),) if inner else ()


def _config(options: Options, brokers: tuple[Address, ...]) -> Config:
    group = (*brokers, *ends.addresses(ends.listed(options.group), options))
    return Config(options.config_version, options.heartbeat, options.skew, tuple(dict.fromkeys(group)))


def _first(addresses: tuple[Address, ...]) -> Address:
    return addresses[0] if addresses else NOWHERE


SYSTEM = System(
    name="negotiated",
    seed="004",
    title="Negotiated broker",
    endpoint=ENDPOINT,
    options=Options,
    broker=_broker,
    worker=_worker,
    client=_client,
    payload=lambda options: MAX_BODY,
    explain=EXPLAIN,
    times=times,
    garbage=GARBAGE,
    overclaims=OVERCREDIT,
    owners=True,
    faults=FAULTS,
    wall=True,
    fallback=lambda options: ends.listed(options.fallback),
    paired=_paired,
    hand_back=HandBack(),
    ask=Ask,
    orders=ORDERS,
    store="backlog",
    explored=EXPLORED,
    takes=TAKES,
    untaken=UNTAKEN,
)
