"""Files in folders that others can write: opened only if they are regular, made only if they are new.

The rules of this file:

- A name is looked up in a folder's handle (``at``), so nobody can swap the folder meanwhile; without a handle the name
  is a path, of which only the last part is checked.
- No link is followed at that name. A FIFO, a device or a socket is never waited for nor read: it is ``Unsafe``.
- A file that is written has one name: another one might stand in somebody's home.
- What is made is new (``O_EXCL``) and 0600 unless the caller says otherwise; what is replaced gets all of its content
  under a random name first, then takes the place in one step.

Sources: open(2) (O_NOFOLLOW, O_NONBLOCK, O_EXCL), openat(2), rename(2), proc_sys_fs(5) on protected links and FIFOs.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_WRITES = os.O_WRONLY | os.O_RDWR
_ODD = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR, errno.EOPNOTSUPP)  # what open says of other kinds
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Unsafe(OSError):
    """Not a file that we open; ``strerror`` says what it is, ``filename`` where."""

    def __init__(self, reason: str, name: str) -> None:
        super().__init__(errno.EPERM, reason, name)


def kind(mode: int) -> str:
    """What is no regular file, in words; the empty string for one."""
    return "" if stat.S_ISREG(mode) else next((words for test, words in _KINDS if test(mode)), "no file")


@contextmanager
def folder(path: str, at: int | None = None, follow: bool = True) -> Iterator[int]:
    """A folder's handle, for as long as this lasts. ``follow``: the last part of the path may be a link."""
    handle = open_folder(path, at, follow)
    try:
        yield handle
    finally:
        os.close(handle)


def open_folder(path: str, at: int | None = None, follow: bool = True) -> int:
    """The same, until somebody closes it."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    return os.open(path, flags, dir_fd=at)


def open_file(
    name: str,
    flags: int = os.O_RDONLY,
    *,
    at: int | None = None,
    owners: Collection[int] | None = None,
    most: int | None = None,
    follow: bool = False,
) -> int:
    """Open a regular file that is there; the descriptor. Raises ``Unsafe`` for anything else.

    ``owners``: the uids that it may belong to. ``most``: bytes that it may hold. ``follow``: a link that leads to one
    is as good, for its name comes from whoever we work for. What is opened for writing must have one name only.
    ``flags`` never create: that is ``create``.
    """
    assert not flags & (os.O_CREAT | os.O_TRUNC), "an existing file is opened as it is"
    try:
        descriptor = os.open(name, (flags | _ALWAYS) & ~(os.O_NOFOLLOW if follow else 0), dir_fd=at)
    except OSError as error:
        # What it is counts before who may read it.
        if error.errno in _ODD or (error.errno == errno.EACCES and not follow):
            _explain(name, at)
        raise
    try:
        check(os.fstat(descriptor), name, bool(flags & _WRITES), owners, most)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check(
    found: os.stat_result,
    name: str,
    writes: bool = False,
    owners: Collection[int] | None = None,
    most: int | None = None,
) -> None:
    """Raise ``Unsafe`` for what ``open_file`` would not open."""
    if odd := kind(found.st_mode):
        raise Unsafe(f"is {odd}, not a regular file", name)
    if owners is not None and found.st_uid not in owners:
        raise Unsafe(f"belongs to uid {found.st_uid}", name)
    if writes and found.st_nlink > 1:
        raise Unsafe(f"has {found.st_nlink} names (hard links)", name)
    if most is not None and found.st_size > most:
        raise Unsafe(f"is larger than {most} bytes", name)


def _explain(name: str, at: int | None) -> None:
    """Raise ``Unsafe`` where something stands there that is no regular file."""
    with suppress(FileNotFoundError):
        check(os.stat(name, dir_fd=at, follow_symlinks=False), name)


def read(name: str, most: int, *, at: int | None = None, owners: Collection[int] | None = None) -> bytes:
    """A small file's whole content; ``Unsafe`` where it holds more than ``most`` bytes, also if it grows meanwhile."""
    with os.fdopen(open_file(name, at=at, owners=owners, most=most), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Unsafe(f"is larger than {most} bytes", name)
    return content


def create(name: str, *, at: int | None = None, mode: int = 0o600) -> int:
    """Make a file that was not there, open for reading and writing; FileExistsError where anything has the name."""
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _ALWAYS, mode, dir_fd=at)


def open_or_create(name: str, flags: int, *, at: int | None = None) -> int:
    """Open a regular file, made where nothing has the name: never what somebody put there in between."""
    for _ in range(100):  # it comes and goes while others make and remove it
        with suppress(FileNotFoundError):
            return open_file(name, flags, at=at)
        with suppress(FileExistsError):
            return os.open(name, flags | os.O_CREAT | os.O_EXCL | _ALWAYS, 0o600, dir_fd=at)
    raise OSError(errno.EBUSY, "others make and remove it all the time", name)


def temporary(near: str, *, at: int | None = None, mode: int = 0o600) -> tuple[str, int]:
    """A new file with a random name in the same folder as ``near``, and its descriptor (reading and writing)."""
    before, slash, last = near.rpartition("/")
    known = os.fsdecode(os.fsencode(last)[:100])  # a name has at most 255 bytes
    while True:
        name = f"{before}{slash}.{known}.{os.urandom(8).hex()}.tmp"
        with suppress(FileExistsError):
            return name, create(name, at=at, mode=mode)


def like(found: os.stat_result, descriptor: int) -> None:
    """Let those read and write a new file of ours who may read and write another one: its mode, and its group.

    Where the group can not be the same, it may do nothing.
    """
    mode = stat.S_IMODE(found.st_mode) & 0o777
    if found.st_gid != os.fstat(descriptor).st_gid:
        try:
            os.fchown(descriptor, -1, found.st_gid)
        except PermissionError:
            mode &= 0o707
    os.fchmod(descriptor, mode)


def write(descriptor: int, content: bytes) -> None:
    """All of it."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def replace(name: str, content: bytes, *, at: int | None = None, mode: int = 0o600, sync: bool = False) -> None:
    """Give a name new content in one step: a reader finds all of the old or all of the new. Raises OSError; then the
    old stays. What stood under the name is replaced itself, not what it links to. ``sync``: it outlives a power cut.
    """
    half, descriptor = temporary(name, at=at, mode=mode)
    try:
        try:
            write(descriptor, content)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(half, name, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(half, dir_fd=at)
        raise
    if sync:
        with folder(os.path.dirname(name) or ".", at) as place:
            os.fsync(place)
