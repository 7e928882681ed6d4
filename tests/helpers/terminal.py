"""The console in a real terminal: one tmux server of our own, what is typed, what it shows, how it leaves."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import psutil

from tests.helpers.processes import WAIT, own_environment

ROOT = Path(__file__).parents[2]
STEP = 0.04
SYSTEMS = ("roundrobin", "conversation", "pingpong", "negotiated")


class Terminal:
    """One tmux server of our own, with one window in which a shell runs the console and then says how it ended."""

    def __init__(
        self, folder: Path, installed: Path | None = None, more: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """``installed``: the Python of an environment into which the wheel was installed; else the sources are run.

        ``more``: systems that are no part of the product, each with the module that runs it.
        """
        self.folder = folder
        self._runtime = TemporaryDirectory(prefix="rh-")  # the path of a socket has a hundred characters at most
        self._module = next(iter(more.values()), "console")
        self._systems = (*SYSTEMS, *more)
        self._python, self._path = (sys.executable, str(ROOT)) if installed is None else (str(installed), "")
        self._server = f"roundhouse-test-{os.getpid()}-{folder.name}"
        self._pause = threading.Event()
        ours = {"XDG_RUNTIME_DIR": self._runtime.name, "TMUX_TMPDIR": self._runtime.name, "PYTHONPATH": self._path}
        self._environ = own_environment(folder, **ours, COLORTERM="truecolor")
        state = Path(self._environ["XDG_STATE_HOME"]) / "roundhouse"
        state.mkdir(0o700, parents=True)
        (state / "history").touch(0o600)  # the footer shows its keys, and not the words for a first run

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-L", self._server, "-f", os.devnull, *words]
        done = subprocess.run(
            command, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False
        )
        return done.stdout

    def open(self, *arguments: str, width: int = 120, height: int = 36) -> Terminal:
        """Start the console. Its ports are its own: whatever else runs on this machine is left alone."""
        binds = {f"ROUNDHOUSE_{name.upper()}_BIND": f"ipc://{self.folder}/{name}" for name in self._systems}
        words = [*(f"{name}={value}" for name, value in binds.items()), self._python, "-m", self._module, *arguments]
        then = "echo ended with $?; stty -a | grep -c ' echo '; exec sleep 600"
        command = f"env -u COLUMNS -u LINES {shlex.join(words)}; {then}"
        size = ("-x", str(width), "-y", str(height))
        self.tmux("new-session", "-d", "-s", "it", *size, "-c", str(self.folder), command)
        return self

    def close(self) -> None:
        self.tmux("kill-server")
        self._runtime.cleanup()

    def shown(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "it")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "it", *keys)

    def command(self, line: str) -> None:
        self.tmux("send-keys", "-t", "it", "-l", f":{line}")
        self.keys("Enter")

    def resize(self, width: int, height: int) -> None:
        self.tmux("resize-window", "-t", "it", "-x", str(width), "-y", str(height))

    def until(self, what: Callable[[str], bool], name: str) -> str:
        """Look until the screen is as wanted; what stands on it then."""
        for _ in range(int(WAIT / STEP)):
            if what(shown := self.shown()):
                return shown
            self._pause.wait(STEP)
        raise AssertionError(f"it never showed {name}; it shows\n{self.shown()}")

    def sees(self, *texts: str) -> str:
        return self.until(lambda shown: all(text in shown for text in texts), " and ".join(texts))

    def processes(self) -> list[psutil.Process]:
        """The consoles that run in this terminal, and their children."""
        found = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            home = (process.info["environ"] or {}).get("XDG_STATE_HOME")
            if home == str(self.folder / "state") and self._module in (process.info["cmdline"] or ()):
                found.append(process)
        return found

    def ended(self, status: int) -> str:
        """It has left with this status, the screen is restored, and nothing of it runs any more."""
        shown = self.sees(f"ended with {status}")
        assert "╭" not in shown, "the screen is not restored"
        self.until(lambda shown: shown.partition("ended with")[2].split()[1:2] == ["1"], "a terminal that echoes")
        flags = self.tmux("display-message", "-p", "-t", "it", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}")
        assert flags.split() == ["0", "0", "1"]
        assert self.processes() == []
        return shown


@contextmanager
def terminal_in(
    folder: Path, installed: Path | None = None, more: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Terminal]:
    """A terminal; nothing of it is left behind, and a console that did not end is told."""
    made = Terminal(folder, installed, more)
    try:
        yield made
    finally:
        left = made.processes()
        made.close()
        for process in left:
            process.kill()
    assert left == []
