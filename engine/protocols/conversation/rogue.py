"""What a hostile peer says to a conversation's broker: what it is, in words, and its frames behind the routing id."""

from __future__ import annotations

from engine.core import Frames
from engine.protocols.conversation import header
from engine.protocols.conversation.messages import Update, pack_update

_OPENING: Frames = [b""]

GARBAGE: tuple[tuple[str, Frames], ...] = (
    ("bytes before any greeting", [b"GET / HTTP/1.1\r\n"]),
    ("a JOB before any greeting", [header.pack_body(header.JOB, b"\x80")]),
    ("two frames that are no keep-alive", [b"one", b"two"]),
    ("a keep-alive of a conversation that there is not", [b"", bytes(4)]),
    ("twenty frames", [b"x"] * 20),
)
"""Every one of them is a violation, and its sender is never a worker."""

OVERCREDIT: tuple[tuple[str, Frames], ...] = (
    ("the opening", _OPENING),
    ("OK with one processor", [header.pack(header.OK, 1)]),
    ("OK once more, with four thousand millions", [header.pack(header.OK, 0xFFFF_FFFF)]),
    (
        "UPDATE of a task that it was not given, and a thousand free processors",
        [header.pack_body(header.UPDATE, pack_update(Update(2**40, 1, True, "done", 1000)))],
    ),
    ("STOP, which is the broker's to say", [header.pack(header.STOP, 0)]),
)
"""It joins and claims more than it has."""
