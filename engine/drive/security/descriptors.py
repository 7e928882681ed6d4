"""Whether this process has descriptors left for newcomers.

At the limit libzmq can not accept, and tries again and again at the cost of a whole core. So a reserve is kept: while
less is left, newcomers are put off. Counting costs a look at a folder, so that is done where the last count may be out
of date.
"""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Callable

FOLDER = "/dev/fd"  # Linux and macOS list there what the asking process has open
RESERVE = 64  # descriptors that are kept for everything else, or an eighth of the limit where that is more
FRESH = 0.1  # seconds for which a count holds
AGAIN = 60.0  # seconds between two lines about it


def count() -> tuple[int, int]:
    """Descriptors that are open, and how many may be."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        return len(os.listdir(FOLDER)) - 1, soft  # one is the listing itself
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        return soft, soft  # not even one is left to look with


def hang_up(fd: int, endpoint: str) -> None:
    """End a connection that libzmq has accepted at this endpoint: it then closes it, at once.

    libzmq itself keeps whoever was put off until the time for a handshake is over, and its descriptor with it.
    """
    try:
        connection = socket.socket(fileno=fd)
    except OSError:  # closed by now, and perhaps something else that is no socket
        return
    try:
        name = connection.getsockname()
        here = f"ipc://{name}" if isinstance(name, str) else f":{name[1]}"
        if endpoint.endswith(here):
            connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # the other end was quicker
    finally:
        connection.detach()


def other_end(fd: int) -> str:
    """The address of the other end of a connection over tcp."""
    try:
        connection = socket.socket(fileno=fd)
    except OSError:  # closed by now
        return "somebody who is gone"
    try:
        host, port = connection.getpeername()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    except OSError:
        return "somebody who is gone"
    finally:
        connection.detach()


class Descriptors:
    """Asked about each newcomer. ``now``: monotonic seconds."""

    def __init__(self, count: Callable[[], tuple[int, int]] = count) -> None:
        self._count = count
        self._at = self._said = float("-inf")
        self._open = self._limit = 0
        self._since = 0  # newcomers since the last count

    def short(self, now: float) -> bool:
        """Whether a newcomer has to be put off."""
        self._since += 1
        room = self._limit - max(RESERVE, self._limit // 8) - self._open  # at the last count
        if now >= self._at + FRESH or 0 < room < self._since:
            self._open, self._limit = self._count()
            self._at, self._since = now, 1
            room = self._limit - max(RESERVE, self._limit // 8) - self._open
        return room <= 0

    def words(self, now: float) -> str | None:
        """What to say about it; None where that was said just now."""
        if now < self._said + AGAIN:
            return None
        self._said = now
        return (
            f"{self._open:,} of {self._limit:,} descriptors are open: newcomers are asked to try again later; "
            "raise the limit with ulimit -n"
        )
