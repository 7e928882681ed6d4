"""The messages of several peers over one connection: how they are wrapped into few messages, and unwrapped.

The rules of this file (``docs/security.md`` says who may wrap):

- An inner message is a routing id and its frames, as a ROUTER has them: from the workers' end the sender's, from the
  broker's end the receiver's. ``[routing id]`` alone says that what was under way for it ends here.
- A batch is one frame, ``MAGIC`` and one msgpack array of 1..BATCH inner messages, each an array of binaries.
- An inner message of more than SMALL bytes goes by itself, as the frames ``MAGIC``, routing id, frame, …
- ``unwrap`` looks at shape and bounds only. It returns the inner messages, or in words of ours what is wrong with it;
  then it is wrong as a whole, and nothing of it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgpack

from engine.core import Frames
from engine.parts.limits import MAX_FRAMES, MAX_ROUTING_ID
from engine.parts.unpacking import UNREADABLE, unpack

MAGIC = b"RHS1"  # the last character is the version
BATCH = 256  # inner messages of a batch
SMALL = 16 * 1024  # bytes of an inner message in a batch, its routing id left out
MAX_BATCH = 1024 * 1024  # bytes of a batch

_HEAD = len(MAGIC)
_MOST = MAX_FRAMES + 1  # frames of an inner message: what a peer may be sent, behind its routing id
_ROOM = MAX_BATCH - _HEAD - 3  # bytes of inner messages
_EACH = 3 + MAX_ROUTING_ID + 5 * _MOST  # bytes of an inner message beside its frames, at most
_SHORT = 2048  # bytes of a batch in which arrays need no counting: of so few they can not be many
_LIMITS = {
    "max_array_len": BATCH,
    "max_map_len": 0,
    "max_str_len": 0,
    "max_bin_len": MAX_BATCH,
    "max_ext_len": 0,
}
_pack = msgpack.packb


def wrap(messages: Iterable[Frames]) -> Iterator[tuple[Frames, list[Frames]]]:
    """What goes over the connection, in order, each with the inner messages in it."""
    batch: list[Frames] = []
    room = _ROOM
    for message in messages:
        size = len(message[1]) if len(message) == 2 else sum(map(len, message)) - len(message[0])
        if size > SMALL:
            if batch:
                yield [MAGIC + _pack(batch)], batch
                batch, room = [], _ROOM
            yield [MAGIC, *message], [message]
            continue
        size += _EACH
        if len(batch) == BATCH or size > room:
            yield [MAGIC + _pack(batch)], batch
            batch, room = [], _ROOM
        batch.append(message)
        room -= size
    if batch:
        yield [MAGIC + _pack(batch)], batch


def is_batch(frames: Frames) -> bool:
    """Whether a message as it came over a connection, no routing id, is meant as a batch."""
    return len(frames) == 1 and frames[0].startswith(MAGIC)


def unwrap(frames: Frames) -> list[Frames] | str:
    """The inner messages of one message, no routing id: of a batch, or of one that goes by itself."""
    if len(frames) > 1:
        found: Any = [frames[1:]]
        if frames[0] != MAGIC:
            return "not wrapped"
        if len(frames) == 2:
            return "nothing behind the routing id"
    else:
        if len(frames[0]) > MAX_BATCH:
            return "batch too long"
        body = frames[0][_HEAD:]
        try:
            found = msgpack.unpackb(body, **_LIMITS) if len(body) <= _SHORT else unpack(body, 1 + BATCH, **_LIMITS)
        except UNREADABLE:
            return "unreadable batch"
        if type(found) is not list or not 0 < len(found) <= BATCH:
            return "no batch of messages"
    for message in found:
        if type(message) is not list or not 0 < len(message) <= _MOST:
            return "wrong number of frames in a wrapped message"
        for frame in message:
            if type(frame) is not bytes:
                return "a frame of a wrapped message is no binary"
        if not 0 < len(message[0]) <= MAX_ROUTING_ID:
            return "routing id of a wrong length"
    return found  # type: ignore[no-any-return]
