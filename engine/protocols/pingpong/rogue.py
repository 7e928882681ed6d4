"""What a hostile peer says to a ping-pong broker: what it is, in words, and its frames behind the routing id.

It does not say READY: whoever has joined is given a job, and then any body is that job's result.
"""

from __future__ import annotations

from engine.core import Frames
from engine.protocols.pingpong.messages import READY

GARBAGE: tuple[tuple[str, Frames], ...] = (
    ("a body without its delimiter", [READY]),
    ("a delimiter that is none", [b"x", READY]),
    ("three frames", [b"", READY, READY]),
    ("a result of no job", [b"", b"\x00\xff" * 64]),
    ("twenty frames", [b""] * 20),
)
"""Every one of them is a violation, and its sender is never a worker."""

OVERCREDIT: tuple[tuple[str, Frames], ...] = (
    ("a result of a job that it was not given", [b"", b"a result"]),
    ("the same result again", [b"", b"a result"]),
    ("a worker's words in small letters", [b"", b"ready"]),
)
"""It answers what nobody gave it."""
