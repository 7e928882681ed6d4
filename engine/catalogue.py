"""The systems by name: the only list of them. The first is the one that opens where none is named."""

from __future__ import annotations

from engine.protocols import conversation, diskqueue, negotiated, pingpong, roundrobin
from engine.system import QueueSystem, System

CATALOGUE: dict[str, System | QueueSystem] = {
    system.name: system
    for system in (
        roundrobin.SYSTEM,
        conversation.SYSTEM,
        pingpong.SYSTEM,
        negotiated.SYSTEM,
        diskqueue.SYSTEM,
    )
}

SYSTEMS: dict[str, System] = {name: system for name, system in CATALOGUE.items() if isinstance(system, System)}
"""Those of them that have a broker."""

QUEUES: dict[str, QueueSystem] = {name: system for name, system in CATALOGUE.items() if isinstance(system, QueueSystem)}
"""Those of them that have none: documents in folders."""
