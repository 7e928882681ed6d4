"""Stores of tasks, by what an operator calls them: ``sqlite:PATH``, ``sqlite:`` for the usual file."""

from __future__ import annotations

from pathlib import Path

from engine.drive.stores.sqlite import Sqlite

SQLITE = "sqlite:"


def path_of(name: str, folder: Path, system: str) -> Path:
    """The file of a store; without a path in its name it is this system's in the folder."""
    return Path(name.removeprefix(SQLITE) or folder / f"{system}.sqlite").absolute()


def opened(name: str, folder: Path, system: str) -> Sqlite:
    """The store of this name, open. Raises ``engine.parts.store.Unavailable``."""
    return Sqlite(path_of(name, folder, system))
