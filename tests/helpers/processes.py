"""``python -m console …``, or another module, in processes of their own whose home is the test's, always reaped."""

from __future__ import annotations

import atexit
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp

ROOT = Path(__file__).parents[2]
WAIT = 60.0  # seconds at most for what takes one; the one limit of all tests, and no test passes by waiting
KEPT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
FOLDERS = {"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}
SIDES = (0, 100, 200)  # ports beside a broker's that one system or another binds as well
PORTS, LANES, LANE = 10_000, 10, 2_000  # the first port, and so many for each of so many processes that run tests
_random = random.SystemRandom()  # whatever a test has seeded
_given: deque[set[int]] = deque(maxlen=50)


def until(condition: Callable[[], object], what: str = "what must come") -> None:
    """Look until it holds; fails by its deadline, never passes by it."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come in {WAIT:.0f} s"
        time.sleep(0.01)


def free_endpoint(sides: Collection[int] = SIDES) -> str:
    """A tcp endpoint that is free with its neighbours, below the ports that the system gives to others.

    No other process of this test run is given one of them, nor is this one again while the last ones may be in use: it
    is free until somebody binds it.
    """
    lane = int("".join(filter(str.isdigit, os.environ.get("PYTEST_XDIST_WORKER", ""))) or 0) % LANES
    while True:
        port = PORTS + lane * LANE + _random.randrange(LANE - max(sides))
        ports = {port + side for side in sides}
        if not all(map(ports.isdisjoint, _given)):
            continue
        with ExitStack() as stack, suppress(OSError):
            for side in ports:
                stack.enter_context(socket.socket()).bind(("127.0.0.1", side))
            _given.append(ports)
            return f"tcp://127.0.0.1:{port}"


def beside(endpoint: str, side: int) -> str:
    """The endpoint so many ports above."""
    host, _, port = endpoint.rpartition(":")
    return f"{host}:{int(port) + side}"


def own_environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a process that a test starts: nothing of the user's, so nothing depends on whose test it is.

    The home and all folders of the user are ``home``, the language is none, the terminal a usual one. ``more`` counts
    most.
    """
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    folders = {name: str(home / part) for name, part in FOLDERS.items()}
    folders["XDG_RUNTIME_DIR"] = _runtime()
    patience = {"ROUNDHOUSE_RUN_TIMEOUT": str(WAIT)}  # a task's, where nothing else is said: the machine may be busy
    usual = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/sh"}
    return {**kept, **patience, **usual, **folders, **more}


@cache
def _runtime() -> str:
    """A folder for sockets, whose paths may be short only; gone with the process that runs the tests."""
    folder = mkdtemp(prefix="rh-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return folder


class Process:
    """One process. What it prints goes to files, so it can never block on a pipe."""

    def __init__(
        self, folder: Path, name: str, arguments: tuple[str, ...], environ: dict[str, str], module: str = "console"
    ) -> None:
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            command = [sys.executable, "-m", module, *arguments]
            self._popen = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environ, cwd=folder
            )
        self.pid = self._popen.pid

    @property
    def out(self) -> str:
        """Everything on stdout so far."""
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        """Everything on stderr so far."""
        return self._err.read_text(encoding="utf-8")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._popen.poll() is None

    def ready(self) -> Process:
        """Wait until it says so."""
        until(lambda: self.out.startswith("ready ") or self._popen.poll() is not None, "ready")
        assert self.out.startswith("ready "), self.err
        return self

    def ended(self) -> int:
        """Wait for its end; the exit status."""
        return self._popen.wait(WAIT)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._popen.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self._popen.kill()
        self._popen.wait(WAIT)


class Processes:
    """The processes of one test: ``start`` them, and leave the context to end what is left."""

    def __init__(self, folder: Path, *, module: str = "console", **environ: str) -> None:
        self.folder, self._module = folder, module
        self._runtime = TemporaryDirectory(prefix="rh-")  # the path of a socket has a hundred characters at most
        ours = {"XDG_RUNTIME_DIR": self._runtime.name, "PYTHONPATH": str(ROOT)}
        self.environ = own_environment(folder, **{**ours, **environ})
        self._started: list[Process] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()
        self._runtime.cleanup()

    def start(self, *arguments: str, **environ: str) -> Process:
        """``roundhouse ARGUMENTS``; ``environ`` on top of the test's."""
        name = f"{len(self._started)}-{arguments[0]}"
        process = Process(self.folder, name, arguments, {**self.environ, **environ}, self._module)
        self._started.append(process)
        return process

    def run(self, *arguments: str) -> Process:
        """The same, and wait for its end."""
        process = self.start(*arguments)
        process.ended()
        return process
