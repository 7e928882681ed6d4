"""Every system's hostile messages are what they say: counted, one by one, and nobody is taken in for them."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Core, Frames, Received, Started
from engine.system import System
from tests.sixth.mdp import SYSTEM as SIXTH

ROGUE = b"rogue-1"
ALL = (*SYSTEMS.values(), SIXTH)
GARBAGE = [
    pytest.param(system, frames, id=f"{system.name}: {words}") for system in ALL for words, frames in system.garbage
]


def told(system: System, *messages: Frames) -> Core:
    """The broker of a system, after a stranger has said this where workers speak, and nobody else anything."""
    wall: dict[str, Any] = {"wall_offset": 1e9} if system.wall else {}
    seat = system.broker(system.options(), (system.endpoint,), **wall)
    heard = next(socket.name for socket in seat.sockets if system.endpoint in socket.bind)
    seat.core.handle(Started(), 0.0)
    for frames in messages:
        seat.core.handle(Received([[ROGUE, *frames]], heard), 1.0)
        seat.core.check()
    return seat.core


@pytest.mark.parametrize(("system", "frames"), GARBAGE)
def test_garbage_is_a_violation_each(system: System, frames: Frames) -> None:
    view = told(system, frames).snapshot(1.0)
    assert [(incident.peer, incident.times) for incident in view.incidents] == [(ROGUE, 1)]
    assert view.workers == () and view.ledger.sent == 0


@pytest.mark.parametrize("system", ALL, ids=lambda system: system.name)
def test_overcredit_is_blamed_and_gives_nothing(system: System) -> None:
    view = told(system, *(frames for _, frames in system.overclaims)).snapshot(1.0)
    assert sum(incident.times for incident in view.incidents if incident.peer == ROGUE) >= 1
    assert all(row.slots == row.free == 1 for row in view.workers) and len(view.workers) <= 1
