"""Where control sockets are: in a folder of this user alone.

The name of one is made of the broker's endpoint, of the pipeline's root, or of what it is and its process.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

LONG = 32  # characters of a name; a longer one is shortened to a hash, so that the path still fits into an address

NOWHERE = Path()
"""In place of the path of a control socket: there is to be none."""

LOCALHOST = re.compile(r"tcp://localhost:")


def place(folder: Path, endpoint: str) -> Path:
    """The control socket of the broker at this endpoint."""
    name = re.sub(r"[^\w.]+", "-", LOCALHOST.sub("tcp://127.0.0.1:", endpoint))
    if len(name) > LONG or endpoint.startswith("ipc://"):
        name = f"ipc-{_short(endpoint[6:])}"
    return folder / name


def place_of_root(folder: Path, root: str) -> Path:
    """The control socket of the pipeline under this root."""
    return folder / f"pipeline-{_short(root)}"


def place_of(folder: Path, role: str, endpoints: Sequence[str]) -> Path:
    """That of this process: by where its broker is, else by what it is called and its pid."""
    return place(folder, endpoints[0]) if endpoints else folder / f"{role}-{os.getpid()}"


def check_folder(folder: Path) -> None:
    """Raises PermissionError with the reason where the folder is not this user's alone.

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


def _short(path: str) -> str:
    """A path in 16 characters."""
    from hashlib import blake2b  # brings OpenSSL along, which takes as long as all else that a help needs

    return blake2b(os.fsencode(os.path.abspath(path)), digest_size=8).hexdigest()
