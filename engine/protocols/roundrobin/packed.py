"""The packed lane's one frame: many tasks, or many answers, between peers of ours (README.md says when and why).

The rules of this file:

- A frame is ``MAGIC``, a letter for its kind, and one msgpack array, flat but for the tasks in it.
- A task is what it is on the seed's wire, ``[command, id, application command, argument…]``, byte for byte, so either
  lane's can go on over the other.
- A frame carries 1..BATCH tasks. What is larger than SMALL goes over the seed's lane: so BATCH of them always fit, and
  nobody has to count bytes.
- The parsers look at shape and bounds only, as those of ``messages.py``. They return what the frame holds, or in words
  of ours what is wrong with it; then it is wrong as a whole, and nothing of it is done.

| kind | direction | array |
|---|---|---|
| TASKS | client → broker | task, … |
| DELIVERIES | broker → worker | client, task, … |
| ANSWERS | worker → broker | client, id, DATA or true (a reply without) or nil (no reply), … |
| RESULTS | broker → client | id, worker, DATA or nil (a reply without), … |
"""

from __future__ import annotations

from typing import Any, Literal

import msgpack

from engine.core import Frames
from engine.parts.limits import MAX_FRAMES, MAX_ID, MAX_ROUTING_ID
from engine.parts.unpacking import UNREADABLE, unpack
from engine.protocols.roundrobin.messages import APP_PING, BROKERS_OWN, EXECUTE, PLAIN

BATCH = 64  # tasks in one frame
SMALL = 16 * 1024  # bytes of a task's arguments, or of its answer
MAX_PACKED = BATCH * (SMALL + 1024)  # bytes of a frame

MAGIC = b"RHP1"  # the last character is the version
TASKS, DELIVERIES, ANSWERS, RESULTS = (MAGIC + kind for kind in (b"T", b"D", b"A", b"R"))
_HEAD = len(TASKS)
AT_BROKER, AT_PEER = 2, 1  # frames of a message with such a frame, with a routing id in front and without: no other's

Data = bytes | Literal[True] | None
"""Of an answer: DATA, True for a reply without, None where there is no reply, because none is wanted or known."""

Answer = tuple[bytes, bytes, Data]
"""(client, id, what the worker says)"""

Result = tuple[bytes, bytes, bytes | None]
"""(id, worker, DATA)"""

_MAX_TASK = MAX_FRAMES - 4  # frames: what of a message's is the task
_SHORT = 2048  # bytes of a frame in which arrays need no counting: of so few they can not be many

_LIMITS = {
    "max_array_len": 3 * BATCH,
    "max_map_len": 0,
    "max_str_len": 0,
    "max_bin_len": MAX_PACKED,
    "max_ext_len": 0,
}
_pack = msgpack.packb


def kind(frame: bytes) -> bytes:
    """The kind of a packed frame; ``b""`` for any other frame."""
    return frame[:_HEAD] if frame.startswith(MAGIC) else b""


def fits(task: Frames) -> bool:
    """Whether a task may go over the packed lane."""
    return len(task) == PLAIN or sum(map(len, task)) <= SMALL


# ---- builders: 1..BATCH of what fits ---------------------------------------------------------------------------------


def tasks(batch: list[Frames]) -> bytes:
    """Client → broker."""
    return TASKS + _pack(batch)  # type: ignore[no-any-return]


def deliveries(batch: list[bytes | Frames]) -> bytes:
    """Broker → worker: client, task, client, task, …"""
    return DELIVERIES + _pack(batch)  # type: ignore[no-any-return]


def answers(batch: list[Data]) -> bytes:
    """Worker → broker: the three of each ``Answer``, one after the other."""
    return ANSWERS + _pack(batch)  # type: ignore[no-any-return]


def results(batch: list[bytes | None]) -> bytes:
    """Broker → client: the three of each ``Result``, one after the other."""
    return RESULTS + _pack(batch)  # type: ignore[no-any-return]


# ---- parsers -----------------------------------------------------------------------------------------------------


def read_tasks(frame: bytes) -> list[Frames] | str:
    """The tasks that a client submits."""
    found = _array(frame, 1)
    if isinstance(found, str):
        return found
    for task in found:
        if type(task) is list and len(task) == PLAIN:
            command, ident, app = task
            if command in EXECUTE and type(ident) is bytes and 0 < len(ident) <= MAX_ID and app == APP_PING:
                continue  # what most are; whatever is not, is looked at closely
        if _is_no_task(task):
            return "not a task"
    return found


def read_deliveries(frame: bytes) -> list[tuple[bytes, Frames]] | str:
    """The tasks that a broker delivers, each with its client."""
    found = _array(frame, 2)
    if isinstance(found, str):
        return found
    values = iter(found)
    pairs = list(zip(values, values, strict=True))
    for client, task in pairs:
        if type(client) is not bytes or not 0 < len(client) <= MAX_ROUTING_ID:
            return "bad address"
        if _is_no_task(task):
            return "not a task"
    return pairs


def read_answers(frame: bytes) -> list[Answer] | str:
    """The answers that a worker gives."""
    found = _array(frame, 3)
    if isinstance(found, str):
        return found
    values = iter(found)
    triples = list(zip(values, values, values, strict=True))
    for client, ident, answer in triples:
        if type(client) is not bytes or not 0 < len(client) <= MAX_ROUTING_ID:
            return "bad address"
        if type(ident) is not bytes or not 0 < len(ident) <= MAX_ID:
            return "id of a wrong length"
        if answer is not True and answer is not None and type(answer) is not bytes:
            return "not an answer"
    return triples


def read_results(frame: bytes) -> list[Result] | str:
    """The answers that a broker passes on."""
    found = _array(frame, 3)
    if isinstance(found, str):
        return found
    values = iter(found)
    triples = list(zip(values, values, values, strict=True))
    for ident, worker, answer in triples:
        if type(ident) is not bytes or not 0 < len(ident) <= MAX_ID:
            return "id of a wrong length"
        if type(worker) is not bytes or not 0 < len(worker) <= MAX_ROUTING_ID:
            return "bad address"
        if answer is not None and type(answer) is not bytes:
            return "not an answer"
    return triples


def _array(frame: bytes, width: int) -> list[Any] | str:
    """The array of a frame: 1..BATCH times ``width`` values of whatever type."""
    if len(frame) > MAX_PACKED:
        return "frame too long"
    try:
        body = frame[_HEAD:]
        found = msgpack.unpackb(body, **_LIMITS) if len(body) <= _SHORT else unpack(body, 2 * BATCH, **_LIMITS)
    except UNREADABLE:
        return "unreadable packed frame"
    if type(found) is not list:
        return "unreadable packed frame"
    if not 0 < len(found) <= BATCH * width or len(found) % width:
        return "wrong number of tasks"
    return found


def _is_no_task(task: Any) -> bool:
    if type(task) is not list or not PLAIN <= len(task) <= _MAX_TASK or task[0] not in EXECUTE:
        return True
    ident, app = task[1], task[2]
    if type(ident) is not bytes or not 0 < len(ident) <= MAX_ID:
        return True
    if type(app) is not bytes or len(app) != 1 or app in BROKERS_OWN:
        return True
    return len(task) > PLAIN and not all(type(argument) is bytes for argument in task[PLAIN:])
