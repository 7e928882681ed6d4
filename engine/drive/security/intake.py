"""Messages without an end: libzmq keeps every frame of one, hands over nothing before the last, and bounds only frames.

The rules of this file:

- What the kernel has received by a connection over tcp is known (TCP_INFO, Linux), and so is whether a message of it
  was handed over. A peer that has sent more than one message can hold, and of which no message is there, has sent one
  without an end and is cut off. libzmq then forgets what has come of it.
- The door's thread looks at the connections (``Intake``) and tells the socket's owner of one that has taken in another
  ``STEP``. Only then does the owner look by which connections messages come (``Unfinished``): else a message costs
  nothing here.
- A connection is judged only after everything that was there has been read: a busy owner is not the peer's fault.
- All connections of a socket together have a bound as well: beyond it the one that has sent most is cut off.
- Of a connection by which nothing was handed over yet, everything counts. Of any other, what it sent before its
  messages were looked for does not: ``STEP``, or what comes between two looks where that is more.
- libzmq spends 64 bytes on a frame of none, so what is kept can be 32 times as much as what has come.
- Where the amount is not known (ipc, and tcp elsewhere than on Linux) no connection is cut off.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import sys
import termios
from collections import OrderedDict
from collections.abc import Callable

from engine.parts.limits import MAX_FRAME, MAX_MESSAGE, MAX_UNFINISHED

LOOK = 0.05  # seconds between two looks at the connections
SLICE = 100  # connections of one socket that are looked at each time, 3 µs each
STEP = MAX_FRAME  # bytes that a connection takes in between two times that its owner is told
TURNS = 1000  # messages of others that may be read before an accused one is cut off, and one for each connection

_RECEIVED = struct.Struct("=128xQ")  # tcpi_bytes_received in struct tcp_info, since Linux 4.1
_INT = struct.Struct("=i")


def received(fd: int) -> int | None:
    """Bytes that the kernel has received by a connection so far; None where it does not tell."""
    if sys.platform != "linux":
        return None
    try:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
    except OSError:  # closed by now
        return None
    try:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
    except OSError:  # not over tcp, or closed by now
        return None
    finally:
        connection.detach()
    return int(_RECEIVED.unpack(told)[0]) if len(told) == _RECEIVED.size else None


def _taken(fd: int) -> int:
    """Bytes that libzmq has taken of them, at least."""
    all_of_it = received(fd)
    if all_of_it is None:
        return 0
    try:
        (waiting,) = _INT.unpack(fcntl.ioctl(fd, termios.FIONREAD, bytes(_INT.size)))
    except OSError:  # closed by now
        return 0
    return all_of_it - int(waiting)


def give_back() -> None:
    """Have the C library give to the system what is free: glibc keeps the small pieces that a message was made of."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Intake:
    """The connections of one socket that can be looked at. On the door's thread."""

    def __init__(self) -> None:
        self._open: OrderedDict[int, tuple[str, int]] = OrderedDict()  # endpoint, and what had come when it was told

    def __bool__(self) -> bool:
        """Whether there is anything to look at."""
        return bool(self._open)

    def accepted(self, fd: int, endpoint: str) -> None:
        """A connection came."""
        self._open.pop(fd, None)  # the number of one that ended unseen
        if received(fd) is not None:
            self._open[fd] = (endpoint, 0)

    def ended(self, fd: int) -> None:
        """A connection was closed."""
        self._open.pop(fd, None)

    def endpoint(self, fd: int) -> str | None:
        """Where a connection was accepted; None when it has ended."""
        return self._open[fd][0] if fd in self._open else None

    def look(self) -> list[int]:
        """Those that have taken in another ``STEP``, of the next ``SLICE``."""
        grown = []
        for fd in [fd for fd, _ in zip(self._open, range(SLICE), strict=False)]:
            self._open.move_to_end(fd)
            endpoint, before = self._open[fd]
            size = received(fd) or 0
            if size >= before + STEP:
                self._open[fd] = (endpoint, size)
                grown.append(fd)
        for fd in grown:
            self._open.move_to_end(fd, last=False)  # looked at again next time, however many there are
        return grown


class Unfinished:
    """The connections of one ROUTER that take in much. ``cut`` is called with the descriptor of one that has to end,
    and the bytes that have come of its message. On the thread of the socket's owner.
    """

    def __init__(self, cut: Callable[[int, int], None]) -> None:
        self._cut = cut
        self._since: dict[int, int] = {}  # what had come when its messages were looked for first; none was seen since
        self._size: dict[int, int] = {}  # bytes that came since then
        self.accused: dict[int, int] = {}  # how many messages are seen when it is cut off at the latest
        self._seen = 0

    def __contains__(self, fd: object) -> bool:
        return fd in self._since

    def grown(self, fd: int, peers: int, silent: bool) -> None:
        """It has taken in much. From now on call ``came`` for every message, until it is not ``in`` here.
        ``peers``: how many connections there are; ``silent``: no message has come by this one yet.
        """
        if fd not in self._since:
            size = 0 if silent else received(fd)
            if size is None:
                return  # it has ended
            self._since[fd], self._size[fd] = size, 0
        self._size[fd] = max(self._size[fd], _taken(fd) - self._since[fd])
        if self._size[fd] > MAX_MESSAGE:
            self._accuse(fd, peers)
        others = {fd: size for fd, size in self._size.items() if fd not in self.accused}
        if sum(others.values()) > MAX_UNFINISHED:
            self._accuse(max(others, key=others.__getitem__), peers)

    def _accuse(self, fd: int, peers: int) -> None:
        self.accused.setdefault(fd, self._seen + TURNS + peers)

    def came(self, fd: int) -> None:
        """A whole message came by this connection."""
        self._seen += 1
        if fd in self._since:
            self.ended(fd)

    def ended(self, fd: int) -> None:
        """Nothing of it is of interest any more."""
        self._since.pop(fd, None)
        self._size.pop(fd, None)
        self.accused.pop(fd, None)

    def judge(self, empty: bool) -> list[int]:
        """A batch was read; ``empty``: there is no more. Those that were cut off."""
        guilty = [fd for fd, seen in self.accused.items() if empty or self._seen >= seen]
        for fd in guilty:
            self._cut(fd, self._size[fd])
            self.ended(fd)
        return guilty
