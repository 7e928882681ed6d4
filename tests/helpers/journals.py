"""A small journal for tests."""

from __future__ import annotations

from pathlib import Path

from engine.core import Note, Received, Send, Started
from engine.journal.write import Journal
from engine.protocols.pingpong import SYSTEM

WORKER = ["tcp://127.0.0.1:6715", 7, 1]


def record(path: Path, events: int = 3) -> list[Note]:
    said: list[Note] = []
    journal = Journal(path, SYSTEM, SYSTEM.options(), said.append)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.tap("pool", "worker-1", 1.0, Started(), [Send([b"", b"READY"])])
    for i in range(events):
        journal.tap("pool", "worker-1", 2.0 + i, Received([[b"", b"PONG"]]), [])
    journal.close()
    return said
