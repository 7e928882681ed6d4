"""Runs the processes of a worker, in a process of its own, so that none of them outlives the worker.

- Input and output are lines of JSON. In: ``{"start": N, "command": …, "argument": …, "cwd": …, "log_dir": …,
  "log_name": …}`` and ``{"cancel": N}``. Out, once for every start: ``{"ended": N, "ok": …, "status": …, "log": …}``,
  the last where there is one: the name of its file. In place of command and argument, folders and log there may be
  ``words``, ``input``, ``output``, ``errors`` (paths) and ``most`` (bytes of each file that is written).
- Each process leads a session of its own. When it ends, what it left behind in its group is killed too.
- When the input ends, because the worker closed it or died, however it died, every group is killed, then this process
  ends. On Linux its children also die with it.
- One thread, and only the standard library: ``engine.drive.jobs`` runs this file by its path.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

LOGS = 10_000  # names that are tried for one log
CHUNK = 65536  # bytes read at a time
FAULT = "error encountered: "
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Guard:
    """The children by number. ``say`` writes one line."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        self._say = say
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._logs: dict[int, str] = {}
        self._adopt = _adoption()

    def obey(self, line: bytes) -> None:
        """Do what one line says."""
        order = json.loads(line)
        if "start" in order:
            self._start(order["start"], order)
        elif (child := self._children.get(order["cancel"])) is not None:
            _kill(child)

    def reap(self) -> None:
        """Report the processes that have ended."""
        for number, child in list(self._children.items()):
            code = child.poll()
            if code is not None:
                del self._children[number]
                _kill(child)
                self._say({"ended": number, "ok": code == 0, "status": _status(code), "log": self._logs.pop(number)})

    def kill_all(self) -> None:
        """End every child, without a word."""
        for child in self._children.values():
            _kill(child)
        for child in self._children.values():
            child.wait()
        self._children.clear()

    def _start(self, number: int, order: dict[str, Any]) -> None:
        try:
            if "words" in order:
                self._pipe(number, order)
            else:
                self._log(number, order)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = str(error)
            if isinstance(error, OSError) and error.filename:
                reason = f"{error.filename}: {error.strerror}"
            self._say({"ended": number, "ok": False, "status": f"{FAULT}{reason}"})

    def _log(self, number: int, order: dict[str, Any]) -> None:
        log, name = _open_log(order["log_dir"], order["log_name"])
        try:
            self._children[number] = subprocess.Popen(
                [order["command"], order["argument"]],
                cwd=order["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=self._adopt,  # safe here: there is one thread
            )
            self._logs[number] = name
        finally:
            os.close(log)

    def _pipe(self, number: int, order: dict[str, Any]) -> None:
        made = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        ends = [os.open(order["input"], os.O_RDONLY | os.O_NOFOLLOW)]
        try:
            ends += [os.open(order[name], made, 0o600) for name in ("output", "errors")]
            self._children[number] = subprocess.Popen(
                order["words"],
                stdin=ends[0],
                stdout=ends[1],
                stderr=ends[2],
                start_new_session=True,
                preexec_fn=partial(_bounded, order["most"], self._adopt),
            )
            self._logs[number] = ""
        finally:
            for end in ends:
                os.close(end)


def _bounded(most: int, adopt: Callable[[], None] | None) -> None:
    """Of a child: no file that it writes has more bytes than this."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    if adopt is not None:
        adopt()


def _open_log(folder: str, name: str) -> tuple[int, str]:
    """A log that did not exist before, for this user only, and its name: ``name.log``, else ``name-1.log``, ``-2`` …

    Others may write in the folder, so nothing that exists there (a link, a FIFO) is ever opened.
    """
    for i in range(LOGS):
        log = f"{name}{f'-{i}' if i else ''}.log"
        with suppress(FileExistsError):
            made = os.open(os.path.join(folder, log), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            return made, log
    raise FileExistsError(f"{name}.log and {LOGS - 1} more exist")


def _status(code: int) -> str:
    """How a process ended, in the words of the original."""
    if code == 0:
        return "done"
    if code > 0:
        return f"{FAULT}exit status {code}"
    return f"{FAULT}signal: {(signal.strsignal(-code) or str(-code)).lower()}"


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a child's whole group. Its number stays taken while anybody is in it, and is not given out anew at once."""
    with suppress(ProcessLookupError, PermissionError):  # gone; or, on macOS, only zombies are left
        os.killpg(child.pid, signal.SIGKILL)


def _adoption() -> Callable[[], None] | None:
    """What a child does before its command runs: it asks the kernel to die with this process."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def adopt() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before it was asked
            os._exit(1)

    return adopt


def _say(line: dict[str, Any]) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


def main() -> None:
    """Obey standard input until it ends. Arguments: the processors to run on, where those are known."""
    if len(sys.argv) > 1:
        os.sched_setaffinity(0, map(int, sys.argv[1:]))  # the thread that starts guards may keep to one
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):  # nothing is done in a handler: a child may be half started
        signal.signal(number, lambda *_: None)
    guard = Guard(_say)
    kept = b""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        try:
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if woken in ready:
                    if signal.SIGTERM in os.read(woken, CHUNK):
                        return
                    guard.reap()
                if 0 in ready:
                    chunk = os.read(0, CHUNK)
                    if not chunk:
                        return
                    *lines, kept = (kept + chunk).split(b"\n")
                    for line in lines:
                        guard.obey(line)
        finally:
            guard.kill_all()


if __name__ == "__main__":
    main()
