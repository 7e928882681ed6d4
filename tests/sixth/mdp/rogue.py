"""What a hostile peer says to an MDP broker: what it is, in words, and its frames behind the routing id.

It does not say READY: whoever has registered is given a request, and then its reply is that request's.
"""

from __future__ import annotations

from engine.core import Frames
from tests.sixth.mdp.messages import CLIENT, HEARTBEAT, READY, REPLY, WORKER

GARBAGE: tuple[tuple[str, Frames], ...] = (
    ("a command without its empty frame", [WORKER, READY, b"echo"]),
    ("a header of another version", [b"", b"MDPW99", READY, b"echo"]),
    ("READY of a service without a name", [b"", WORKER, READY, b""]),
    ("a request without a body", [b"", CLIENT, b"echo"]),
    ("an unknown command", [b"", WORKER, b"\x09"]),
    ("forty frames", [b""] * 40),
)
"""Every one of them is a violation, and its sender is never a worker."""

OVERCLAIMS: tuple[tuple[str, Frames], ...] = (
    ("a reply to a request that it was not given", [b"", WORKER, REPLY, b"client-1", b"", b"a result"]),
    ("the same reply again", [b"", WORKER, REPLY, b"client-1", b"", b"a result"]),
    ("a heartbeat of a worker that has not registered", [b"", WORKER, HEARTBEAT]),
)
"""It answers what nobody gave it."""
