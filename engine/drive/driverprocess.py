"""Which process runs a driver: looked at before it is adopted, told to leave, killed or counted as living.

The rules of this file:

- A pid alone proves nothing: pids are used again, and a folder may be another user's. So a driver's pid, start time and
  command line are written down when it is started, in a folder that only this user can change. A process that does not
  agree with all of them, or that another user runs, is not ours, and no signal is ever sent to it.
- The pid is also in the file ``pid``, which the original's tools read; nothing here relies on it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psutil

from engine.files import safely
from engine.files.safely import Unsafe
from engine.protocols.diskqueue.pipeline import worker_folder

RECORD = "process.json"
MOST = 64 * 1024  # bytes of it


class _Record(NamedTuple):
    pid: int
    start: float  # as ``_start`` says it
    words: tuple[str, ...]


def write_down(handle: int, pid: int, words: list[str]) -> None:
    """Leave in a worker folder what is needed to know its process again. Raises OSError."""
    try:
        start = _start(psutil.Process(pid))
    except psutil.Error:  # it has ended already
        start = 0.0
    for name, text in (("pid", f"{pid}\n"), (RECORD, json.dumps({"pid": pid, "start": start, "words": words}))):
        with os.fdopen(safely.create(name, at=handle), "w", encoding="ascii") as out:
            out.write(text)


def driver_process(root: str, number: str, owner: int | None = None) -> int:
    """The pid of the living process that runs this driver, 0 for none.

    ``owner``: the uid that folder and process must have, this user's where it is None; of another's one looks only.
    """
    uid = os.geteuid() if owner is None else owner
    try:
        with own_folder(worker_folder(root, number), uid) as handle:
            found = _process(handle, uid)
    except OSError:
        return 0
    return found.pid if found else 0


def disowned(root: str, number: str) -> str:
    """Why a driver's folder is not believed; the empty string where it is, or where there is none."""
    folder, uid = worker_folder(root, number), os.geteuid()
    try:
        with own_folder(folder, uid) as handle:
            os.close(safely.open_file(RECORD, at=handle, owners=(uid,), most=MOST))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return (
            f"{folder}: {error.filename} {error.strerror}" if error.filename == RECORD else f"{folder} {error.strerror}"
        )
    return ""


def send(root: str, number: str, what: signal.Signals) -> str:
    """Send a signal to the process of a driver, if it lives; the reason why that was refused, or nothing."""
    try:
        with own_folder(worker_folder(root, number), os.geteuid()) as handle:
            if found := _process(handle, os.geteuid()):
                found.send_signal(what)  # psutil looks once more whether it is the same process
    except psutil.NoSuchProcess:
        return ""
    except psutil.AccessDenied as error:
        return f"process {error.pid} takes no {what.name} from us: the operation is not permitted"
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{worker_folder(root, number)} {error.strerror}"
    return ""


@contextmanager
def own_folder(path: str, owner: int) -> Iterator[int]:
    """A handle of a folder that only this user can write. Raises OSError for any other."""
    handle = safely.open_folder(path, follow=False)
    try:
        found = os.fstat(handle)
        if found.st_uid != owner:
            raise Unsafe(f"belongs to uid {found.st_uid}", path)
        if found.st_mode & 0o022:
            raise Unsafe(f"can be written by others (mode {found.st_mode & 0o7777:04o})", path)
        yield handle
    finally:
        os.close(handle)


def _process(handle: int, owner: int) -> psutil.Process | None:
    """The process that a worker folder names, if it still is that process and lives. Raises OSError."""
    record = _read(handle, owner)
    if record is None:
        return None
    try:
        process = psutil.Process(record.pid)
        with process.oneshot():
            same = (
                set(process.uids()) == {owner}
                and tuple(process.cmdline()) in (record.words, ())  # none yet, or none any more
                and _start(process) == record.start
                and process.status() != psutil.STATUS_ZOMBIE
            )
    except (psutil.Error, OverflowError, ValueError):
        return None
    return process if same else None


def _read(handle: int, owner: int) -> _Record | None:
    try:
        told = json.loads(safely.read(RECORD, MOST, at=handle, owners=(owner,)))
        pid, start, words = told["pid"], told["start"], told["words"]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if type(pid) is not int or type(start) is not float or type(words) is not list:
        return None
    return _Record(pid, start, tuple(words))


def _start(process: psutil.Process) -> float:
    """When a process started: on Linux in the kernel's ticks since boot, which no change of the clock touches.

    Raises psutil.Error.
    """
    if sys.platform == "linux":
        try:
            with open(f"/proc/{process.pid}/stat", "rb") as file:
                return float(file.read().rpartition(b")")[2].split()[19])
        except OSError:
            raise psutil.NoSuchProcess(process.pid) from None
    else:
        return process.create_time()
