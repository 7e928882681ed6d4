"""The processes of a drill that is real: started, killed, stopped, continued, and reaped whatever happens."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
from pathlib import Path

from engine.errors import Refused

START = 60.0  # seconds that a process may take until it is ready
LINE = 300  # characters that are shown of what one said last


class RealProcess:
    """One that was started, and is of use once ``ready`` has returned."""

    def __init__(self, name: str, folder: Path, words: tuple[str, ...]) -> None:
        """``words``: of ``engine.faults.realchild``; ``folder``: where it runs, and what it says is written."""
        self.name = name
        self._killed = False  # or told to leave
        self._said = folder / f"{name}.err"
        with self._said.open("ab") as err:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-m", "engine.faults.realchild", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                cwd=folder,
            )

    def ready(self) -> None:
        """Wait until it serves. Raises Refused where it does not come to that."""
        assert self._popen.stdout is not None
        ready, _, _ = select.select([self._popen.stdout], [], [], START)
        if not ready or self._popen.stdout.readline() != b"ready\n":
            raise Refused(f"{self.name} does not start: {self._last or f'not ready within {START:.0f} s'}")

    @property
    def _last(self) -> str:
        lines = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1][:LINE] if lines else ""

    @property
    def trouble(self) -> str:
        """Why it is not there any more, where nobody has killed it; else empty."""
        code = self._popen.poll()
        if code is None or self._killed:
            return ""
        return f"{self.name} ended with status {code}: {self._last or 'nothing on stderr'}"

    def stop(self) -> None:
        """SIGSTOP: it does nothing until ``go``."""
        self._popen.send_signal(signal.SIGSTOP)

    def go(self) -> None:
        """SIGCONT; nothing where it has ended."""
        self._popen.send_signal(signal.SIGCONT)

    def leave(self) -> None:
        """Have it say goodbye and end in its own time."""
        self._killed = True
        assert self._popen.stdin is not None
        self._popen.stdin.close()

    def kill(self) -> None:
        """SIGKILL, and wait; nothing where it has ended."""
        self._killed = True
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()
