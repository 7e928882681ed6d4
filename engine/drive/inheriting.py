"""Takes over the number of a driver that is provably dead: both of its locks, and its own record in them.

The rules of this file:

- A lock that its owner or one of the commands that it started still holds proves that it lives.
- A lock that can be taken proves its owner's death only on the machine that the owner ran on, for some file systems
  share files between machines and not locks.
- A driver without locks of ours may live. Then, and on another machine, only an operator can say that it is dead.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from engine.drive import locks
from engine.drive.locks import Lock, Owner
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Disown, Done, Error, Inherit


class Taken(NamedTuple):
    """Both locks, or why they are not ours in one word and in words for people."""

    locks: tuple[Lock, Lock] | None
    error: Error = ""
    text: str = ""
    doubt: bool = False  # nothing shows whether its owner lives


def take_over(src: str, dst: str, number: str, word: bool = False, published: bool = False) -> Taken:
    """Lock a dead driver's number.

    ``word``: an operator says that it is dead. ``published``: it is known to have published into ``dst``, so its lock
    there may be missing.
    """
    both = Lock(src, names.working_lock(number)), Lock(dst, names.writing_lock(number))
    told = f"if it is dead, say so: roundhouse drive --dead {number}, or roundhouse pipeline recover {number}"
    needed = () if word else both[:1] if published else both
    if not all(os.path.lexists(lock.path) for lock in needed):
        return Taken(None, "gone", f"has no lock of ours, so nothing shows whether it lives; {told}", True)
    owner = locks.owner(both[0].path)
    taken = False
    try:
        if not both[0].acquire(create=word) or not both[1].acquire(create=word or published):
            return Taken(None, "exists", _lives(owner))
        if owner is not None and owner.host != locks.HOST and not word:
            text = f"ran on {owner.host}, so nothing here shows whether it lives; {told}"
            return Taken(None, "exists", text, True)
        taken = True
        return Taken(both)
    except OSError as error:
        return Taken(None, "exists", f"has a lock that is not ours: {error.filename} {error.strerror}")
    finally:
        if not taken:
            for lock in both:
                lock.release(remove=False)


def _lives(owner: Owner | None) -> str:
    if owner is not None and owner.host == locks.HOST and not owner.lives():
        return f"is dead (process {owner.pid}), but a command that it started still lives"
    process = f"process {owner.pid} on {owner.host}" if owner is not None else "which process does not show"
    return f"lives ({process}); if it hangs, kill it, and the document is tried again"


class Heir:
    """The numbers that one driver has taken over."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Lock, Lock]] = {}

    def inherit(self, operation: Inherit, age: float) -> Done:
        """``age``: seconds since the document was taken."""
        taken = take_over(operation.folder, operation.dst, operation.number, operation.word)
        if taken.locks is None:
            return Done(
                operation, taken.error, f"driver {operation.number} has had it for {long(age)} and {taken.text}"
            )
        self._held[operation.number] = taken.locks
        return Done(operation)

    def disown(self, operation: Disown) -> Done:
        """Release the locks of one number."""
        for lock in self._held.pop(operation.number, ()):
            lock.release(remove=operation.clean)
        return Done(operation)

    def close(self) -> None:
        """Release all locks, so that others can recover the numbers."""
        for both in self._held.values():
            for lock in both:
                lock.release(remove=False)
        self._held.clear()


def long(seconds: float) -> str:
    """A time in words, in seconds, minutes or hours."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def age_of(name: str, at: int) -> float:
    """Seconds since a file of the folder with handle ``at`` was renamed; 0 where it is gone."""
    try:
        return time.time() - os.stat(name, dir_fd=at, follow_symlinks=False).st_ctime
    except FileNotFoundError:
        return 0.0
