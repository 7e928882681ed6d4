"""Whether a driver's destination has room: it waits while too many documents, or too much, wait there."""

from __future__ import annotations

from engine.parts.plain import several
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import Entry, List, Steps


class Room:
    """What a driver knows of its destination."""

    def __init__(self, config: DriverConfig) -> None:
        self._config = config
        self._waits = False

    def full(self) -> Steps[str]:
        """Why there is none, or the empty string. Costs nothing where there is no limit."""
        config = self._config
        if not config.max_files and not config.max_bytes:
            return ""
        files, size = fullness((yield List(config.dst)).entries)
        if 0 < config.max_files <= files:
            return f"{files} of {several(config.max_files, 'document')}"
        return f"{size} of {config.max_bytes} bytes" if 0 < config.max_bytes <= size else ""

    def news(self, full: str) -> str:
        """What is to be told: once when it begins to wait for room, once when it goes on, else the empty string."""
        if bool(full) == self._waits:
            return ""
        self._waits = bool(full)
        return f"waits: {self._config.dst} is full, {full}" if full else f"goes on: {self._config.dst} has room again"


def fullness(entries: tuple[Entry, ...]) -> tuple[int, int]:
    """Files and bytes that wait in a destination: ready, writing and failed, as the original counts them."""
    files = size = 0
    for entry in entries:
        item = names.parse(entry.name)
        if isinstance(item, names.Item) and item.state in ("ready", "writing", "failed"):
            files += 1
            size += entry.size
    return files, size
