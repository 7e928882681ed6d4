"""What a hostile peer says to a negotiated broker: what it is, in words, and its frames behind the routing id."""

from __future__ import annotations

from typing import Any

from engine.core import Frames
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names

_READY: dict[str, Any] = {"services": ["ping"], "heartbeat_interval": 1.0, "time": 0.0, "config_version": 1}

GARBAGE: tuple[tuple[str, Frames], ...] = (
    ("a command that there is not", wire.build(b"GET", {})),
    ("a header that is no map", [names.PING, b"\x93\x01\x02\x03", b""]),
    ("a header that is cut", [names.PING, b"\xdf\xff\xff", b""]),
    ("a PING without its time", wire.build(names.PING, {"config_version": 1})),
    ("a form of configuration that there is not", wire.build(names.CHECKCONFIG, {"config_type": "yaml"})),
    ("a READY from another century", wire.build(names.READY, _READY)),
    ("twenty frames", [b""] * 20),
)
"""Every one of them is a violation, and its sender is never a worker."""

OVERCREDIT: tuple[tuple[str, Frames], ...] = (
    ("READY with more slots than there can be", wire.build(names.READY, {**_READY, "slots": 1_000_000})),
    ("READY with no slots at all", wire.build(names.READY, {**_READY, "slots": 0})),
    ("READY that holds what is no task", wire.build(names.READY, {**_READY, "holding": [""]})),
    ("a reply to a request that it was not given", wire.build(names.WORKREPLY, {names.IDENTIFIER: b"00.00"}, b"x")),
)
"""It claims more than a worker may have, and answers what nobody gave it."""
