"""What a machine and a user's folders must be like for a broker to run well: each look gives one finding.

The rules of this file:

- ``bad``: it will not work. ``warn``: it works, but not as it could. Each says what to do.
- Looks change nothing, except that a port is bound for a moment.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shutil
import socket
import stat
from pathlib import Path
from typing import Literal, NamedTuple

from engine.drive.control.place import check_folder, place
from engine.drive.pump.chosen import PUMP, WHY

Level = Literal["ok", "warn", "bad"]
FILES = 4096  # descriptors: some hundred workers of another process each take four
TIME_ERROR = 5  # what adjtimex answers of a clock that nobody keeps right
TIMEX = 512  # bytes, more than its structure has anywhere
LITTLE, LEAST = 0.05, 0.01  # free share of a disk


class Finding(NamedTuple):
    """``advice``: what to do; empty where all is well."""

    level: Level
    what: str
    words: str
    advice: str = ""


def limits(hard: int | None = None) -> Finding:
    """How many files may be open. ``hard``: instead of this process's own limit."""
    if hard is None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= FILES:
        return Finding("ok", "open files", "no limit" if hard == resource.RLIM_INFINITY else f"{hard:,} at most")
    advice = f"raise the hard limit to {FILES:,} or more: ulimit -Hn, LimitNOFILE= of systemd, limits.conf"
    return Finding("warn", "open files", f"{hard:,} at most; a peer takes up to four", advice)


def clock(answer: int | None = None) -> Finding:
    """Whether something keeps the wall clock right. ``answer``: instead of adjtimex's own."""
    if answer is None:
        try:
            answer = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(TIMEX))
        except (AttributeError, OSError):
            return Finding("ok", "clock", "this system does not tell whether it is kept right")
    if answer == TIME_ERROR:
        advice = "start a time service (systemd-timesyncd, chrony): some protocols carry wall time, and so do logs"
        return Finding("warn", "clock", "nothing keeps it right", advice)
    return Finding("ok", "clock", "kept right" if answer >= 0 else "this system does not tell whether it is kept right")


def pump() -> Finding:
    """Which pump of frames runs."""
    if not WHY:
        return Finding("ok", "pump", PUMP.name)
    advice = "install a C compiler and roundhouse again; the other one is slower and does the same"
    return Finding("warn", "pump", f"{PUMP.name}: the native one does not run: {WHY}", advice)


def folder(name: str, path: Path) -> Finding:
    """Whether files can be made in a folder, or it can be made itself."""
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return Finding("bad", name, f"{there} is no folder", f"move {there} away")
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding(
            "bad", name, f"{there} can not be written", f"give it to this user: chown {os.geteuid()} {there}"
        )
    found = os.stat(there)
    if there == path and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o022:
        return Finding("warn", name, f"others can write in {path}", f"chmod go-w {path}")
    return Finding("ok", name, str(path))


def private(name: str, path: Path) -> Finding:
    """Whether a folder is this user's alone, as control sockets and keys want it; it may be missing."""
    try:
        check_folder(path)
    except FileNotFoundError:
        return folder(name, path)
    except OSError as error:
        return Finding("bad", name, str(error), f"chmod 700 {path}, as its owner, or remove it")
    return folder(name, path)


def disk(path: Path) -> Finding:
    """How much is free where a folder is or will be."""
    while not path.exists() and path != path.parent:
        path = path.parent
    usage = shutil.disk_usage(path)
    share = usage.free / usage.total if usage.total else 0.0
    words = f"{share:.0%} of it is free at {path}"
    if share >= LITTLE:
        return Finding("ok", "disk", words)
    return Finding("bad" if share < LEAST else "warn", "disk", words, "make room: recordings, logs and kept runs grow")


def port(system: str, endpoint: str, control: Path) -> Finding:
    """Whether a broker of this system could listen where it usually does. ``control``: the folder of its socket."""
    name = f"port of {system}"
    if not endpoint.startswith("tcp://"):
        return Finding("ok", name, endpoint)
    host, _, number = endpoint.removeprefix("tcp://").rpartition(":")
    try:
        with socket.socket() as asked:
            asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            asked.bind((host, int(number)))
    except OSError as error:
        if error.errno == errno.EADDRINUSE and place(control, endpoint).is_socket():
            return Finding("ok", name, f"{endpoint}: a broker of this user is there")
        advice = "end that program, or name another endpoint: --bind, or bind in the configuration"
        return Finding("warn", name, f"{endpoint}: {error.strerror or error}", advice)
    return Finding("ok", name, f"{endpoint} is free")
