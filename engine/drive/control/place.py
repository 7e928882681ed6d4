"""Where a broker's control socket is: in a folder of this user alone, under a name made of the broker's endpoint."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

LONG = 32  # characters of a name; a longer one is shortened to a hash, so that the path still fits into an address

LOCALHOST = re.compile(r"tcp://localhost:")


def place(folder: Path, endpoint: str) -> Path:
    """The control socket of the broker at this endpoint."""
    name = re.sub(r"[^\w.]+", "-", LOCALHOST.sub("tcp://127.0.0.1:", endpoint))
    if len(name) > LONG or endpoint.startswith("ipc://"):
        name = f"ipc-{hashlib.blake2b(os.path.abspath(endpoint[6:]).encode(), digest_size=8).hexdigest()}"
    return folder / name


def check_folder(folder: Path) -> None:
    """Raises PermissionError with the reason where the folder is not this user's own and of nobody else.

    FileNotFoundError where there is none.
    """
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{folder} is no folder")
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to user {found.st_uid}")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder} has mode {stat.S_IMODE(found.st_mode):o}, so others can reach it; make it 700")


def make_folder(folder: Path) -> None:
    """Make the folder where there is none, 0700 whatever the umask. Raises OSError as ``check_folder`` does."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    except FileExistsError:
        pass
    check_folder(folder)
