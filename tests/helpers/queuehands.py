"""Queues in which everybody writes, and what others may put there, beside files that only the operator may touch."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.protocols.diskqueue.pipeline import queue_folder

SECRET = "nobody but the operator reads this"
STARTUP = "what the operator's shell runs"
NUMBER = "7"


class Place:
    """A root with two queues in which everybody writes, and beside it what belongs to the operator alone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.aside = root / "home", root / "aside"
        self.src, self.dst = Path(queue_folder(str(root), "start")), Path(queue_folder(str(root), "a"))
        self.own = root / f"worker-{NUMBER}"
        for folder in (self.home, self.aside, self.src, self.dst, self.own):
            folder.mkdir()
        (self.home / "secret").write_text(SECRET, encoding="utf-8")
        (self.home / "secret").chmod(0o600)
        (self.home / "startup").write_text(STARTUP, encoding="utf-8")
        (self.home / "folder").mkdir()
        os.mkfifo(self.home / "fifo")  # to open it without O_NONBLOCK would take for ever
        self.before = self.seen()
        self.count = 0
        self.planted: set[Path] = set()

    def seen(self) -> dict[str, tuple[Any, ...]]:
        """All that can be told of the operator's files."""
        found: dict[str, tuple[Any, ...]] = {}
        for path in [self.home, *self.home.rglob("*")]:
            status = path.lstat()
            text = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path)] = (status.st_mode, status.st_uid, status.st_ino, status.st_mtime_ns, text)
        return found

    def plant(self, path: Path, kind: str) -> None:
        """Put something there; what was there is moved aside."""
        self.count += 1
        self.planted.add(path)
        if os.path.lexists(path):
            path.rename(self.aside / str(self.count))
        KINDS[kind](self, path)

    def judge(self) -> None:
        """Nothing outside the queues is other than it was, and nothing of it is in them."""
        assert self.seen() == self.before
        assert {path.name for path in {*self.root.iterdir()} - self.planted} <= {
            *("home", "aside", self.src.name, self.dst.name, "in", ".watchers", "pipeline.json", "watchdog.json"),
            *(".watchdog.lock", "quit", "kill", *(f"worker-{number}" for number in range(20))),
        }
        for folder in (self.src, self.dst, *self.root.glob("worker-*")):
            for path in folder.iterdir() if stat.S_ISDIR(folder.lstat().st_mode) else ():
                if stat.S_ISREG(path.lstat().st_mode):
                    assert SECRET not in path.read_text(encoding="utf-8", errors="replace"), path


def foreign(place: Place, path: Path) -> None:
    path.write_text("a stranger's", encoding="utf-8")
    path.chmod(0o666)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)


KINDS: dict[str, Callable[[Place, Path], None]] = {
    "link to a secret": lambda place, path: path.symlink_to(place.home / "secret"),
    "link to a file": lambda place, path: path.symlink_to(place.home / "startup"),
    "link to a folder": lambda place, path: path.symlink_to(place.home / "folder"),
    "link to a FIFO": lambda place, path: path.symlink_to(place.home / "fifo"),
    "link to nothing": lambda place, path: path.symlink_to(place.home / "new"),
    "link to a device": lambda place, path: path.symlink_to("/dev/zero"),
    "FIFO": lambda place, path: os.mkfifo(path),
    "folder": lambda place, path: path.mkdir(),
    "socket": lambda place, path: os.mknod(path, 0o600 | stat.S_IFSOCK),
    "a stranger's file": foreign,
    "a promise to publish": lambda place, path: (path.write_text(f"{place.home}\n", encoding="utf-8"), None)[1],
}


@contextmanager
def somewhere() -> Iterator[Place]:
    root = Path(tempfile.mkdtemp())
    try:
        yield Place(root)
    finally:
        shutil.rmtree(root)
