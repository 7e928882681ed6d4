"""What cores want kept beyond this process: small files under the user's state directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.core import Note
from engine.files import personal

LIMIT = 1024 * 1024  # bytes that are read back


class StateStore:
    """Files of one folder, by plain name; with no folder nothing is kept. Errors of the disk are OSError."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def save(self, name: str, content: bytes) -> None:
        """Replace what is kept under a name, whole or not at all. Any thread."""
        if self._folder is None:
            return
        personal.keep(self._folder / name, content)

    def load(self, name: str) -> bytes | None:
        """What was kept last under a name; None if nothing was, or it is too large to be ours."""
        if self._folder is None:
            return None
        try:
            content = personal.read(self._folder / name, LIMIT, own=True)
        except FileNotFoundError:
            return None
        return content if len(content) <= LIMIT else None

    def recall(self, name: str, say: Callable[[Note], None]) -> bytes | None:
        """The same; what can not be read is told, and nothing was kept."""
        try:
            return self.load(name)
        except OSError as error:
            say(Note("warn", f"what was kept is not used: {error.filename} {error.strerror or error}"))
            return None
