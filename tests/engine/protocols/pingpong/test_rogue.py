"""Every hostile message is what it says it is: counted, one by one, and nobody is taken in for it."""

from __future__ import annotations

import pytest

from engine.core import Frames, Received, Started
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.rogue import GARBAGE, OVERCREDIT

ROGUE = b"rogue-1"


@pytest.mark.parametrize(("words", "frames"), GARBAGE, ids=[words for words, _ in GARBAGE])
def test_garbage_is_a_violation_each(words: str, frames: Frames) -> None:
    broker = SYSTEM.broker(SYSTEM.options(), (SYSTEM.endpoint,)).core
    broker.handle(Started(), 0.0)
    broker.handle(Received([[ROGUE, *frames]], "backend"), 1.0)
    broker.check()
    view = broker.snapshot(1.0)
    assert [(incident.peer, incident.times) for incident in view.incidents] == [(ROGUE, 1)], words
    assert view.workers == () and view.ledger.sent == 0


def test_overcredit_is_blamed_and_gives_nothing() -> None:
    broker = SYSTEM.broker(SYSTEM.options(), (SYSTEM.endpoint,)).core
    broker.handle(Started(), 0.0)
    for _, frames in OVERCREDIT:
        broker.handle(Received([[ROGUE, *frames]], "backend"), 1.0)
        broker.check()
    view = broker.snapshot(1.0)
    assert sum(incident.times for incident in view.incidents if incident.peer == ROGUE) >= 1
    assert all(row.slots == row.free == 1 for row in view.workers) and len(view.workers) <= 1
