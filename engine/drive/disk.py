"""Performs the operations of disk queues.

Source: fsync(2).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

from engine.drive.inheriting import Heir, age_of
from engine.drive.renaming import rename
from engine.files import safely
from engine.files.safely import Unsafe
from engine.protocols.diskqueue.operations import (
    TROUBLE,
    Append,
    Disown,
    Done,
    Entry,
    Error,
    Exists,
    Inherit,
    List,
    Log,
    Operation,
    Read,
    Remove,
    Rename,
    Steps,
    Sync,
    T,
    Take,
    Touch,
    WriteOut,
)

STILL_NS = 20_000_000
"""A folder's time of change is only as fine as the kernel's tick, 10 ms: a younger change may leave no trace in it."""

READ_MOST = 64 * 1024  # bytes
LOG_MOST = 1024 * 1024  # bytes; then the older half goes

_ERRORS: dict[int, Error] = {
    errno.ENOENT: "gone",
    errno.EEXIST: "exists",
    errno.EISDIR: "exists",
    errno.ENOTEMPTY: "exists",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
}


class Trouble(Exception):
    """The disk refused an operation for reasons of its own."""


# ---- operations ---------------------------------------------------------------------------------------------------


class Disk:
    """Performs operations in folders that it holds open: a folder that is swapped meanwhile is not followed.

    Close it, or use it as a context.
    """

    def __init__(self) -> None:
        self._folders: dict[str, tuple[int, os.stat_result]] = {}
        self._heir = Heir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folders."""
        for handle, _ in self._folders.values():
            os.close(handle)
        self._folders.clear()
        self._heir.close()

    def perform(self, operation: Operation) -> Done:
        """Do it; every error of the system comes back as a value."""
        try:
            return self._perform(operation)
        except Unsafe as error:
            odd = isinstance(operation, Exists | Read | Sync)
            return Done(operation, "odd" if odd else "broken", f"{error.filename} {error.strerror}")
        except OSError as error:
            return self._answer(operation, error)

    def moved(self, *folders: str) -> str:
        """Why a path in one of these folders would not lead into the folder that is held, or the empty string."""
        try:
            for folder in folders:
                self._at(folder, look=True)
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        return ""

    def _perform(self, operation: Operation) -> Done:
        match operation:
            case List(folder):
                return _list(operation, self._at(folder, look=True))
            case Exists(folder, name):
                found = os.stat(name, dir_fd=self._at(folder), follow_symlinks=False)
                safely.check(found, name)
                return Done(operation, foreign=found.st_uid != os.geteuid())
            case Read(folder, name):
                return _read(operation, name, self._at(folder))
            case Take(folder, name, new):
                rename(name, new, self._at(folder), contended=True)
            case Rename(folder, name, new):
                rename(name, new, self._at(folder), contended=False)
            case Remove(folder, name):
                os.unlink(name, dir_fd=self._at(folder))
            case Touch(folder, name):
                at = self._at(folder)
                _touch(name, at)
                os.fsync(at)
            case Append(folder, name, line):
                _record(name, line, self._at(folder))
            case Sync(folder, name):
                at = self._at(folder)
                foreign = bool(name) and _sync(name, at)
                os.fsync(at)
                return Done(operation, foreign=foreign)
            case Inherit(folder, name):
                return self._heir.inherit(operation, age_of(name, self._at(folder)))
            case Disown():
                return self._heir.disown(operation)
            case WriteOut(path, text):
                safely.replace(path, text.encode("utf-8", "surrogateescape"))
            case Log(path, line):
                _log(path, line)
        return Done(operation)

    def _at(self, folder: str, look: bool = False) -> int:
        """The folder's handle. ``look``: the path must still lead there."""
        held = self._folders.get(folder)
        if held is None:
            handle = safely.open_folder(folder)
            held = self._folders[folder] = handle, os.fstat(handle)
        handle, known = held
        if look and not os.path.samestat(os.stat(folder), known):
            raise OSError(errno.ESTALE, "was moved or replaced while it was in use", folder)
        return handle

    def _answer(self, operation: Operation, error: OSError) -> Done:
        kind = _ERRORS.get(error.errno or 0, "broken")
        if error.errno == errno.EPERM and isinstance(operation, Take | Rename | Remove):
            kind = "foreign"  # a folder that may not be written is EACCES
        text = error.strerror or str(error)
        path = error.filename if isinstance(error.filename, str) else ""
        if kind == "gone":
            if isinstance(operation, WriteOut | Log):
                kind = "broken"
            elif self._gone(operation.folder) or isinstance(operation, List | Touch | Append):
                return Done(operation, "broken", f"{operation.folder} is gone")
        elif kind == "exists" and not isinstance(operation, Take | Rename | Remove):
            kind = "broken"
        return Done(operation, kind, f"{text}: {path}" if path and kind != "gone" else text)

    def _gone(self, folder: str) -> bool:
        """Whether nothing is left of a folder; the next operation looks for another one under its path."""
        if os.path.isdir(folder):
            return False
        if folder in self._folders:
            os.close(self._folders.pop(folder)[0])
        return True


