"""Makes the folders of disk queues, and tries whether files can be renamed in and between them."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress

from engine.drive.renaming import rename, stands
from engine.errors import Refused
from engine.files import safely

QUEUE_MODE = 0o700
"""The usual mode of a queue's folder: whoever may write in it may do anything to its documents."""


def make_queue(path: str, mode: int = QUEUE_MODE) -> None:
    """Make a queue's folder, and one of ours to hold it, where there is none; one that is there keeps its mode.

    Only we may write in the folder that holds it; those who may use the queue can pass through. Raises OSError.
    """
    above = os.path.dirname(path) or "."
    with suppress(FileExistsError):
        os.makedirs(above, 0o700)
        os.chmod(above, 0o700 | mode & 0o011)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
        os.chmod(path, mode)


def check_queues(src: str, dst: str, number: str, mode: int = QUEUE_MODE) -> None:
    """Refuse queues between which, or in which, files cannot be renamed atomically (ruling 6); raises ``Refused``.

    Creates ``dst``. It tries real files, for the name of a file system does not tell what a bind mount, an overlay or a
    network file system does.
    """
    if not os.path.isdir(src):
        raise Refused(f"source queue {src} is not a folder")
    try:
        make_queue(dst, mode)
        with safely.folder(src) as first, safely.folder(dst) as second:
            one, other = os.fstat(first), os.fstat(second)
            if os.path.samestat(one, other):
                raise Refused(f"source and destination are the same queue: {src}")
            if one.st_dev != other.st_dev:
                raise Refused(f"{src} and {dst} are on two file systems: files cannot be renamed between them")
            _probe(src, first, second, f".{number}.{secrets.token_hex(8)}")
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise Refused(f"{src} and {dst}: files cannot be renamed between them") from error
        named = error.filename if os.path.isabs(error.filename or "") else f"{src} or {dst}"
        raise Refused(f"cannot use {named} as a queue: {error.strerror}") from error


def _probe(src: str, here: int, there: int, name: str) -> None:
    """With new and empty files, for which a full disk has room."""
    first, second = f"{name}.1.probe.lock", f"{name}.2.probe.lock"
    made: list[tuple[str, int]] = []
    try:
        for one in (first, second):
            os.close(safely.create(one, at=here))
            made.append((one, here))
        try:
            rename(first, second, here, contended=True)
        except FileExistsError:
            pass
        else:
            raise Refused(f"the file system of {src} replaces a file when another is renamed to its name")
        os.rename(first, first, src_dir_fd=here, dst_dir_fd=there)
        made.append((first, there))
        if stands(first, here) or not stands(first, there):
            raise Refused(f"the file system of {src} does not rename atomically")
    finally:
        for one, at in made:
            with suppress(FileNotFoundError):
                os.unlink(one, dir_fd=at)
