"""Puts documents into the first queue of a pipeline: copied under a name that nobody takes, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from typing import NamedTuple

from engine.drive import disk
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import Refused
from engine.protocols.diskqueue.operations import Done, Rename, Sync, Touch
from engine.protocols.diskqueue.pipeline import START, queue_folder


class Fed(NamedTuple):
    """One file: fed, or the reason why it was not."""

    path: str
    id: str
    reason: str = ""


def feed(root: str, files: Iterable[str], done: bool = False) -> list[Fed]:
    """Feed files into ``queue-start`` under ``root`` (created); their names are the ids, ``done``: no more will come.

    A file that cannot be fed does not hold up the others, but ``done`` is then left out: look at the reasons. Raises
    ``Refused`` where the queue itself cannot be used.
    """
    queue, files = os.path.abspath(queue_folder(root, START)), list(files)
    if not os.path.lexists(root) and not any(map(os.path.isfile, files)):
        raise Refused(f"there is no folder {root}, and no file to begin one with")
    try:
        os.makedirs(queue, exist_ok=True)
        present = {item.id for item in map(names.parse, os.listdir(queue)) if isinstance(item, names.Item)}
    except OSError as error:
        raise Refused(f"cannot feed {queue}: {error.strerror}") from error
    if os.path.lexists(f"{queue}/{names.DONE}"):
        raise Refused(f"{queue} is done: nothing more can be fed into it")
    fed: list[Fed] = []
    for path in files:
        id = os.path.basename(path)
        reason = names.why_not(id) or ("an item of this id is in the queue" if id in present else "")
        reason = reason or _feed_one(queue, path, id, lambda answer: None)
        if not reason:
            present.add(id)
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
        os.makedirs(queue, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=root) as file:
            file.write(text)
            file.flush()
            return _feed_one(queue, file.name, id, told)
    except OSError as error:
        return str(error)


def _feed_one(queue: str, path: str, id: str, told: Callable[[Done], None]) -> str:
    """Copy, put on the disk, rename; the reason why not, or the empty string."""
    temporary = f"{id}.{os.getpid()}.tmp"
    try:
        shutil.copyfile(path, f"{queue}/{temporary}")
        descriptor = os.open(f"{queue}/{temporary}", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        answer = disk.perform(Rename(queue, temporary, names.ready(id)))
        told(answer)
        return f"{names.ready(id)}: {answer.text}" if answer.error else ""
    except OSError as error:
        return error.strerror or str(error)
    finally:
        if os.path.lexists(f"{queue}/{temporary}"):
            os.unlink(f"{queue}/{temporary}")
