"""Task bodies that are processes: started, cancelled, and never left behind.

- The processes are children of a supervisor process (``engine.drive.supervisor``): a process with threads must not
  fork, and a process that is killed by SIGKILL can not clean up. The guard sees its input end and kills what is left.
- The guard is started with the first body, and anew if it should die; what it ran has then failed.
- ``done`` is called exactly once for every started key, from a thread of this file or from ``start`` itself, until
  ``close`` is called, and never after that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from engine.core import Piped, Process
from engine.drive import environment
from engine.drive.cpus import ALL
from engine.drive.piped import Pipes, unkept
from engine.drive.supervisor import FAULT

LIMIT = 1024  # processes at a time
PATIENCE = 2.0  # seconds that the guard may take to end

GUARD = Path(__file__).with_name("supervisor.py")

Done = Callable[[object, bool, bytes], None]
"""Told of an end: the key, whether it went well, and how it ended in words (UTF-8), a NUL, the name of its log."""


class Jobs:
    """The processes of one node; any thread may call."""

    def __init__(self, done: Done, limit: int = LIMIT) -> None:
        self._done, self._limit = done, limit
        self._lock = threading.Lock()
        self._guard: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._keys: dict[int, object] = {}
        self._numbers: dict[object, int] = {}
        self._last = 0
        self._pipes = Pipes()
        self._closed = False

    def start(self, key: object, body: Process | Piped) -> None:
        """Run a process. What is in the way of that is reported as its end. RuntimeError after ``close``."""
        with self._lock:
            if self._closed:
                raise RuntimeError("no process is started any more")
            fault = f"more than {self._limit} processes" if len(self._keys) >= self._limit else self._begin(key, body)
        if fault:
            self._done(key, False, f"{FAULT}{fault}".encode())

    def cancel(self, key: object) -> None:
        """Kill a process and its children; its end is still reported. Of no effect if it has ended."""
        with self._lock:
            number = self._numbers.get(key)
            if number is not None and self._guard is not None:
                self._tell(self._guard, {"cancel": number})

    def close(self) -> None:
        """Kill everything and report nothing more; within ``PATIENCE`` seconds or a little over."""
        with self._lock:
            self._closed = True
            guard, reader = self._guard, self._reader
        if guard is None or reader is None:
            return
        with suppress(BrokenPipeError):  # it is dead already
            _pipe(guard.stdin).close()
        try:
            guard.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            guard.kill()  # its children die with it
            guard.wait()
        reader.join()
        self._pipes.close()

    def _begin(self, key: object, body: Process | Piped) -> str:
        """Hand a process to the guard; why that can not be, or nothing. With the lock."""
        if self._guard is None:
            try:
                self._launch()
            except OSError as error:
                return f"no process guard: {error}"
        assert self._guard is not None
        self._last += 1
        try:
            order = self._pipes.order(self._last, body) if isinstance(body, Piped) else asdict(body)
        except OSError as error:
            return unkept(error)
        if not self._tell(self._guard, {"start": self._last, **order}):
            return "the process guard has died"
        self._keys[self._last] = key
        self._numbers[key] = self._last
        return ""

    def _launch(self) -> None:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), *map(str, sorted(ALL))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment.passed(),
            start_new_session=True,  # a terminal's interrupt is the worker's to answer
        )
        self._guard = guard
        self._reader = threading.Thread(target=self._read, args=(guard,), name="roundhouse-jobs", daemon=True)
        self._reader.start()

    def _tell(self, guard: subprocess.Popen[bytes], order: dict[str, object]) -> bool:
        """One line to the guard, which reads at once: a full pipe takes some 150 starts that it is behind with."""
        stdin = _pipe(guard.stdin)
        try:
            stdin.write(json.dumps(order).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def _read(self, guard: subprocess.Popen[bytes]) -> None:
        """The reader's thread: ends, until the guard itself has ended."""
        for line in _pipe(guard.stdout):
            ended = json.loads(line)
            with self._lock:
                key = self._keys.pop(ended["ended"])
                self._numbers.pop(key)
                closed = self._closed
                piped = self._pipes.result(ended["ended"], ended["ok"], ended["status"])
            if not closed:
                told = "\0".join(filter(None, (ended["status"], ended.get("log"))))
                self._done(key, ended["ok"], told.encode("utf-8", "replace") if piped is None else piped)
        words = _pipe(guard.stderr).read().decode("utf-8", "replace").strip().splitlines()
        with self._lock:
            lost = [] if self._closed else list(self._keys.values())
            self._keys.clear()
            self._numbers.clear()
            self._guard = None
            with suppress(BrokenPipeError):
                _pipe(guard.stdin).close()
        guard.wait()
        _pipe(guard.stdout).close()
        _pipe(guard.stderr).close()
        for key in lost:
            self._done(key, False, f"{FAULT}the process guard has died: {''.join(words[-1:])}".encode())


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # all three were asked for
    return pipe
