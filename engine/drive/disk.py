"""Performs the operations of disk queues, and checks what a folder can do.

Sources: rename(2) and RENAME_NOREPLACE, link(2), fsync(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable

from engine.protocols.diskqueue.config import Refused
from engine.protocols.diskqueue.operations import (
    Append,
    Done,
    Entry,
    Error,
    Exists,
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
"""A folder's time of change is only as fine as the kernel's tick, at most 10 ms: a change younger than two of them
might have left no trace in it."""

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


def perform(operation: Operation) -> Done:
    """Do it; every error of the system comes back as a value."""
    try:
        return _perform(operation)
    except OSError as error:
        return _answer(operation, error)


def run(steps: Steps[T], told: Callable[[Done], None] = lambda answer: None) -> T:
    """Run a whole procedure; raises ``Trouble`` where a driver would wait and ask again. ``told`` is every answer."""
    answer: Done | None = None
    try:
        while True:
            operation = next(steps) if answer is None else steps.send(answer)
            answer = perform(operation)
            told(answer)
            if answer.error in ("full", "denied", "broken"):
                raise Trouble(answer.text)
    except StopIteration as end:
        result: T = end.value
        return result


def _perform(operation: Operation) -> Done:
    match operation:
        case List(folder):
            return _list(operation, folder)
        case Exists(folder, name):
            os.stat(f"{folder}/{name}")
        case Read(folder, name):
            with open(f"{folder}/{name}", "rb") as file:
                return Done(operation, text=file.read(READ_MOST).decode("utf-8", "surrogateescape"))
        case Take(folder, name, new):
            _rename(f"{folder}/{name}", f"{folder}/{new}", contended=True)
        case Rename(folder, name, new):
            _rename(f"{folder}/{name}", f"{folder}/{new}", contended=False)
        case Remove(folder, name):
            os.unlink(f"{folder}/{name}")
        case Touch(folder, name):
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
            _sync(folder)
        case Append(folder, name, line):
            _append(f"{folder}/{name}", line)
        case Sync(folder, name):
            if name:
                _sync(f"{folder}/{name}")
            _sync(folder)
        case WriteOut(path, text):
            with open(f"{path}.tmp", "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)
            os.replace(f"{path}.tmp", path)
        case Log(path, line):
            _append(path, line)
            _halve(path)
    return Done(operation)


def _answer(operation: Operation, error: OSError) -> Done:
    kind = _ERRORS.get(error.errno or 0, "broken")
    text = error.strerror or str(error)
    path = error.filename if isinstance(error.filename, str) else ""
    if kind == "gone":
        match operation:
            case List(folder) | Touch(folder) | Append(folder):
                kind, text = "broken", f"{folder} is gone"
            case WriteOut() | Log():
                kind = "broken"
            case _ if not os.path.isdir(operation.folder):
                kind, text = "broken", f"{operation.folder} is gone"
    elif kind == "exists" and not isinstance(operation, Take | Rename | Remove):
        kind = "broken"
    return Done(operation, kind, f"{text}: {path}" if path and kind != "gone" else text)


def _list(operation: List, folder: str) -> Done:
    began = time.time_ns()
    before = os.stat(folder).st_mtime_ns
    entries: list[Entry] = []
    still = True
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                still = False
                continue
            entries.append(Entry(entry.name, status.st_mtime_ns, status.st_size))
    still = still and os.stat(folder).st_mtime_ns == before and began - before > STILL_NS
    return Done(operation, entries=tuple(entries), still=still)


def _append(path: str, line: str) -> None:
    data = f"{line}\n".encode("utf-8", "surrogateescape")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        written = os.write(descriptor, data)
        if written < len(data):
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(descriptor)


def _halve(path: str) -> None:
    """Forget the older half of a log that has grown too long; only its one writer calls this."""
    if os.stat(path).st_size <= LOG_MOST:
        return
    with open(path, "rb") as file:
        file.seek(-LOG_MOST // 2, os.SEEK_END)
        file.readline()
        rest = file.read()
    with open(f"{path}.tmp", "wb") as out:
        out.write(rest)
    os.replace(f"{path}.tmp", path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ---- renaming without replacing ------------------------------------------------------------------------------------

_AT_FDCWD = -100
_NOREPLACE = 1
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None


def _rename(old: str, new: str, contended: bool) -> None:
    """Rename atomically, raising FileExistsError where the new name is in use.

    Linux does it in one call. Elsewhere, and on file systems that do not know the flag: what is contended is
    renamed plainly, for only the kernel can choose one winner, and its new name bears the number that the caller has
    locked; what only the caller may touch is linked under its new name, which refuses an existing one.
    """
    if _renameat2 is not None:
        if _renameat2(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), _NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code), old)
    rename_portably(old, new, contended)


def rename_portably(old: str, new: str, contended: bool) -> None:
    """The same without the system call that only Linux has."""
    if not contended:
        try:
            os.link(old, new, follow_symlinks=False)
        except FileExistsError:
            if not os.path.samefile(old, new):  # else: a driver died right here
                raise
        os.unlink(old)
        return
    if os.path.lexists(new):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    os.rename(old, new)


# ---- what a folder can do ------------------------------------------------------------------------------------------


def check_queues(src: str, dst: str, number: str) -> None:
    """Refuse queues between which, or in which, files cannot be renamed atomically (ruling 6); raises ``Refused``.

    Creates ``dst``. Tried with real files rather than looked up by the file system's name: a bind mount, an overlay or
    a network file system shows only then what it does.
    """
    if not os.path.isdir(src):
        raise Refused(f"source queue {src} is not a folder")
    try:
        os.makedirs(dst, exist_ok=True)
        if os.path.samefile(src, dst):
            raise Refused(f"source and destination are the same queue: {src}")
        if os.stat(src).st_dev != os.stat(dst).st_dev:
            raise Refused(f"{src} and {dst} are on two file systems: files cannot be renamed between them")
        _probe(src, dst, f".{number}.probe.lock")
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise Refused(f"{src} and {dst}: files cannot be renamed between them") from error
        raise Refused(f"cannot use {error.filename or dst} as a queue: {error.strerror}") from error


def _probe(src: str, dst: str, name: str) -> None:
    first, second, third = f"{src}/{name}", f"{src}/{name}2.lock", f"{dst}/{name}"
    try:
        for path in (first, second):
            os.close(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            )  # empty: a full disk has room for it
        try:
            _rename(first, second, contended=True)
        except FileExistsError:
            pass
        else:
            raise Refused(f"the file system of {src} replaces a file when another is renamed to its name")
        os.rename(first, third)
        if os.path.lexists(first) or not os.path.lexists(third):
            raise Refused(f"the file system of {src} does not rename atomically")
    finally:
        for path in (first, second, third):
            if os.path.lexists(path):
                os.unlink(path)
