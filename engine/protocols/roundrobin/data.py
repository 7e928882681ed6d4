"""The DATA frame of a stream response: made by workers, checked by clients to the last byte.

``state packing 08 handle`` and then records ``int32 offset, int32 n, n × 0x01`` until the n sum to what was asked for;
0 ≤ offset ≤ 1024 − n. The original cuts streams in records of random length, and so do we, from a generator that the
constructor seeds.
"""

from __future__ import annotations

from struct import Struct

FINISHED, ABORTED = b"2", b"1"
RAW = b"R"
HANDLE_BYTES = 8
BLOCK = 1024  # bytes: the longest record, and the bound of offset + n

_HEAD = Struct("<ccBQ")
_RECORD = Struct("<ii")
_ONES = b"\x01" * BLOCK


class Dice:
    """A small deterministic generator (a linear congruence modulo 2³¹); good enough to cut test data."""

    __slots__ = ("_x",)

    def __init__(self, seed: int) -> None:
        self._x = seed & 0x7FFFFFFF

    def below(self, n: int) -> int:
        """A number 0..n-1."""
        self._x = (self._x * 1103515245 + 12345) & 0x7FFFFFFF
        return (self._x >> 8) % n


def make(size: int, handle: int, dice: Dice) -> bytes:
    """One finished packet of ``size`` bytes of payload; the handle tells streams apart and means nothing else."""
    parts = [_HEAD.pack(FINISHED, RAW, HANDLE_BYTES, handle)]
    while size > 0:
        n = min(dice.below(BLOCK) + 1, size)
        parts.append(_RECORD.pack(dice.below(BLOCK - n + 1), n))
        parts.append(_ONES[:n])
        size -= n
    return b"".join(parts)


def abort(handle: int) -> bytes:
    """A packet that says that the stream will not come."""
    return _HEAD.pack(ABORTED, RAW, HANDLE_BYTES, handle)


def wrong(data: bytes, size: int) -> str | None:
    """What is wrong with a packet that should be a whole stream of ``size`` bytes; None if nothing is."""
    if len(data) < _HEAD.size or data[1:2] != RAW or data[2] != HANDLE_BYTES:
        return "not a raw stream packet"
    if data[:1] != FINISHED:
        return "stream not finished"
    at, total = _HEAD.size, 0
    while at < len(data):
        if len(data) - at < _RECORD.size:
            return "record cut short"
        offset, n = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if n < 1 or not 0 <= offset <= BLOCK - n:
            return "offset or length out of range"
        if data.count(1, at, at + n) != n:
            return "payload is not all 0x01"
        at += n
        total += n
    return None if total == size else "wrong sum"
