"""How a fallback is kept up to date: the changes of one dispatcher as bytes, and a dispatcher that follows them.

A change is a list: a letter and plain arguments. ``x`` begins anew with the configuration, ``c`` is a configuration,
``o`` puts a worker at the end of one LRU queue; the others are the calls of ``engine.protocols.negotiated.dispatcher``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgpack

from engine.parts.inflight import Task
from engine.parts.limits import MAX_HELD, MAX_ID, MAX_ROUTING_ID
from engine.parts.unpacking import UNREADABLE
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.config import Config
from engine.protocols.negotiated.dispatcher import Dispatcher, Op

CHUNK = 512  # changes in one message at most
CHUNK_BYTES = 1024 * 1024  # of task bodies, and of names, in one message, unless a single one is larger

_SHAPES: dict[str, tuple[type, ...]] = {
    "x": (bytes,),  # configuration as json
    "c": (bytes,),
    "j": (bytes, list, int),  # worker, services, slots
    "l": (bytes,),  # worker
    "a": (bytes, bytes, str, bytes, int),  # client, id, service, body, deliveries so far
    "g": (bytes, bytes, bytes),  # client, id, worker
    "u": (bytes, bytes),  # client, id
    "r": (bytes, bytes),
    "e": (bytes, bytes),
    "o": (str, bytes),  # service, worker
    "w": (list,),  # clients whose waiting tasks are over
}


def whole(dispatcher: Dispatcher, config: Config) -> Iterator[Op]:
    """The changes that make an empty dispatcher this one."""
    yield ["x", configs.encode(config, "json")]
    for member in dispatcher.members.values():
        yield ["j", member.key, list(member.services), member.slots]
    for task in dispatcher.in_flight.all():
        yield ["a", *task.key, task.kind, task.message[0], task.attempt - 1]
        yield ["g", *task.key, task.worker]
    for name, queue in dispatcher.queues.items():
        for task in (*queue.suspects.waiting, *queue.backlog):
            yield ["a", *task.key, name, task.message[0], task.attempt]
        for key in queue.ready:
            yield ["o", name, key]


def encode(ops: Iterable[Op]) -> Iterator[bytes]:
    """Bodies of REPLICA messages, each within bounds."""
    chunk: list[Op] = []
    size = 0
    for op in ops:
        weight = len(op[4]) if op[0] == "a" else sum(map(len, op[1])) if op[0] == "w" else 0
        if chunk and (len(chunk) >= CHUNK or size + weight > CHUNK_BYTES):
            yield msgpack.packb(chunk)
            chunk, size = [], 0
        chunk.append(op)
        size += weight
    if chunk:
        yield msgpack.packb(chunk)


def decode(body: bytes) -> list[Op] | None:
    """The changes in a body; None where there is anything else in it."""
    try:
        ops = wire.unpack(body, 1 + 2 * CHUNK)
    except UNREADABLE:
        return None
    return ops if type(ops) is list and ops and all(_fits(op) for op in ops) else None


def _fits(op: Any) -> bool:
    if type(op) is not list or not op or type(op[0]) is not str:
        return False
    shape = _SHAPES.get(op[0])
    return shape is not None and tuple(map(type, op[1:])) == shape


def follow(dispatcher: Dispatcher, op: Op, now: float) -> bool:
    """Make one change (not ``x`` or ``c``); False where the dispatcher does not fit to it any more."""
    match op:
        case ["j", key, names, slots]:
            services = wire.services(names)
            if (
                len(key) > MAX_ROUTING_ID
                or services is None
                or wire.slots(slots) is None
                or slots < dispatcher.in_flight.held(key)
            ):
                return False
            dispatcher.join(key, services, slots, now)
        case ["l", key] if key in dispatcher.members:
            for task in reversed(dispatcher.leave(key, now)):
                dispatcher.requeue(task)
        case ["a", client, task_id, service, body, attempt]:
            fits = (client, task_id) not in dispatcher.tasks and wire.service(service) is not None and attempt >= 0
            fits = fits and len(client) <= MAX_ROUTING_ID and len(task_id) <= MAX_ID
            if not fits or len(body) > wire.MAX_BODY or dispatcher.size + len(body) > MAX_HELD:
                return False
            task = Task((client, task_id), service, [body], now)
            task.attempt = attempt
            dispatcher.accept(task)
        case ["g", client, task_id, key]:
            found = dispatcher.tasks.get((client, task_id))
            member = dispatcher.members.get(key)
            if found is None or member is None or member.free < 1:
                return False
            dispatcher.pull(found)
            dispatcher.hand(found, key, now)
        case ["u", client, task_id] if (client, task_id) in dispatcher.tasks:
            task = dispatcher.tasks[client, task_id]
            dispatcher.pull(task)
            task.attempt = max(0, task.attempt - 1)
            dispatcher.requeue(task)
        case ["r" | "e" as letter, client, task_id] if (client, task_id) in dispatcher.tasks:
            task = dispatcher.tasks[client, task_id]
            dispatcher.pull(task)
            if letter == "r":
                dispatcher.requeue(task)
            else:
                dispatcher.end(task)
        case ["o", service, key] if key in dispatcher.members:
            member = dispatcher.members[key]
            if service not in member.services or member.free < 1:
                return False
            dispatcher.queues[service].ready.put(key)
        case ["w", clients] if all(type(client) is bytes for client in clients):
            dispatcher.withdraw(clients)
        case _:
            return False
    return True
