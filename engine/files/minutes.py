"""Figures of a process minute by minute, for ``DAYS`` days, in a file of fixed size that survives the process.

The rules of this file:

- A record has its place by its minute, so the file is a ring: the oldest one is overwritten. Each has a check sum, so
  one that was torn, or that is no record, is not read and harms no other.
- The minute under way is written every ``FLUSH`` seconds. A process that begins anew goes on with it.
- The file is this user's alone, and one process at a time writes it. The folder keeps the newest ``FILES`` of them.
- What can not be written is said once, and tried again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from engine.files import personal
from engine.files.safely import Unsafe

DAYS = 7
PLACES = DAYS * 24 * 60
FLUSH = 10.0  # seconds
FILES = 100
PAUSE = 5.0  # seconds between two looks that count as watched; what is longer was none
MOST = 2**32 - 1
_RECORD = struct.Struct("<8I")
_SUM = struct.Struct("<I")
SIZE = _RECORD.size + _SUM.size  # bytes of a record


class Minute(NamedTuple):
    """``at``: minutes since the epoch. All figures are of this minute."""

    at: int
    seconds: int = 0  # in which it was looked at
    done: int = 0
    failed: int = 0
    backlog: int = 0  # the most
    latency: int = 0  # µs, the highest
    alive: int = 0  # workers, the fewest
    lost: int = 0  # workers, the most


class Figures(NamedTuple):
    """What is seen at one moment. ``done``, ``failed``: totals; ``latency``: µs."""

    done: int
    failed: int
    backlog: int
    latency: int
    alive: int
    lost: int


def path_of(folder: Path, system: str, endpoints: tuple[str, ...]) -> Path:
    """The file of what listens there; of one that nobody else can reach, that of its system."""
    endpoint = endpoints[0] if endpoints and not endpoints[0].startswith("inproc://") else ""
    name = re.sub(r"[^\w.]+", "-", f"{system}-{endpoint}")[:48].strip("-.")
    return folder / f"{name}-{hashlib.blake2b(os.fsencode(f'{system} {endpoint}'), digest_size=4).hexdigest()}"


def packed(minute: Minute) -> bytes:
    """A record."""
    data = _RECORD.pack(*(max(0, min(value, MOST)) for value in minute))
    return data + _SUM.pack(zlib.crc32(data))


def unpacked(data: bytes, place: int) -> Minute | None:
    """A record that was at this place; None for what is none."""
    if len(data) != SIZE or _SUM.unpack(data[-_SUM.size :])[0] != zlib.crc32(data[: -_SUM.size]):
        return None
    minute = Minute(*_RECORD.unpack(data[: -_SUM.size]))
    return minute if minute.at % PLACES == place and minute.at else None


def read(path: Path, now: float) -> list[Minute]:
    """The minutes up to ``now``, seconds since the epoch, oldest first. Raises OSError."""
    return minutes_of(whole(path), now)


def whole(path: Path) -> bytes:
    """A file as it is. Raises OSError."""
    return personal.read(path, PLACES * SIZE, own=True)


def minutes_of(data: bytes, now: float) -> list[Minute]:
    """The minutes in a file, as ``read``; what is no record there is left out."""
    newest = int(now // 60)
    found = (
        unpacked(data[place * SIZE : (place + 1) * SIZE], place) for place in range(min(len(data) // SIZE, PLACES))
    )
    return sorted(minute for minute in found if minute is not None and newest - PLACES < minute.at <= newest)


class Recorder:
    """For one thread. ``say``: is told once why nothing can be kept, and that it can be again."""

    def __init__(self, path: Path, say: Callable[[str, bool], None]) -> None:
        self._path, self._say = path, say
        self._file: int | None = None
        self._minute: Minute | None = None
        self._part = 0.0  # of a second
        self._before: tuple[float, Figures] | None = None
        self._due = 0.0
        self._troubled = False

    def look(self, now: float, seen: Figures) -> None:
        """Note what is seen at ``now``, seconds since the epoch."""
        if self._minute is None or self._minute.at != int(now // 60):
            self._flush(now)
            self._minute = self._begun(int(now // 60)) or Minute(int(now // 60), alive=seen.alive)
        at, before = self._before or (now, seen)
        self._before = now, seen
        passed = now - at
        self._part += passed if 0 < passed <= PAUSE else 0.0
        minute, whole = self._minute, int(self._part)
        self._part -= whole
        self._minute = Minute(
            minute.at,
            minute.seconds + whole,
            minute.done + max(0, seen.done - before.done),
            minute.failed + max(0, seen.failed - before.failed),
            max(minute.backlog, seen.backlog),
            max(minute.latency, seen.latency),
            min(minute.alive, seen.alive),
            max(minute.lost, seen.lost),
        )
        if not self._due - FLUSH <= now < self._due:  # it is due, or the clock was put back
            self._flush(now)

    def close(self) -> None:
        """Write what is not yet written."""
        self._flush(self._due)
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _begun(self, at: int) -> Minute | None:
        """What was kept of this minute, by us or by a process before."""
        try:
            found = unpacked(os.pread(self._opened(), SIZE, at % PLACES * SIZE), at % PLACES)
        except OSError as error:
            self._trouble(error)
            return None
        return found if found is not None and found.at == at else None

    def _flush(self, now: float) -> None:
        self._due = now + FLUSH
        if self._minute is None:
            return
        try:
            os.pwrite(self._opened(), packed(self._minute), self._minute.at % PLACES * SIZE)
        except OSError as error:
            self._trouble(error)
        else:
            if self._troubled:
                self._troubled = False
                self._say("the history of minutes is kept again", True)

    def _trouble(self, error: OSError) -> None:
        if not self._troubled:
            self._troubled = True
            self._say(f"the history of minutes is not kept: {error}", False)

    def _opened(self) -> int:
        """The file. Raises OSError, also where another process writes it."""
        if self._file is None:
            personal.folder(self._path.parent)
            _thin_out(self._path)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = os.open(self._path, flags, 0o600)
            try:
                if os.fstat(file).st_uid != os.getuid():
                    raise Unsafe("belongs to another user", str(self._path))
                os.fchmod(file, 0o600)
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(
                    file, PLACES * SIZE
                )  # what is longer is none of ours; what was never written takes no room
            except BlockingIOError:
                os.close(file)
                raise OSError(f"{self._path} is written by another process") from None
            except OSError:
                os.close(file)
                raise
            self._file = file
        return self._file


def _thin_out(path: Path) -> None:
    """Remove the files that were written longest ago, so that this one has room among ``FILES``."""
    others = [(one.lstat().st_mtime, one) for one in path.parent.iterdir() if one != path]
    for _, one in sorted(others)[: max(0, len(others) + 1 - FILES)]:
        with suppress(OSError):
            one.unlink()
