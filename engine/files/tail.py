"""The end of a log that somebody writes, for a screen."""

from __future__ import annotations

import os

from engine.files import safely

MOST = 64 * 1024  # bytes


def tail(path: str) -> tuple[str, int]:
    """The last lines of a regular file, and how many bytes stand before them. Raises OSError."""
    with os.fdopen(safely.open_file(path), "rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - MOST)
        file.seek(start)
        content = file.read(MOST)
    if start:  # from the next whole line on, where there is one
        cut = content.find(b"\n") + 1
        start, content = start + cut, content[cut:]
    return content.decode("utf-8", "replace"), start
