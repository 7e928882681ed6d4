"""Writes a journal (``format``) while its lab runs.

The rules of this file:

- A node's thread only appends to a bounded queue; one thread packs and writes. A journal that is full, can not be
  written or is left behind by the engine ends with an event; what it recorded until then stands. Its file is flushed to
  the disk at the end, and ``lost`` says what did not get there.
- The file is its owner's alone: it holds whatever passed.
"""

from __future__ import annotations

import errno
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgpack

from engine import __version__
from engine.core import Command, Event, Exit, Note
from engine.files import safely
from engine.journal.format import (
    DIGEST,
    EVENT,
    EVERY,
    HEAD,
    HEARD,
    LEFT,
    LIMIT,
    MAGIC,
    NAMES,
    PREFIX,
    SEAT,
    About,
    crc,
    event_codec,
)
from engine.system import QueueSystem, System

BLOCK = 256 * 1024  # bytes of records that make a block
FLUSH = 0.25  # seconds after which a smaller block is written
BEHIND = 200_000  # records that may wait for the writer

Say = Callable[[Note], None]


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
        self._codec = event_codec(system)
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
        except (OSError, TypeError, ValueError) as error:  # the disk; or a core's key that no codec knows
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
                record[3:] = map(self._codec.plain, record[3:])
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
        self._size += self._put(PREFIX.pack(len(content), zlib.crc32(content)) + content)
        self._kept += records

    def _put(self, content: bytes) -> int:
        """Write all of it; a disk that is nearly full takes only a part of it first."""
        left = memoryview(content)
        while left:
            left = left[os.write(self._file, left) :]
        return len(content)


def _words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
