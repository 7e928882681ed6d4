"""Seed 001: a server hands jobs to clients that run them, in a conversation of OK, JOB, UPDATE, STOP and ERROR."""

from __future__ import annotations

from collections.abc import Sequence

from engine.core import CLIENTS, WORKERS, Seat, Socket
from engine.protocols.conversation import endpoints, frontend
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.course import named
from engine.protocols.conversation.durable import Durable
from engine.protocols.conversation.explain import EXPLAIN
from engine.protocols.conversation.explored import EXPLORED
from engine.protocols.conversation.jobfrontend import FRONTEND, OPEN
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.messages import MAX_DATA
from engine.protocols.conversation.operated import TAKES, UNTAKEN
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.plain import PlainWorker
from engine.protocols.conversation.promises import times
from engine.protocols.conversation.rogue import GARBAGE, OVERCREDIT
from engine.protocols.conversation.worker import Worker
from engine.system import PROGRAMS, Orders, System


def _broker(options: Options, bind: Sequence[str]) -> Seat:
    inner = [at for at in bind if endpoints.is_inner(at)]
    outer = tuple(endpoints.frontend(at) for at in bind if at not in inner)
    streams = tuple(at for at in map(endpoints.stream, bind) if at is not None)
    if options.stream:
        streams = (options.stream,) if options.stream != "none" else ()
    sockets = [Socket("router", bind=tuple(bind), private=True, roles=WORKERS)]
    if inner:
        sockets.append(Socket("router", bind=tuple(map(endpoints.frontend, inner)), name=FRONTEND))
    if options.frontend or outer:
        clients = (options.frontend,) if options.frontend else outer
        sockets.append(Socket("router", bind=clients, name=OPEN, roles=CLIENTS))
    if streams:
        sockets.append(Socket("stream", bind=streams, name=STREAM, private=True))
    return Seat(Durable(options) if options.backlog else Broker(options), tuple(sockets))


def _worker(options: Options, endpoint: str, nonce: int, slots: int) -> Seat:
    name = f"worker-{nonce}"
    if endpoint.startswith(endpoints.PLAIN):
        server = f"tcp://{endpoint.removeprefix(endpoints.PLAIN)}"
        return Seat(
            PlainWorker(options, slots, name), (Socket("stream", connect=(server,), name=STREAM, private=True),)
        )
    socket = Socket("dealer", connect=(endpoint,), routing_id=name.encode(), private=True)
    return Seat(Worker(options, slots, name), (socket,))


def _client(options: Options, endpoint: str, nonce: int) -> Seat:
    own = endpoints.is_inner(endpoint) or not options.frontend
    frontend = endpoints.frontend(endpoint) if own else options.frontend
    name = f"client-{nonce}"
    return Seat(Client(options, name), (Socket("dealer", connect=(frontend,), routing_id=name.encode()),))


TYPED = ("submit", "jobs", "hold", "release", "cancel", "stop")
"""What is typed about jobs where its broker runs."""

ORDERS = Orders(
    endpoint=endpoints.frontend,
    client=frontend.CONTROL,
    pack=frontend.pack_request,
    load=frontend.loaded,
    parse=frontend.parsed,
    answer=frontend.answered,
    follows=frontend.follows,
    refusal=frontend.unfit,
)

SYSTEM = System(
    name="conversation",
    seed="001",
    title="Conversation",
    endpoint=endpoints.DEFAULT,
    options=Options,
    broker=_broker,
    worker=_worker,
    client=_client,
    payload=lambda options: MAX_DATA,
    orders=ORDERS,
    words=PROGRAMS._replace(broker=(*PROGRAMS.broker, *TYPED)),
    explain=EXPLAIN,
    times=times,
    garbage=GARBAGE,
    overclaims=OVERCREDIT,
    explored=EXPLORED,
    store="backlog",
    takes=TAKES,
    untaken=UNTAKEN,
    named=named,
)
