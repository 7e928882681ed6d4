"""What can be seen of a pipeline from outside its drivers: folders, logs, timer files, processes.

The rules of this file:

- A look costs little however much there is: a folder that has not changed is not read again, one that takes long is
  read less often, a log is read from where the last look ended, and no file of a queue is opened.
- Only regular files are items, and only such are opened; no link is followed.
- It reads only; so a screen, ``show`` and the watchdog may look at the same time.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from contextlib import suppress
from typing import NamedTuple

import psutil

from engine.drive.disk import STILL_NS
from engine.files import safely
from engine.protocols.diskqueue.config import DriverTimes, read_times
from engine.protocols.diskqueue.explain import seat_of
from engine.protocols.diskqueue.pipeline import Counts, DocumentRow, Survey, log_line, survey, worker_folder
from engine.protocols.diskqueue.queueviolations import ACCUSES, LOG

SHARE = 0.1  # of the time may be spent with reading one folder
DOCUMENTS = 500  # newest that are kept in sight
_PAUSED = re.compile(r"\d\d:\d\d:\d\d bad (?:.*?: )?paused, (.+)")
READ_MOST = 256 * 1024  # bytes of one log in one look


class QueueSight:
    """Counts the items of one queue by state."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._seen = Survey(Counts(), (), ())
        self._settled = -1  # the folder's time of change that ``_seen`` shows for certain
        self._not_before = 0.0

    def look(self, fresh: bool = False) -> Survey:
        """The newest survey; at most ten times as old as it takes to make one, or made now if ``fresh``."""
        now = time.monotonic()
        if not fresh and now < self._not_before:
            return self._seen
        began = time.time_ns()
        try:
            changed = os.stat(self.folder).st_mtime_ns
            if changed == self._settled:
                return self._seen
            self._seen = survey(*sorted_out(self.folder))
        except (FileNotFoundError, NotADirectoryError):
            self._seen, changed = Survey(Counts(), (), ()), -1
        except OSError as error:
            self._seen, changed = self._seen._replace(trouble=error.strerror or str(error)), -1
        self._settled = changed if began - changed > STILL_NS else -1
        spent = time.monotonic() - now
        self._not_before = now + spent + (spent / SHARE if spent > 0.005 else 0.0)
        return self._seen


def sorted_out(folder: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The names of a folder's regular files, and what else there is: a driver takes none of that either."""
    files: list[str] = []
    others: list[tuple[str, str]] = []
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            else:
                with suppress(FileNotFoundError):
                    others.append((entry.name, safely.kind(entry.stat(follow_symlinks=False).st_mode)))
    return files, others


class LogSight:
    """Follows the logs of many drivers; keeps the newest documents."""

    def __init__(self) -> None:
        self.documents: deque[DocumentRow] = deque(maxlen=DOCUMENTS)
        self.broken: deque[tuple[str, str]] = deque(maxlen=DOCUMENTS)  # seat, reason: until somebody counts them
        self._places: dict[str, tuple[int, int, float]] = {}  # path → inode, offset, time of the newest line

    def look(self, root: str, stage: str, number: str) -> None:
        """Read what one driver has logged since the last look."""
        path = f"{worker_folder(root, number)}/documents"
        try:
            with os.fdopen(safely.open_file(path), "rb") as file:
                status = os.fstat(file.fileno())
                inode, offset, newest = self._places.get(path, (0, 0, 0.0))
                if inode != status.st_ino:
                    offset = 0  # a new log, or one that has forgotten its older half: some of it was seen
                offset = max(offset, status.st_size - READ_MOST)
                file.seek(offset)
                data = file.read(READ_MOST)
        except OSError:  # there is none, or none that this user may read
            return
        whole = data.rfind(b"\n") + 1
        for line in data[:whole].decode("utf-8", "surrogateescape").split("\n"):
            row = log_line(line, stage, number)
            fresh = row is not None and (row.at > newest or inode == status.st_ino)
            if row is None and line and offset and inode == status.st_ino:  # the first line may be torn
                self.broken.append((seat_of(stage, number), LOG))
            elif row is not None and row.outcome == ACCUSES:
                if fresh:
                    self.broken.append((seat_of(stage, number), row.text))
                newest = row.at
            elif row is not None and fresh:
                self.documents.append(row)
                newest = row.at
        self._places[path] = (status.st_ino, offset + whole, newest)

    def forget(self, root: str, number: str) -> None:
        """A driver's folder is gone."""
        self._places.pop(f"{worker_folder(root, number)}/documents", None)


class ProcessUse(NamedTuple):
    """What a process uses."""

    memory: int  # bytes, resident
    cpu: float  # per cent of one core since the last look


class ProcessSight:
    """Memory and CPU of driver processes."""

    def __init__(self) -> None:
        self._known: dict[int, psutil.Process] = {}

    def look(self, pid: int) -> ProcessUse:
        """Zeros for a process that is no more."""
        try:
            process = self._known.get(pid)
            if process is None or not process.is_running():
                process = self._known[pid] = psutil.Process(pid)
            with process.oneshot():
                return ProcessUse(process.memory_info().rss, process.cpu_percent())
        except psutil.Error:
            self._known.pop(pid, None)
            return ProcessUse(0, 0.0)


def times_of(root: str, number: str) -> DriverTimes | None:
    """A driver's timer file; None before its first."""
    try:
        with os.fdopen(
            safely.open_file(f"{worker_folder(root, number)}/times"), encoding="ascii", errors="replace"
        ) as file:
            return read_times(file.read(1000))
    except OSError:
        return None


def garbled(root: str, number: str) -> bool:
    """Whether a driver has a timer file that can not be read."""
    return times_of(root, number) is None and bool(tail_of(f"{worker_folder(root, number)}/times", 1000).strip())


def paused(root: str, number: str, since: float) -> str:
    """Why a driver that runs since then waits for its disk, by the last line of its log; else the empty string."""
    path = f"{worker_folder(root, number)}/out.txt"
    try:
        if os.stat(path).st_mtime < since:
            return ""  # of a driver before it
    except OSError:
        return ""
    last = tail_of(path).rstrip("\n").rpartition("\n")[2]
    found = _PAUSED.match(last)
    return found[1] if found else ""


def tail_of(path: str, size: int = 4096) -> str:
    """The end of a text file, from the beginning of a line; empty where there is none."""
    try:
        with os.fdopen(safely.open_file(path), "rb") as file:
            whole = os.fstat(file.fileno()).st_size
            file.seek(max(0, whole - size))
            data = file.read(size)
    except OSError:
        return ""
    if whole > size:
        data = data.partition(b"\n")[2]
    return data.decode("utf-8", "replace")
