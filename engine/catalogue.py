"""The systems by name: the only list of them. The first is the one that opens where none is named."""

from __future__ import annotations

from engine.core import System
from engine.protocols import conversation, negotiated, pingpong, roundrobin

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        roundrobin.SYSTEM,
        conversation.SYSTEM,
        pingpong.SYSTEM,
        negotiated.SYSTEM,
    )
}
