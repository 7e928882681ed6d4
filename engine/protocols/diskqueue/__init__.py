"""Disk queues (seed 003): documents as files, states as names, locks as renames."""

from __future__ import annotations

from engine.protocols.diskqueue import seats
from engine.protocols.diskqueue.options import Options
from engine.system import QueueSystem

SYSTEM = QueueSystem("diskqueue", "003", "Disk queues", Options, seats.driver, seats.watchdog)
