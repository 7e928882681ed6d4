"""Processes of one chaos run: started, killed, stopped, asked, and reaped whatever happens."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.processes import ROOT, WAIT, own_environment

LINES = 5  # of stderr that are shown of who ended
ANSWER = 0.5  # seconds that a broker may take to show its picture; a stopped one takes longer


class Child:
    """One process. What it prints goes to files, but for one that is asked things: that answers on a pipe."""

    def __init__(
        self, folder: Path, name: str, arguments: tuple[str, ...], environ: dict[str, str], asked: bool
    ) -> None:
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        self._rest = b""
        self.dead: tuple[str, ...] = ()  # threads of a broker that have died, as it said last
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdin=subprocess.PIPE if asked else subprocess.DEVNULL,
                stdout=subprocess.PIPE if asked else out,
                stderr=err,
                env=environ,
                cwd=folder,
            )

    @property
    def pid(self) -> int:
        """Its process."""
        return self._popen.pid

    @property
    def out(self) -> str:
        """Everything on stdout so far, of one that is not asked anything."""
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        """Everything on stderr so far."""
        return self._err.read_text(encoding="utf-8", errors="replace")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._popen.poll() is None

    @property
    def trouble(self) -> str:
        """Why it is not there any more, with the last lines of stderr; empty while it is."""
        status = self._popen.poll()
        if status is None:
            return f"lost a thread: {'; '.join(self.dead)}" if self.dead else ""
        ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"{ended}: {' / '.join(self.err.splitlines()[-LINES:]) or 'nothing on stderr'}"

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._popen.send_signal(number)

    def line(self, patience: float) -> str | None:
        """Its next line; None where none comes in so many seconds."""
        assert self._popen.stdout is not None
        while b"\n" not in self._rest:
            if not select.select([self._popen.stdout], [], [], patience)[0]:
                return None
            data = os.read(self._popen.stdout.fileno(), 2**20)
            if not data:
                return None
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def ask(self, line: bytes = b"") -> dict[str, Any] | None:
        """Its picture; None where it does not show one. ``line``: what it is told first."""
        assert self._popen.stdin is not None and self._popen.stdout is not None
        try:
            self._popen.stdin.write(line + b"\n")
            self._popen.stdin.flush()
        except OSError:
            return None
        while (answer := self.line(ANSWER)) is not None:
            if not select.select([self._popen.stdout], [], [], 0)[0] and not self._rest:
                shown: dict[str, Any] = json.loads(answer)
                self.dead = tuple(shown.get("dead", ()))
                return shown if "refused" not in shown else None
        return None

    def ended(self) -> int:
        """Wait for its end; the exit status."""
        return self._popen.wait(WAIT)

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self._popen.kill()
        self._popen.wait(WAIT)
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:  # a question was still on its way to the dead
                    continue


class Children:
    """Use it as a context manager: what is left at the end is killed."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        state = {name: str(folder) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
        self._environ = own_environment(folder, **state, PYTHONPATH=str(ROOT), **environ)
        self._started = 0
        self._living: list[Child] = []

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._living:
            child.kill()

    def start(self, module: str, *arguments: str, asked: bool = False) -> Child:
        """``python -m MODULE ARGUMENTS``."""
        self._living = [child for child in self._living if child.alive]
        self._started += 1
        name = f"{self._started}-{arguments[0]}"
        child = Child(self.folder, name, (module, *arguments), self._environ, asked)
        self._living.append(child)
        return child

    def roundhouse(self, *arguments: str) -> Child:
        """The product's own command."""
        return self.start("console", *arguments)

    def broker(self, name: str, endpoint: str, options: Mapping[str, object], *announced: str) -> Child:
        """A broker that shows its picture, as soon as it has bound. ``announced``: where peers are to find it."""
        child = self.start("tests.chaos.broker", name, endpoint, json.dumps(options), *announced, asked=True)
        if child.line(WAIT) != "ready":
            raise RuntimeError(f"the broker of {name} did not start: {child.err}")
        return child

    def worker(self, name: str, endpoint: str, options: Mapping[str, object], file: str, slots: int) -> Child:
        """A worker that writes what it executes to a file of this name in the folder."""
        given = (name, endpoint, json.dumps(options), str(slots), file)
        return self.start("engine.faults.realchild", "worker", *given, asked=True)
