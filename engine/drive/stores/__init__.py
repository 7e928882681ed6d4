"""Stores of tasks, by what an operator calls them.

``sqlite:PATH``, ``sqlite:`` for the usual file; ``nats://HOST:PORT/NAME`` for a queue that brokers share.
"""

from __future__ import annotations

from pathlib import Path

from engine.drive.stores.sqlite import Sqlite
from engine.parts.store import Keeps

SQLITE = "sqlite:"
NATS = "nats://"


def path_of(name: str, folder: Path, system: str) -> Path:
    """The file of a store; without a path in its name it is this system's in the folder."""
    return Path(name.removeprefix(SQLITE) or folder / f"{system}.sqlite").absolute()


def opened(name: str, folder: Path, system: str) -> Keeps:
    """The store of this name, open. Raises ``engine.parts.store.Unavailable``."""
    if not name.startswith(NATS):
        return Sqlite(path_of(name, folder, system), system=system)
    from engine.drive.stores.jetstream import JetStream  # with asyncio, a tenth of a process's start

    return JetStream(name)
