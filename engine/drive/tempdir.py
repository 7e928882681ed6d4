"""A temporary folder that goes with its process, and those of processes that could not remove theirs.

The rules of this file:

- Each folder has a file that its owner has locked. However the owner ends, the kernel releases the lock: a
  folder whose lock can be taken has no owner.
- A folder is removed only with its lock held, and only if it is this user's and has the name and file of one of ours.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress

from engine.drive.locks import Lock

MARK = ".roundhouse.lock"


class LockedTempDir:
    """A new folder, ``path``, until ``close``. Raises ``OSError`` where none can be made."""

    def __init__(self, prefix: str) -> None:
        sweep(prefix)
        while True:
            self.path = tempfile.mkdtemp(prefix=prefix)
            self._lock = Lock(self.path, MARK)
            with suppress(FileNotFoundError):  # swept away by another process before it was locked
                if self._lock.acquire():
                    return

    def close(self) -> None:
        """Remove it with all that is in it, as far as that can be."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.release(remove=False)


def sweep(prefix: str) -> None:
    """Remove the folders of this name that dead processes left."""
    for entry in os.scandir(tempfile.gettempdir()):
        if entry.name.startswith(prefix) and _ours(entry.path) and _ours(f"{entry.path}/{MARK}", stat.S_ISREG):
            lock = Lock(entry.path, MARK)
            with suppress(OSError):  # it goes just now, or can not be opened: then it stays
                if lock.acquire(create=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                    lock.release(remove=False)


def _ours(path: str, kind: Callable[[int], bool] = stat.S_ISDIR) -> bool:
    """Whether there is such a thing of this user, and no link to one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return found.st_uid == os.getuid() and kind(found.st_mode)
