"""What differs by kind: the sessions, screens and keys of a system at the console."""

from __future__ import annotations

from console.kinds import brokers, queues
from console.kinds.kind import Kind
from engine.system import QueueSystem, System

_KINDS = {System.kind: brokers.KIND, QueueSystem.kind: queues.KIND}


def kind_of(system: System | QueueSystem) -> Kind:
    """The kind of a system."""
    return _KINDS[system.kind]
