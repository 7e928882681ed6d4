"""A journal: everything that the cores of a lab were given, in one file that survives a crash up to its last block.

The rules of this file:

- ``MAGIC``, then blocks. A block is its length and the CRC-32 of its content (``<II``), then the content: msgpack,
  deflated. A block that is cut or does not fit its checksum ends the journal; everything before it stands.
- Records are lists. ``[SEAT, at, number, node, name, role, args, world]`` says that a core was made and how, ``[LEFT,
  at, number]`` that it is gone, ``[EVENT, at, number, event]`` what it was given, and ``[DIGEST, at, number, crc]``
  what all its commands so far come to, so that a replay can tell whether it does the same. A seat without a role is
  one whose core can not be run again, for its beginning was not heard: ``[HEARD, at, number, event, commands]``.
- Times are monotonic seconds of the process that recorded. The first record is ``[HEAD, about]``.
- A node's thread only appends to a bounded queue; one thread packs and writes. A journal that is full, can not be
  written or is left behind by the engine ends with an event; what it recorded until then stands. Its file is flushed to
  the disk at the end, and ``lost`` says what did not get there.
- The file is its owner's alone: it holds whatever passed.
- A reader makes of a file no more than grows with its size: so many bytes, so many values.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from engine import __version__
from engine.core import Command, Event, Exit, Note, Send
from engine.files import personal, safely
from engine.journal.codec import Codec, Unreadable
from engine.parts.unpacking import UNREADABLE, counter
from engine.system import QueueSystem, System

MAGIC = b"roundhouse.journal/1\n"
BLOCK = 256 * 1024  # bytes of records that make a block
FLUSH = 0.25  # seconds after which a smaller block is written
LIMIT = 512 * 1024 * 1024  # bytes of a journal
BEHIND = 200_000  # records that may wait for the writer
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
EVERY = 64  # events a digest stands for
NAMES = "surrogateescape"  # names of files are whatever bytes they are

HEAD, SEAT, LEFT, EVENT, DIGEST, HEARD = range(6)

_SHAPES: dict[int, tuple[Any, ...]] = {
    HEAD: (list,),
    SEAT: (int | float, int, str, str, str, list, dict),
    LEFT: (int | float, int),
    EVENT: (int | float, int, object),
    DIGEST: (int | float, int, int),
    HEARD: (int | float, int, object, object),
}
_ABOUT = (str, dict, int | float, int | float, str)

_PREFIX = struct.Struct("<II")

Say = Callable[[Note], None]


class About(NamedTuple):
    """What a journal is of."""

    system: str
    options: dict[str, Any]
    started: float  # wall clock, seconds since the epoch
    monotonic: float  # at the same moment
    version: str


class Journal:
    """Writes one. Its methods are called by the lab and, as a tap, by the nodes' threads."""

    def __init__(
        self,
        path: Path,
        system: System | QueueSystem,
        options: Any,
        say: Say,
        limit: int = LIMIT,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Create the file; raises OSError where that is not possible, FileExistsError where there is one.

        ``clock``: the one that the cores are told, in seconds; monotonic time where none is named.
        """
        self.path = path
        self.lost = ""  # why not everything stands in the file, and what does; empty where everything does
        self._say, self._limit, self._clock = say, limit, clock or time.monotonic
        self._tape = tape_of(system)
        self._file = safely.create(str(path))
        try:
            self._put(MAGIC)
        except OSError:
            os.close(self._file)
            path.unlink(missing_ok=True)
            raise
        self._size, self._kept = len(MAGIC), 0  # bytes and records that stand in it
        self._queue: deque[list[Any]] = deque()
        self._numbers: dict[tuple[str, str], int] = {}
        self._digests: dict[int, list[int]] = {}  # seat → [events, crc]
        self._serial = 0
        self._ended = threading.Event()
        self._full = False
        self._once, self._why = threading.Lock(), ""  # why nothing more is recorded
        about = About(system.name, asdict(options), time.time(), self._clock(), __version__)
        self._queue.append([HEAD, list(about)])
        self._writer = threading.Thread(target=self._write, name="roundhouse-journal", daemon=True)
        self._writer.start()

    def seated(
        self, node: str, name: str, role: str, args: list[Any], world: dict[str, Any], at: float | None = None
    ) -> None:
        """A core is about to sit down: which, and what its maker was given behind the options and by name.

        ``at``: when, where that is not now. Without a role its answers are recorded as well, for nobody could run it.
        """
        self._serial += 1
        self._numbers[(node, name)] = self._serial
        if role:
            self._digests[self._serial] = [0, 0]
        at = self._clock() if at is None else at
        self._queue.append([SEAT, at, self._serial, node, name, role, args, world])

    def left(self, node: str, name: str) -> None:
        """A core is gone."""
        number = self._numbers.pop((node, name), None)
        if number is not None:
            if number in self._digests:
                self._queue.append([DIGEST, self._clock(), number, self._digests.pop(number)[1]])
            self._queue.append([LEFT, self._clock(), number])

    def tap(self, node: str, name: str, now: float, event: Event, commands: list[Command]) -> None:
        """Record one event and its commands; a node's tap."""
        number = self._numbers.get((node, name))
        if number is None or self._ended.is_set():
            return
        if len(self._queue) >= BEHIND:
            self._end("the engine is faster than the journal")
            return
        if number not in self._digests:
            self._queue.append([HEARD, now, number, event, commands])
            return
        self._queue.append([EVENT, now, number, event])
        digest = self._digests[number]
        digest[0] += 1
        digest[1] = crc(commands, digest[1])
        if digest[0] % EVERY == 0:
            self._queue.append([DIGEST, now, number, digest[1]])
        if commands and type(commands[-1]) is Exit:
            self.left(node, name)

    def close(self) -> None:
        """Write what is queued, flush it to the disk and close the file; ``lost`` tells whether all of it stands."""
        for number, (_, digest) in list(self._digests.items()):
            self._queue.append([DIGEST, self._clock(), number, digest])
        self._ended.set()
        self._writer.join()

    def _end(self, why: str) -> None:
        """Stop recording, and report it once."""
        with self._once:
            if self._why:
                return
            self._why = why
        self._ended.set()
        self._say(Note("bad", f"the journal {self.path} ends here: {why}"))

    def _write(self) -> None:
        """The writer's thread."""
        try:
            while not self._ended.wait(FLUSH):
                self._blocks()
            self._blocks()
        except (OSError, TypeError, ValueError) as error:  # the disk; or a core's key that no tape can hold
            self._end(_words(error))
        try:
            try:
                os.ftruncate(self._file, self._size)  # half a block of a disk that is full
                os.fsync(self._file)
            finally:
                os.close(self._file)
        except OSError as error:
            if error.errno != errno.EINVAL:  # of what is no disk
                self._end(f"it can not be flushed to the disk: {_words(error)}")
        if self._why:
            self.lost = f"{self.path} is not whole: {self._why}; {self._kept:,} records stand in it"

    def _blocks(self) -> None:
        packer = msgpack.Packer(autoreset=False, unicode_errors=NAMES)
        records = 0
        while self._queue:
            record = self._queue.popleft()
            if record[0] in (EVENT, HEARD):
                record[3:] = map(self._tape.plain, record[3:])
            packer.pack(record)
            records += record[0] != HEAD
            if len(packer.getbuffer()) >= BLOCK:
                self._block(packer, records)
                records = 0
        if len(packer.getbuffer()):
            self._block(packer, records)

    def _block(self, packer: msgpack.Packer, records: int) -> None:
        content = zlib.compress(packer.bytes(), 1)
        packer.reset()
        if self._full or self._size + len(content) > self._limit:
            self._full = True  # also for a smaller block: nothing may be missing in between
            self._end(f"it is as large as it may be, {self._limit:,} bytes")
            self._queue.clear()
            return
        self._size += self._put(_PREFIX.pack(len(content), zlib.crc32(content)) + content)
        self._kept += records

    def _put(self, content: bytes) -> int:
        """Write all of it; a disk that is nearly full takes only a part of it first."""
        left = memoryview(content)
        while left:
            left = left[os.write(self._file, left) :]
        return len(content)


class Reading(NamedTuple):
    """A journal that was read: everything up to its last whole block."""

    about: About
    records: list[list[Any]]  # events as values, not as they stand on the tape
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
    tape = tape_of(systems[about.system])
    for record in records:
        if record[0] in (EVENT, HEARD):
            try:
                record[3:] = map(tape.value, record[3:])
            except RecursionError:
                raise Unreadable(f"{path}: an event is nested too deeply") from None
    return Reading(about, records[1:], "".join(cut), meter.bytes + HEAVY * (most - meter.left))


def crc(commands: list[Command], start: int) -> int:
    """A checksum of commands in order, going on from ``start``."""
    for command in commands:
        if type(command) is Send:
            start = zlib.crc32(b"\0".join(command.frames), start)
        else:
            start = zlib.crc32(repr(command).encode(), start)
    return start


def tape_of(system: System | QueueSystem) -> Codec:
    """The tape for a system's events."""
    return Codec(import_module(system.options.__module__.rpartition(".")[0]))


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


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
        prefix = rest[at : at + _PREFIX.size]
        if len(prefix) < _PREFIX.size:
            cut.append(f"block {block} is cut")
            return
        length, checksum = _PREFIX.unpack(prefix)
        at += _PREFIX.size
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
