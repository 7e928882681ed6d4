"""What differs by kind: the sessions, screens and keys of a system at the console."""

from __future__ import annotations

from typing import Any

from console.kinds import brokers, queues
from console.sessions.kind import Kind
from console.sessions.remote import RemoteSession
from console.sessions.replay import ReplaySession
from console.sessions.sandbox import SandboxSession
from console.sessions.session import Orders, Session
from engine.system import QueueSystem, System

_KINDS = {System.kind: brokers.KIND, QueueSystem.kind: queues.KIND}


def kind_of(system: System | QueueSystem) -> Kind:
    """The kind of a system."""
    return _KINDS[system.kind]


def session_of(name: str, lab: Any, order: Orders | None = None) -> Session[Any]:
    """The session of a lab, by its mode. ``order``: who carries out its orders; at once by default.

    A sandbox is opened with its session, all others are open already.
    """
    kind = kind_of(lab.system)
    match lab.mode:
        case "replay":
            return ReplaySession(name, lab, kind)
        case "sandbox":
            return SandboxSession(lab, kind)
        case "remote":
            return RemoteSession(name, lab, kind, order)
        case _:
            return Session(name, lab, kind, order)
