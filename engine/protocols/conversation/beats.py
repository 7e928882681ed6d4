"""Keep-alives: each side says what it has sent so far, so that a hole or a flipped bit in the stream shows.

- An empty frame, then 8 bytes, little endian: how many messages of this conversation were sent (u32), and the CRC-32 of
  all their bytes (u32).
- Messages and keep-alives keep their order on a connection. So a keep-alive speaks of exactly what came before it.
- Without the CRC (4 bytes) it is taken as well, and answered in the same way: an earlier version sends it so.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

from engine.protocols.conversation.header import Decoder

_WHOLE = Struct("<II")
_COUNT = Struct("<I")
_WRAP = 0xFFFF_FFFF
SIZES = (_WHOLE.size, _COUNT.size)
"""Bytes of a keep-alive."""


class Sent:
    """One direction of one conversation, as its sender counts it."""

    __slots__ = ("count", "crc")

    def __init__(self) -> None:
        self.count = self.crc = 0

    def add(self, message: bytes) -> None:
        """One more whole message."""
        self.count += 1
        self.crc = crc32(message, self.crc)

    def beat(self, size: int = _WHOLE.size) -> bytes:
        """The keep-alive of now. ``size``: of the one that it answers."""
        count = self.count & _WRAP
        return _WHOLE.pack(count, self.crc) if size == _WHOLE.size else _COUNT.pack(count)


def fields(beat: bytes) -> tuple[int, int | None]:
    """Count and CRC of a keep-alive; None where it has no CRC."""
    if len(beat) == _WHOLE.size:
        count, crc = _WHOLE.unpack(beat)
        return count, crc
    return _COUNT.unpack(beat)[0], None


def fault(beat: bytes, received: Decoder) -> str:
    """What befell the messages of which a keep-alive speaks; empty where they arrived as they were sent."""
    count, crc = fields(beat)
    if received.partial or count != received.count & _WRAP:
        return "messages were lost"
    return "" if crc is None or crc == received.crc else "messages were changed"
