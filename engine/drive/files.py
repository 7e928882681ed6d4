"""Putting a file in place so that whoever reads it, also after a crash, finds the old one or the new one."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the place, flush to the disk, rename. Raises OSError; then the old file stays."""
    half = path.with_name(f".roundhouse-{os.getpid()}-{threading.get_ident()}")  # nobody else's, in any thread
    try:
        with half.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except OSError:
        half.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
