"""Sockets with a name in a folder: bound so that nothing else is ever removed, and for this user alone.

libzmq removes whatever has the name before it binds, and leaves the mode to the umask. So the socket is made here and
handed over (ZMQ_USE_FD): it is bound under a random name, made 0600 and only then given its own name, which fails
where that name is taken. Only a socket of this user at which no process listens is removed before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import stat
from typing import NamedTuple

SCHEME = "ipc://"
BACKLOG = 4096
LONGEST = 103  # bytes of a path, what macOS takes; Linux takes four more


class Name(NamedTuple):
    """A bound socket's path, as long as this very socket is there."""

    path: str
    device: int
    inode: int

    def remove(self) -> None:
        """Remove it, unless it is gone or another file is in its place."""
        with contextlib.suppress(OSError):
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino) == (self.device, self.inode):
                os.unlink(self.path)


def listen(endpoint: str) -> tuple[int, Name]:
    """A listening socket at ``ipc://PATH``, which is the caller's to close, and its name, to remove afterwards.

    Raises OSError with the reason in ``strerror``.
    """
    path = endpoint.removeprefix(SCHEME)
    check(path)
    early = os.path.join(os.path.dirname(path), f".{secrets.token_hex(4)}")
    if len(os.fsencode(path)) > LONGEST or len(os.fsencode(early)) > LONGEST:
        raise OSError(errno.ENAMETOOLONG, f"longer than {LONGEST} bytes; name a shorter path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        bound.bind(early)
        try:
            os.chmod(early, 0o600)
            bound.listen(BACKLOG)
            _clear(path)
            with contextlib.suppress(FileExistsError):  # of another that was quicker, which shows below
                os.link(early, path)
            made, ours = os.lstat(path), os.lstat(early)
        finally:
            os.unlink(early)
        if (made.st_dev, made.st_ino) != (ours.st_dev, ours.st_ino):
            raise OSError(errno.EADDRINUSE, "another program has bound it meanwhile; name another path")
        return bound.detach(), Name(os.path.abspath(path), made.st_dev, made.st_ino)


def check(path: str) -> None:
    """Raises OSError where this is no path of a file."""
    if path.startswith("@"):
        raise OSError(errno.EINVAL, "an abstract name is open to every user of this machine; name a path")
    if path in ("", "*") or path.endswith("/"):
        raise OSError(errno.EINVAL, "name the path of a socket")


def sweep(path: str) -> bool:
    """Whether none of our processes listens there; what an earlier socket of ours left is removed."""
    try:
        found = os.lstat(path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
            return True
        if _alive(path):
            return False
        _clear(path)
    except OSError:  # it has gone, or another process has bound it meanwhile
        return not os.path.lexists(path)
    return True


def _clear(path: str) -> None:
    """Remove what an earlier socket of ours left. Raises OSError if something else is there."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise OSError(errno.EEXIST, "a file that is no socket stands there, and is left alone; name another path")
    if found.st_uid != os.geteuid():
        raise OSError(
            errno.EPERM, f"a socket of user {found.st_uid} stands there, and is left alone; name another path"
        )
    if _alive(path):
        raise OSError(errno.EADDRINUSE, "another program listens there; name another path")
    aside = os.path.join(os.path.dirname(path), f".{secrets.token_hex(4)}")
    os.rename(path, aside)
    if _alive(aside):  # another process bound it since we looked
        os.rename(aside, path)
        raise OSError(errno.EADDRINUSE, "another program listens there; name another path")
    os.unlink(aside)


def _alive(path: str) -> bool:
    """Whether a process listens at a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.setblocking(False)
        try:
            knock.connect(path)
        except ConnectionRefusedError:
            return False
        except BlockingIOError:  # its queue is full
            pass
    return True
