"""Locks that say who lives: of a watchdog, a driver's number, a temporary folder.

The rules of this file:

- A lock is a small file of this user, mode 0600: nobody else can open it, so nobody else can hold it. One that others
  may read (it was made by an older version) is made 0600 before it is taken.
- Anything else under its name (another user's file, a link, a FIFO, a second name of another file) is
  neither taken nor removed, but refused with its reason.
- However its owner ends, the kernel releases it.

Source: flock(2).
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from engine.errors import Refused
from engine.files import safely
from engine.protocols.diskqueue import names

LOOKS, LOOK = 3, 0.05  # how often others may look meanwhile, and the seconds that one look takes at most


class Lock:
    """An exclusive lock on a small file, for as long as the process and the commands that it started live."""

    def __init__(self, folder: str, name: str) -> None:
        self.path = f"{folder}/{name}"
        self.descriptor = -1

    def acquire(self, create: bool = True) -> bool:
        """Whether we hold it now; False where another process does, or there is no such file to lock.

        Raises OSError if it can not be made, or if something else than a lock of this user is there.
        """
        flags, owners = os.O_RDWR, (os.geteuid(),)
        while True:
            try:
                descriptor = safely.open_or_create(self.path, flags) if create else safely.open_file(self.path, flags)
            except FileNotFoundError:
                if create:
                    raise
                return False
            try:
                found = os.fstat(descriptor)
                safely.check(found, self.path, writes=True, owners=owners)
                if stat.S_IMODE(found.st_mode) & 0o077:
                    os.fchmod(descriptor, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(found, os.stat(self.path, follow_symlinks=False)):
                    self.descriptor, descriptor = descriptor, -1
                    return True
            except BlockingIOError:
                return False
            except FileNotFoundError:
                pass  # its last holder removed it between our two calls
            finally:
                if descriptor >= 0:
                    os.close(descriptor)

    def acquire_patiently(self) -> bool:
        """The same, with a few tries: another process may hold it for a moment, to look. It is signed."""
        for _ in range(LOOKS):
            if self.acquire():
                break
            time.sleep(LOOK)
        else:
            if not self.acquire():
                return False
        sign(self)
        return True

    def release(self, remove: bool = True) -> None:
        """Release it. ``remove``: also remove its file, as nothing is left that has the number."""
        if self.descriptor < 0:
            return
        try:
            if remove:
                with suppress(OSError):  # it is gone, or can not go: then a watchdog finds that its holder is dead
                    found = os.stat(self.path, follow_symlinks=False)
                    if os.path.samestat(found, os.fstat(self.descriptor)):  # and not another file in its place
                        os.unlink(self.path)
        finally:
            os.close(self.descriptor)
            self.descriptor = -1


class Owner(NamedTuple):
    """The holder of a number, as it is written in the lock."""

    pid: int
    start: str  # of the process: in ticks since the machine's, "" where the system does not say
    host: str

    def lives(self) -> bool:
        """Whether this process is there; only on its own machine."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # another user's by now, or ours under other rights: its start tells
        return started(self.pid) == self.start


HOST = socket.gethostname()


def started(pid: int) -> str:
    """When a process started, as ``Owner`` has it."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[19].decode()
    return ""


def sign(lock: Lock) -> None:
    """Write the owner into a lock that we hold; a disk without room leaves it unsigned."""
    with suppress(OSError):
        os.ftruncate(lock.descriptor, 0)
        os.pwrite(lock.descriptor, f"{os.getpid()}\t{started(os.getpid())}\t{HOST}\n".encode(), 0)


def owner(path: str) -> Owner | None:
    """The owner that a lock names; None where none does, or where it is no lock of ours."""
    with suppress(OSError, ValueError):
        pid, start, host = safely.read(path, 1000, owners=(os.geteuid(),)).decode().rstrip("\n").split("\t")
        return Owner(int(pid), start, host) if 0 < int(pid) < 2**31 else None
    return None


@contextmanager
def number_locks(src: str, dst: str, number: str) -> Iterator[tuple[Lock, Lock]]:
    """Hold a driver's number in both of its queues (ruling 5); raises ``Refused`` where another driver does."""
    locks = Lock(src, names.working_lock(number)), Lock(dst, names.writing_lock(number))
    clean = False
    try:
        for lock in locks:
            try:
                if not lock.acquire():
                    raise Refused(f"another driver works under number {number}: {lock.path} is locked")
            except OSError as error:
                raise Refused(f"cannot lock {lock.path}: {error.strerror}") from error
            sign(lock)
        yield locks
        clean = True
    finally:
        for lock in locks:
            lock.release(remove=clean)
