"""The history of the ``:`` line, kept in a file."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path

from engine.files import personal, safely

LINES = 500
MAX_FILE = 1024 * 1024  # bytes that are read


class History:
    """Typed lines, oldest first, and a position. Errors of the file are reported, never fatal."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines: list[str] = []
        self._place = 0
        self._draft = ""

    @property
    def begun(self) -> bool:
        """Whether a console of this user was used before; raises OSError."""
        return self.file.exists()

    def begin(self) -> None:
        """From now on one was. Raises OSError."""
        personal.folder(self.file.parent)
        self.file.touch(mode=0o600)

    def load(self) -> None:
        """Read the file, if there is one. Raises OSError."""
        self._read()
        self.rewind()

    def _read(self) -> None:
        with suppress(FileNotFoundError):
            text = personal.read(self.file, MAX_FILE)[:MAX_FILE].decode("utf-8", errors="replace")
            self.lines = [line for line in text.splitlines() if line.isprintable() and line][-LINES:]

    def add(self, line: str) -> None:
        """Append a line, not twice in a row, to what the file holds by now: other consoles write to it too.

        Raises OSError.
        """
        if line:
            personal.folder(self.file.parent)
            with safely.folder(str(self.file.parent)) as folder:
                fcntl.flock(folder, fcntl.LOCK_EX)  # until the folder is closed
                self._read()
                if self.lines[-1:] != [line]:
                    self.lines = [*self.lines, line][-LINES:]
                    personal.keep(self.file, "".join(f"{old}\n" for old in self.lines).encode())
        self.rewind()

    def rewind(self) -> None:
        """Back to the end: the next ``older`` is the newest line."""
        self._place, self._draft = len(self.lines), ""

    def older(self, draft: str) -> str:
        """The previous line; ``draft`` is the current input, which comes back after the newest line."""
        if self._place == len(self.lines):
            self._draft = draft
        self._place = max(0, self._place - 1)
        return self.lines[self._place] if self.lines else draft

    def newer(self, draft: str) -> str:
        """The next line, and finally the draft."""
        if self._place >= len(self.lines):
            return draft
        self._place += 1
        return self._draft if self._place == len(self.lines) else self.lines[self._place]
