"""A trace of another process: entries as they were explained there, and pulled from a bounded trace."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgpack

from engine.journal.checks import fits
from engine.journal.codec import Unreadable
from engine.labs.shared import shaped
from engine.parts.unpacking import UNREADABLE, unpack
from engine.tracing.links import Entry
from engine.tracing.ring import Record, Ring

ENTRIES = 300  # in one answer
BYTES = 1024 * 1024  # of frames in one answer
FRAME = 1000  # bytes of a frame that are told
FRAMES = 32
ARRAYS, VALUES = 100_000, 1_000_000  # in one answer


def packed_entries(entries: Sequence[Entry]) -> bytes:
    """The newest of these entries, whole messages, as many as fit into one answer."""
    told: list[Entry] = []
    size = 0
    for entry in reversed(entries[-ENTRIES:]):
        told.append(entry._replace(frames=[frame[:FRAME] for frame in entry.frames[:FRAMES]], record=None))
        size += sum(map(len, told[-1].frames))
        if size > BYTES:
            break
    data: bytes = msgpack.packb(told[::-1], unicode_errors="surrogateescape")
    return data


class FarTrace(Ring[Record]):
    """``name``: of the trace there; ``lost``: messages that were not pulled in time."""

    def __init__(self, kept: int) -> None:
        super().__init__(kept)
        self.name = secrets.token_hex(8)
        self.lost = 0

    def tap(self, node: str, name: str, now: float, event: Any, commands: Any) -> None:
        """Nothing happens here."""

    def take(self, told: Mapping[str, Any]) -> None:
        """Take an answer to ``tap``. Raises Unreadable."""
        data, total = told.get("Data"), told.get("Total")
        if type(data) is not bytes or type(total) is not int:
            raise Unreadable(str(told.get("Why", "no messages")))
        try:
            entries = [
                shaped(entry, Entry) for entry in unpack(data, ARRAYS, values=VALUES, unicode_errors="surrogateescape")
            ]
        except (*UNREADABLE, msgpack.ExtraData):
            raise Unreadable("no messages") from None
        if not fits(entries, list[Entry]):
            raise Unreadable("a message with a field of another type")
        if total < self.total:  # it was ended there, as nobody asked for it, and has begun anew
            self.anew()
        with self._lock:
            for number, parts in groupby(entries, lambda entry: entry.number):
                if number > self.total:
                    self.lost += number - self.total - 1
                    self._keep(_record(number, tuple(parts)))
                    self.total = number

    def anew(self) -> None:
        """The other side has been started again: what it told before, stays as it was told."""
        with self._lock:
            self._ring.clear()
            self.total = self._bytes = 0

    def cost(self) -> str:
        """What was missed."""
        return f"traced there · {self.lost:,} lost" if self.lost else "traced there"

    def _entries(self, record: Record) -> Iterable[Entry]:
        return record.entries or ()


def _record(number: int, parts: tuple[Entry, ...]) -> Record:
    record = Record(number, parts[0].at, parts[0].size, None)
    record.entries = parts
    return record
