"""Puts documents into the first queue of a pipeline: copied under a name that drivers do not take, then renamed.

The rules of this file:

- Only regular files are fed: a FIFO would block, and a device may never end.
- The copy is made under a random name that was not there, and may be read by those who may read the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from engine.drive import roots
from engine.drive.disk import Disk
from engine.drive.queuefolders import QUEUE_MODE, make_queue
from engine.drive.queueview import sorted_out
from engine.errors import Refused
from engine.files import safely
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Done, Rename, Sync, Touch
from engine.protocols.diskqueue.pipeline import START, queue_folder


class Fed(NamedTuple):
    """One file: fed, or the reason why it was not."""

    path: str
    id: str
    reason: str = ""


def items(found: Iterable[str]) -> Iterator[names.Item]:
    """Those of the names that are items'."""
    return (item for item in map(names.parse, found) if isinstance(item, names.Item))


CHUNK = 1024 * 1024  # bytes that are copied at a time


def feed(
    root: str,
    files: Iterable[str],
    done: bool = False,
    mode: int = QUEUE_MODE,
    told: Callable[[Done], None] = lambda answer: None,
) -> list[Fed]:
    """Feed files into ``queue-start`` under ``root`` (created, the queue with ``mode``); their names are the ids.

    ``done``: no more will come. A file that cannot be fed does not hold up the others, but ``done`` is then left out:
    look at the reasons. One that has failed twice is tried again, with what is in the file now, also where the queue is
    done. ``told`` is what was renamed. Raises ``Refused`` where the queue itself cannot be used.
    """
    root, files = os.path.abspath(root), list(files)
    queue = queue_folder(root, START)
    roots.check_name(root)
    if not os.path.lexists(root) and not any(map(os.path.isfile, files)):
        raise Refused(f"there is no folder {root}, and no file to begin one with")
    try:
        make_queue(queue, mode)
        there, odd = sorted_out(queue)
    except OSError as error:
        raise Refused(f"cannot feed {queue}: {error.strerror}") from error
    given_up = {item.id for item in items(there) if not item.live}
    present = {item.id: "an item of this id is in the queue" for item in items(there) if item.live}
    anew = not done and given_up.issuperset(map(os.path.basename, files))
    if names.DONE in there and not anew:
        raise Refused(f"{queue} is done: nothing more can be fed into it, but what failed twice there")
    present |= {item.id: f"{name} in the queue is {kind}" for name, kind in odd for item in items([name])}
    fed: list[Fed] = []
    with Disk() as disk:
        for path in files:
            id = os.path.basename(path)
            reason = names.why_not(id) or present.get(id) or _feed_file(disk, queue, path, id, told)
            if not reason:
                present[id] = "an item of this id is in the queue"
            fed.append(Fed(path, id, reason))
        answer = disk.perform(Sync(queue))
        if answer.error:
            raise Refused(f"cannot put {queue} on the disk: {answer.text}")
        if done and not any(one.reason for one in fed):
            answer = disk.perform(Touch(queue, names.DONE))
            if answer.error:
                raise Refused(f"cannot write {queue}/{names.DONE}: {answer.text}")
    return fed


def feed_text(root: str, id: str, text: str, told: Callable[[Done], None] = lambda answer: None) -> str:
    """Feed one document that is no file yet; the reason why not, or the empty string. ``told`` is what was renamed."""
    queue = os.path.abspath(queue_folder(root, START))
    if reason := names.why_not(id):
        return reason
    try:
        make_queue(queue)
    except OSError as error:
        return str(error)
    content = text.encode("utf-8", "surrogateescape")
    with Disk() as disk:
        return _feed_one(disk, queue, id, lambda copy: safely.write(copy, content), told)


def _feed_file(disk: Disk, queue: str, path: str, id: str, told: Callable[[Done], None]) -> str:
    """The same of a file that the operator named; a link to one is followed."""
    try:
        source = safely.open_file(path, follow=True)
    except OSError as error:
        return error.strerror or str(error)

    def write(copy: int) -> None:
        found, place = os.fstat(source), 0
        while place < found.st_size and (chunk := os.pread(source, min(CHUNK, found.st_size - place), place)):
            safely.write(copy, chunk)
            place += len(chunk)
        safely.like(found, copy)

    try:
        return _feed_one(disk, queue, id, write, told)
    finally:
        os.close(source)


def _feed_one(disk: Disk, queue: str, id: str, write: Callable[[int], None], told: Callable[[Done], None]) -> str:
    """Write, put on the disk, rename; the reason why not, or the empty string."""
    temporary = ""
    try:
        with safely.folder(queue) as at:
            try:
                temporary, copy = safely.temporary(id, at=at)
                try:
                    write(copy)
                    os.fsync(copy)
                finally:
                    os.close(copy)
                answer = disk.perform(Rename(queue, temporary, names.ready(id)))
                told(answer)
                return f"{names.ready(id)}: {answer.text}" if answer.error else ""
            finally:
                if temporary:
                    with suppress(FileNotFoundError):
                        os.unlink(temporary, dir_fd=at)
    except OSError as error:
        return error.strerror or str(error)
