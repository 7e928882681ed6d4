"""What drivers in tests do with a document; each knows its folder by the paths that it gets."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path


def note(source: str, target: str) -> None:
    """Copy, and write down the id: one line appended in one call."""
    shutil.copyfile(source, target)
    id = os.path.basename(source).rsplit(".", 2)[0]
    with open(Path(source).parents[1] / "processed", "ab", buffering=0) as file:
        file.write(f"{id}\n".encode())


def working(source: str, target: str) -> None:
    """Wait to be killed, with nothing written."""
    _reach(source)


def half(source: str, target: str) -> None:
    """Wait to be killed, with half of the output written."""
    Path(target).write_text("text of", encoding="utf-8")
    _reach(source)


def published(source: str, target: str) -> None:
    """Wait to be killed, with the output complete but not published."""
    shutil.copyfile(source, target)
    _reach(source)


def tell(source: str, target: str) -> None:
    """Copy, and meanwhile tell this driver to leave."""
    shutil.copyfile(source, target)
    os.kill(os.getpid(), signal.SIGTERM)


def _reach(source: str) -> None:
    (Path(source).parents[1] / "reached").touch()
    while True:
        signal.pause()
