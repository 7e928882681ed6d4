"""The seed's 12-byte header, and the byte stream that it frames.

- Little endian: magic u16, type u16, padding u32, arg0 u32. JOB and UPDATE have a body of arg0 bytes, the others none.
- The stream may come in pieces of any size: bytes of a message that is not complete are kept, and nothing else.
- A body's length is the peer's number: it is compared with the limit before a byte of the body is kept.
- What can not be read breaks the stream for good: nothing says where the next message would begin.
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

MAGIC = 0xC047
OK, JOB, UPDATE, STOP = 1, 2, 3, 4
ERROR = 5  # ours: the original has no such type
NAMES = {OK: "OK", JOB: "JOB", UPDATE: "UPDATE", STOP: "STOP", ERROR: "ERROR"}

STOP_ALL = 0
STOP_NOW = 0xFFFF_FFFF

CANNOT_RUN_JOB = 1  # the codes of ERROR are ours
LEAVING = 2  # from a worker: its DISCONNECT, where the transport shows none
BROKEN = 3  # from a broker: your conversation has ended, begin anew

_HEADER = Struct("<HHII")
_MAGIC = MAGIC.to_bytes(2, "little")
_SIZE = _HEADER.size

Message = tuple[int, int, int, bytes]
"""(type, padding, arg0, body). A plain tuple: one is made for every message."""


def pack(kind: int, arg0: int, padding: int = 0) -> bytes:
    """A message without a body. ``padding``: the JOB counter in ERROR(cannot_run_job) (ruling 8), a ``seal``, or 0."""
    return _HEADER.pack(MAGIC, kind, padding, arg0)


def seal(kind: int, arg0: int) -> int:
    """Ours: the padding of a STOP and of ERROR(broken), the CRC-32 of the rest of the header.

    With it no flipped bit makes a STOP of another message, or of a STOP one of other processors.
    """
    return crc32(pack(kind, arg0))


def pack_sealed(kind: int, arg0: int) -> bytes:
    """A message without a body that no flipped bit turns into another sealed one."""
    return pack(kind, arg0, seal(kind, arg0))


OVER = pack_sealed(ERROR, BROKEN)
"""How the broker says that a conversation has ended."""


def is_whole(kind: int, padding: int, arg0: int) -> bool:
    """Whether a message that may be sealed is as it was sent. One without a seal has no padding: the original's."""
    return padding in (0, seal(kind, arg0))


def pack_body(kind: int, body: bytes, padding: int = 0) -> bytes:
    """A JOB or an UPDATE. ``padding`` is the JOB's counter (ruling 8), else 0."""
    return _HEADER.pack(MAGIC, kind, padding, len(body)) + body


class Decoder:
    """One direction of one conversation. ``limit``: bytes of the longest body.

    ``count``: messages read so far; ``crc``: the CRC-32 of all bytes so far. ``broken``: why the stream can not be read
    any further, empty while it can.
    """

    __slots__ = ("_kept", "_wanted", "broken", "count", "crc", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = self.crc = 0
        self.broken = ""
        self._kept = bytearray()
        self._wanted = _SIZE  # bytes that must be there before anything more can be read

    @property
    def partial(self) -> bool:
        """Whether the stream stands inside a message."""
        return bool(self._kept)

    def begin(self, message: bytes) -> None:
        """The conversation begins with this message, which was read last: nothing before it counts."""
        self.count, self.crc = 1, crc32(message)

    def feed(self, chunk: bytes) -> list[Message]:
        """The messages that these bytes complete, in order; what was before a fault still comes out."""
        if self.broken:
            return []
        self.crc = crc32(chunk, self.crc)
        found: list[Message] = []
        kept = self._kept
        if not kept:
            kept += chunk[self._read(chunk, found) :]
        else:
            kept += chunk
            if len(kept) >= self._wanted:
                del kept[: self._read(kept, found)]
        self.count += len(found)
        return found

    def _read(self, data: bytes | bytearray, found: list[Message]) -> int:
        """Read whole messages; return how many bytes need not be kept."""
        at, end = 0, len(data)
        while end - at >= _SIZE:
            magic, kind, padding, arg0 = _HEADER.unpack_from(data, at)
            if magic != MAGIC:
                self.broken = "wrong magic"
                return end
            if kind not in NAMES:
                self.broken = "unknown message type"
                return end
            length = arg0 if kind in (JOB, UPDATE) else 0
            if length > self.limit:
                self.broken = "body too long"
                return end
            self._wanted = _SIZE + length
            if end - at < self._wanted:
                return at
            found.append((kind, padding, arg0, bytes(data[at + _SIZE : at + self._wanted])))
            at += self._wanted
        self._wanted = _SIZE if end - at >= len(_MAGIC) else len(_MAGIC)  # what is no magic is not waited upon
        if not _MAGIC.startswith(bytes(data[at : at + len(_MAGIC)])):
            self.broken = "wrong magic"
            return end
        return at