def perform(operation: Operation) -> Done:
    """Do one operation, where there are no others to come."""
    with Disk() as disk:
        return disk.perform(operation)


def run(steps: Steps[T], told: Callable[[Done], None] = lambda answer: None) -> T:
    """Run a whole procedure; raises ``Trouble`` where a driver would wait and ask again. ``told`` is every answer."""
    answer: Done | None = None
    with Disk() as disk:
        try:
            while True:
                operation = next(steps) if answer is None else steps.send(answer)
                answer = disk.perform(operation)
                told(answer)
                if answer.error in TROUBLE:
                    raise Trouble(answer.text)
        except StopIteration as end:
            result: T = end.value
            return result


def _list(operation: List, at: int) -> Done:
    began = time.time_ns()
    before = os.fstat(at).st_mtime_ns
    entries: list[Entry] = []
    odd: list[tuple[str, str]] = []
    still = True
    with os.scandir(at) as found:
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                still = False
                continue
            if stat.S_ISREG(status.st_mode):
                entries.append(Entry(entry.name, status.st_mtime_ns, status.st_size))
            else:
                odd.append((entry.name, safely.kind(status.st_mode)))
    still = still and os.fstat(at).st_mtime_ns == before and began - before > STILL_NS
    return Done(operation, entries=tuple(entries), still=still, odd=tuple(odd))


def _open(name: str, at: int, flags: int = os.O_RDONLY) -> int | None:
    """Open a regular file; None for another user's file that we may not open."""
    try:
        return safely.open_file(name, flags, at=at)
    except PermissionError:
        if os.stat(name, dir_fd=at, follow_symlinks=False).st_uid == os.geteuid():
            raise
        return None


def _read(operation: Read, name: str, at: int) -> Done:
    descriptor = _open(name, at)
    if descriptor is None:
        return Done(operation, foreign=True)
    with os.fdopen(descriptor, "rb") as file:
        foreign = os.fstat(descriptor).st_uid != os.geteuid()
        return Done(operation, text=file.read(READ_MOST).decode("utf-8", "surrogateescape"), foreign=foreign)


def _make(name: str, at: int) -> int:
    """A new file of ours in a queue: whoever may read and write the folder may read and write the file."""
    descriptor = safely.create(name, at=at)
    os.fchmod(descriptor, 0o600 | os.fstat(at).st_mode & 0o066)
    return descriptor


def _clear(name: str, at: int) -> None:
    """Remove another user's file that has a name of ours, unless it has gone by itself."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=at)


def _touch(name: str, at: int) -> None:
    """Make sure that a regular file of this name exists. Anything else of that name is removed."""
    for _ in range(100):  # others may make and remove it meanwhile
        try:
            safely.check(os.stat(name, dir_fd=at, follow_symlinks=False), name)
            return
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.close(_make(name, at))
        except Unsafe:
            _clear(name, at)
    raise OSError(errno.EBUSY, "others make and remove it all the time", name)


def _record(name: str, line: str, at: int) -> None:
    """Append to a file of ours in a queue. Anything else there, and another user's file, is removed first."""
    for _ in range(100):
        try:
            descriptor = _open(name, at, os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.close(_make(name, at))
            continue
        except Unsafe:
            descriptor = None
        if descriptor is None:
            _clear(name, at)
            continue
        with closing_descriptor(descriptor):
            if os.fstat(descriptor).st_uid == os.geteuid():
                _append(descriptor, line)
                return
        _clear(name, at)
    raise OSError(errno.EBUSY, "others make and remove it all the time", name)


def _log(path: str, line: str) -> None:
    """Append to a driver's own log, and forget its older half where it has grown too long: it has one writer."""
    with closing_descriptor(safely.open_or_create(path, os.O_RDWR | os.O_APPEND)) as descriptor:
        size = _append(descriptor, line)
        if size > LOG_MOST:
            rest = os.pread(descriptor, LOG_MOST // 2, size - LOG_MOST // 2)
            safely.replace(path, rest.partition(b"\n")[2])


def _append(descriptor: int, line: str) -> int:
    """Append one line, all of it or nothing; the file's size in bytes."""
    data = f"{line}\n".encode("utf-8", "surrogateescape")
    size = os.fstat(descriptor).st_size
    written = os.write(descriptor, data)
    if written < len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return size + written


def _sync(name: str, at: int) -> bool:
    """Put a file on the disk; whether it is another user's."""
    descriptor = _open(name, at)
    if descriptor is None:
        return True
    with closing_descriptor(descriptor):
        os.fsync(descriptor)
        return os.fstat(descriptor).st_uid != os.geteuid()


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    """Close it after use."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)
