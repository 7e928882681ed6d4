"""Reads a journal (``format``) that may come from anywhere, up to its last whole block.

A reader makes of a file no more than grows with its size: so many bytes, so many values.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from engine.files import personal
from engine.journal.codec import Unreadable
from engine.journal.format import (
    DIGEST,
    EVENT,
    HEAD,
    HEARD,
    LEFT,
    LIMIT,
    MAGIC,
    NAMES,
    PREFIX,
    SEAT,
    About,
    event_codec,
)
from engine.parts.unpacking import UNREADABLE, counter
from engine.system import QueueSystem, System

MAX_BLOCK = 64 * 1024 * 1024  # bytes of a block, packed or not, that is read
MAX_READ = 1024 * 1024 * 1024  # bytes of all blocks together, unpacked, that are read
DENSE = 4  # bytes of a block, at least, for each array or map in it
VALUES = 2_000_000  # values that any file may hold, each up to a hundred bytes in memory …
BYTE_HOLDS = 8  # … and so many more for each byte of it: recorded runs have one or two …
MAX_VALUES = 40_000_000  # … but no more than these
MAX_STRING = 1024 * 1024  # bytes of one text; names, paths and reasons have some thousands at most
FARTHEST = 1e10  # seconds, some three hundred years: no time of a record is farther from zero
MAX_OPTIONS = 1024  # keys of a map: only options and the world of a core are one
HEAVY = 1000  # bytes of content that are as much work as one value

_SHAPES: dict[int, tuple[Any, ...]] = {
    HEAD: (list,),
    SEAT: (int | float, int, str, str, str, list, dict),
    LEFT: (int | float, int),
    EVENT: (int | float, int, object),
    DIGEST: (int | float, int, int),
    HEARD: (int | float, int, object, object),
}
_ABOUT = (str, dict, int | float, int | float, str)


class Reading(NamedTuple):
    """A journal that was read: everything up to its last whole block."""

    about: About
    records: list[list[Any]]  # events as values, not as the file has them
    cut: str  # why it ends before the file does; empty where it does not
    weight: int = 0  # bytes and values that were read, the values counted as ``HEAVY`` bytes each


def read(path: Path, systems: Mapping[str, System | QueueSystem]) -> Reading:
    """Read a journal. Raises OSError; Unreadable where not even its head stands or its system is unknown."""
    with os.fdopen(personal.opened(path), "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise Unreadable(f"{path}: not a journal of this version (roundhouse.journal/1)")
        rest = file.read(LIMIT + 1)
    if len(rest) > LIMIT:
        raise Unreadable(f"{path}: larger than {LIMIT:,} bytes")
    cut: list[str] = []
    most = min(MAX_VALUES, VALUES + BYTE_HOLDS * len(rest))
    meter = _Meter(most)
    records = list(_records(rest, cut, meter))
    wrong = next((number for number, record in enumerate(records) if not _is_record(record)), None)
    if wrong:
        raise Unreadable(f"{path}: record {wrong - 1} is none")
    if wrong == 0 or not records or records[0][0] != HEAD or not _fits(records[0][1], _ABOUT):
        raise Unreadable(f"{path}: the journal is cut before its first whole block")
    about = About(*records[0][1])
    if not (_is_time(about.started) and _is_time(about.monotonic) and about.started >= 0):
        raise Unreadable(f"{path}: it begins at no time of day")
    if about.system not in systems:
        raise Unreadable(f"{path}: of a system {about.system!r} that is not known here")
    codec = event_codec(systems[about.system])
    for record in records:
        if record[0] in (EVENT, HEARD):
            try:
                record[3:] = map(codec.value, record[3:])
            except RecursionError:
                raise Unreadable(f"{path}: an event is nested too deeply") from None
    return Reading(about, records[1:], "".join(cut), meter.bytes + HEAVY * (most - meter.left))


class _Meter:
    """How many values may still be made of a file, and how many bytes were read."""

    def __init__(self, most: int) -> None:
        self.left, self.bytes = most, 0

    def spend(self, values: int) -> None:
        """Count values; raises ValueError where there are more than may be."""
        self.left -= values
        if self.left < 0:
            raise ValueError("it holds more values than are read of such a file")


def _records(rest: bytes, cut: list[str], meter: _Meter) -> Iterator[Any]:
    """What the blocks hold, up to the first that can not be read."""
    for number, block in enumerate(_contents(rest, cut), 1):
        meter.bytes += len(block)
        try:
            found = _unpack(block, meter)
        except UNREADABLE as error:
            cut.append(f"block {number}: {error}")
            return
        yield from found


def _is_record(value: Any) -> bool:
    if not (type(value) is list and value and type(value[0]) is int and value[0] in _SHAPES):
        return False
    return _fits(value[1:], _SHAPES[value[0]]) and (value[0] == HEAD or _is_time(value[1]))


def _is_time(value: Any) -> bool:
    return type(value) is not bool and -FARTHEST <= value <= FARTHEST


def _fits(values: Any, shape: tuple[Any, ...]) -> bool:
    return type(values) is list and len(values) == len(shape) and all(map(isinstance, values, shape))


def _contents(rest: bytes, cut: list[str]) -> Iterator[bytes]:
    at, block, left = 0, 1, MAX_READ
    while at < len(rest):
        prefix = rest[at : at + PREFIX.size]
        if len(prefix) < PREFIX.size:
            cut.append(f"block {block} is cut")
            return
        length, checksum = PREFIX.unpack(prefix)
        at += PREFIX.size
        content = rest[at : at + length]
        if len(content) < length:
            cut.append(f"block {block} is cut")
            return
        if zlib.crc32(content) != checksum:
            cut.append(f"block {block} does not fit its checksum")
            return
        inflate = zlib.decompressobj()
        try:
            whole = inflate.decompress(content, MAX_BLOCK)
        except zlib.error as error:
            cut.append(f"block {block}: {error}")
            return
        left -= len(whole)
        if not inflate.eof or left < 0:
            cut.append(f"block {block} is larger than what is read")
            return
        yield whole
        at += length
        block += 1


def _unpack(block: bytes, meter: _Meter) -> list[Any]:
    """The values in a block. Raises ``UNREADABLE``, also where it holds more than the meter or its length allows."""
    counted = counter(len(block) // DENSE + 1)

    def metered(made: Any) -> Any:
        meter.spend(len(made) + 1)
        return counted(made)

    unpacker = msgpack.Unpacker(
        max_buffer_size=MAX_BLOCK,
        max_array_len=max(1, min(len(block), meter.left)),  # its room is made before its items are read
        max_map_len=MAX_OPTIONS,
        max_str_len=MAX_STRING,
        max_ext_len=0,
        unicode_errors=NAMES,
        list_hook=metered,
        object_hook=metered,
    )
    unpacker.feed(block)
    found = []
    for value in unpacker:
        meter.spend(1)
        found.append(value)
    return found
