"""A journal: everything that the cores of a lab were given, in one file that survives a crash up to its last block.

The rules of its format:

- ``MAGIC``, then blocks. A block is its length and the CRC-32 of its content (``<II``), then the content: msgpack,
  deflated. A block that is cut or does not fit its checksum ends the journal; everything before it stands.
- Records are lists. ``[SEAT, at, number, node, name, role, args, world]`` says that a core was made and how, ``[LEFT,
  at, number]`` that it is gone, ``[EVENT, at, number, event]`` what it was given, and ``[DIGEST, at, number, crc]``
  what all its commands so far come to, so that a replay can tell whether it does the same. A seat without a role is
  one whose core can not be run again, for its beginning was not heard: ``[HEARD, at, number, event, commands]``.
- Times are monotonic seconds of the process that recorded. The first record is ``[HEAD, about]``.
"""

from __future__ import annotations

import struct
import zlib
from importlib import import_module
from typing import Any, NamedTuple

from engine.core import Command, Send
from engine.journal.codec import Codec
from engine.system import QueueSystem, System

MAGIC = b"roundhouse.journal/1\n"
LIMIT = 512 * 1024 * 1024  # bytes of a journal
EVERY = 64  # events a digest stands for
NAMES = "surrogateescape"  # names of files are whatever bytes they are

HEAD, SEAT, LEFT, EVENT, DIGEST, HEARD = range(6)

PREFIX = struct.Struct("<II")


class About(NamedTuple):
    """What a journal is of."""

    system: str
    options: dict[str, Any]
    started: float  # wall clock, seconds since the epoch
    monotonic: float  # at the same moment
    version: str


def crc(commands: list[Command], start: int) -> int:
    """A checksum of commands in order, going on from ``start``."""
    for command in commands:
        if type(command) is Send:
            start = zlib.crc32(b"\0".join(command.frames), start)
        else:
            start = zlib.crc32(repr(command).encode(), start)
    return start


def event_codec(system: System | QueueSystem) -> Codec:
    """The codec for a system's events."""
    return Codec(import_module(system.options.__module__.rpartition(".")[0]))
