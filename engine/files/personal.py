"""Files of this user's own: what they configure, what they name, and what is kept for them.

The rules of this file:

- What is kept is 0600 in folders that are 0700. A folder of ours that was made looser is tightened when it is used.
- Whoever names a file may name a link to it. In the end it must be a regular file, so a FIFO or a device that is named
  is refused at once and nobody waits for it. A link that another user has put there leads nowhere.
- What is read of a file has a bound; what is written is on the disk, or OSError says that it is not.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from engine.files import safely
from engine.files.safely import Unsafe

PRIVATE = 0o700
LINKS = 40  # on the way to one file, as the kernel has it
OTHERS = 0o077  # the bits of a mode that let in anybody but the owner


def read(path: Path, most: int, own: bool = False) -> bytes:
    """The first ``most`` + 1 bytes of a regular file, so that more than ``most`` can be seen. Raises OSError.

    ``own``: a file of another user but root is ``Unsafe``, for what stands in it is believed.
    """
    with os.fdopen(opened(path, own), "rb") as file:
        return file.read(most + 1)


def opened(path: Path, own: bool = False) -> int:
    """The same, as a descriptor."""
    return safely.open_file(_led(path), owners=(os.getuid(), 0) if own else None)


def _led(path: Path) -> str:
    """Where a path leads to, through links of this user's or the system's only."""
    here, todo, links = "/", [*path.absolute().parts[1:]], 0
    while todo:
        step = os.path.join(here, todo.pop(0))
        found = os.lstat(step)
        if not stat.S_ISLNK(found.st_mode):
            here = os.path.normpath(step)  # no link is left in it, so ".." is the folder above
            continue
        links += 1
        if found.st_uid not in (os.getuid(), 0):
            raise Unsafe(f"is a link that uid {found.st_uid} has put there", step)
        if links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = os.readlink(step)
        here = "/" if target.startswith("/") else here
        todo = [*filter(None, target.split("/")), *todo]
    return here


def folder(path: Path) -> None:
    """Make a folder for what is kept, and those above it that are missing, all 0700; tighten it where it is looser."""
    if not path.is_dir():
        missing = [one for one in path.parents if not one.exists()]
        for one in (*reversed(missing), path):
            one.mkdir(mode=PRIVATE, exist_ok=True)
    tighten(path)


def tighten(path: Path) -> None:
    """Remove all rights but the owner's from a folder of this user."""
    with safely.folder(str(path)) as handle:
        found = os.fstat(handle)
        if found.st_uid == os.getuid() and found.st_mode & OTHERS:
            os.fchmod(handle, PRIVATE)


def keep(path: Path, content: bytes) -> None:
    """Replace a file of this user's own, whole or not at all: 0600, on the disk on return, its folder 0700."""
    folder(path.parent)
    safely.replace(str(path), content, sync=True)


def readers(path: Path) -> str:
    """Who else can read a file of this user, in words with its mode; "" for nobody."""
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    return f"others can read it, its mode is {mode:04o}" if found.st_uid == os.getuid() and mode & OTHERS else ""
