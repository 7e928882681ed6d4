"""Finds the user at the other end of a connection, and whether that user is trusted.

- Over ipc the kernel tells (SO_PEERCRED, on macOS LOCAL_PEERCRED).
- Over loopback tcp Linux tells in ``/proc/net/tcp``: the row of the other end's socket names its owner. A socket that
  no process has (not accepted yet, or closed by now) is listed as root's without an inode, and counts as unknown.
- Of any other connection it can not be told.
"""

from __future__ import annotations

import pwd
import socket
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
ESTABLISHED = b"01"
MAPPED = bytes(10) + b"\xff\xff"  # before an IPv4 address in an IPv6 one
UNKNOWN = "unknown"
"""What --trust calls a user who can not be told."""

_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED = 0, 1, "=IIh2x16I"  # macOS, sys/un.h and sys/ucred.h

User = int | None
"""A uid; None where it can not be told."""


class Trust(NamedTuple):
    """This user, and whoever else may run commands here or be given them; None among them: who can not be told."""

    own: int
    others: frozenset[User] = frozenset()

    def admits(self, user: User) -> bool:
        """Whether this user's peers are served."""
        return user in self.others or (user is not None and user == self.own)


def user_named(name: str) -> User:
    """The user that ``--trust`` names: a name, a uid or ``unknown``. ValueError where it does not exist."""
    if name == UNKNOWN:
        return None
    if name.isascii() and name.isdigit() and int(name) < 2**32:
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        raise ValueError(f"there is no user {name!r}: expected a name, a uid or {UNKNOWN}") from None


def name_of(user: User) -> str:
    """A user for people: name and uid."""
    if user is None:
        return "a user who can not be told"
    try:
        return f"user {pwd.getpwuid(user).pw_name} ({user})"
    except (KeyError, OverflowError):
        return f"user {user}"


def user_of(fd: int) -> User:
    """Whose the other end of a connection is. Never raises: of what is no connection any more it can not be told."""
    try:
        connection = socket.socket(fileno=fd)
    except OSError:
        return None
    try:
        if connection.family == socket.AF_UNIX:
            return _unix(connection)
        return _tcp(connection.getpeername(), connection.getsockname())
    except OSError:
        return None
    finally:
        connection.detach()


def _unix(connection: socket.socket) -> User:
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("iII", raw)[1])
    if sys.platform == "darwin":
        raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, struct.calcsize(_XUCRED))
        return int(struct.unpack(_XUCRED, raw)[1])
    return None


def _tcp(other: tuple[str, int], own: tuple[str, int]) -> User:
    """The owner of the socket that is bound to ``other`` and connected to ``own``."""
    for table, row in _rows(other, own):
        try:
            with open(table, "rb") as file:
                rows = file.read()
        except OSError:
            continue
        at = rows.find(row)
        if at < 0:
            continue
        # sl local rem st tx:rx tr:when retrnsmt uid timeout inode
        fields = rows[at : rows.find(b"\n", at)].split()
        state, uid, inode = fields[2], int(fields[6]), int(fields[8])
        return uid if state == ESTABLISHED and inode else None
    return None


def _rows(other: tuple[str, int], own: tuple[str, int]) -> Iterator[tuple[str, bytes]]:
    """How such a socket is written in each table; one of IPv6 may be connected over IPv4."""
    ends = [(_packed(end[0]), end[1]) for end in (other, own)]
    yield TABLES[1], b" ".join(b"%s:%04X" % (_words(address), port) for address, port in ends)
    if all(address.startswith(MAPPED) for address, _ in ends):
        yield TABLES[0], b" ".join(b"%s:%04X" % (_words(address[12:]), port) for address, port in ends)


def _packed(address: str) -> bytes:
    """An address in the 16 bytes of IPv6."""
    if ":" in address:
        return socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    return MAPPED + socket.inet_pton(socket.AF_INET, address)


def _words(address: bytes) -> bytes:
    """The kernel's way of writing it: words of four bytes, each in the machine's order."""
    words = (int.from_bytes(address[at : at + 4], sys.byteorder) for at in range(0, len(address), 4))
    return b"".join(b"%08X" % word for word in words)
