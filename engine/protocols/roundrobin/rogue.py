"""What a hostile peer says to a round robin broker: what it is, in words, and its frames behind the routing id."""

from __future__ import annotations

from engine.core import Frames
from engine.protocols.roundrobin import messages as wire

ID = b"rogue-id"

GARBAGE: tuple[tuple[str, Frames], ...] = (
    ("nothing that is a message", [b"\xff" * 16]),
    ("a version that nobody speaks", [b"", b"LMQv999", wire.PING, ID, b""]),
    ("a command that there is not", [b"", wire.VERSION, b"\x7f", ID, b""]),
    ("a task without its command", [b"", wire.VERSION, wire.TRACKEXEC, ID, b""]),
    ("an id that is too long", [b"", wire.VERSION, wire.PING, bytes(100), b""]),
    ("a REGISTER with more slots than there can be", [*wire.register(b"\1\0\0\0", 1)[:5], b"99999999", b""]),
    ("five hundred empty frames", [b""] * 500),
)
"""Every one of them is a violation, and its sender is never a worker."""

OVERCREDIT: tuple[tuple[str, Frames], ...] = (
    ("REGISTER with one slot", wire.register(b"\1\0\0\0", 1)),
    ("INCREMENT of a slot that it never used", wire.increment(b"\1\0\0\0")),
    ("INCREMENT, once more", wire.increment(b"\2\0\0\0")),
    ("INCREMENT, once more", wire.increment(b"\3\0\0\0")),
)
"""It joins and claims more than it has."""
