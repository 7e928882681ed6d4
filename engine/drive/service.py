"""A process as a service: words to systemd (``sd_notify``), and a file with the process id.

The rules of this file:

- ``NOTIFY_SOCKET`` names a datagram socket; without it nothing is sent. A failed message holds up nothing.
- ``WATCHDOG=1`` is said only while all threads live and pictures go on: see ``engine.labs.watcher``.
- A process file is made with O_EXCL. One whose process runs is refused; one whose process is gone is replaced.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import Refused

LONGEST = 32  # characters of a process file that are read


class Notify:
    """``environ``: where the service manager says how it is reached, and how often it wants to hear that we live.

    ``patience``: seconds of silence after which it ends us.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._at = environ.get("NOTIFY_SOCKET", "")
        self.wanted = bool(self._at)
        micros = environ.get("WATCHDOG_USEC", "")
        meant = environ.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        known = bool(self._at) and meant and micros.isascii() and micros.isdigit() and int(micros) > 0
        self.patience = int(micros) / 1e6 if known else float("inf")

    def say(self, *lines: str) -> bool:
        """Say so; whether it was heard."""
        if not self._at:
            return False
        at = f"\0{self._at[1:]}" if self._at.startswith("@") else self._at
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as speaker, suppress(OSError):
            speaker.setblocking(False)
            speaker.sendto("\n".join(lines).encode(), at)
            return True
        return False


@contextmanager
def process_file(path: Path) -> Iterator[None]:
    """The process id in a file, as long as this lasts. Raises Refused where it can not be made, or is another's."""
    try:
        _write(path)
    except FileExistsError:
        if (pid := _process(path)) is not None:
            raise Refused(f"process {pid} runs already, as {path} says") from None
        _remove_and_write(path)
    except OSError as error:
        raise Refused(f"{path} can not be written: {error.strerror or error}") from None
    try:
        yield
    finally:
        with suppress(OSError):
            if _text(path) == str(os.getpid()):
                path.unlink()


def _write(path: Path) -> None:
    into = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(into, "w") as file:
        file.write(f"{os.getpid()}\n")


def _remove_and_write(path: Path) -> None:
    try:
        path.unlink()
        _write(path)
    except OSError as error:
        raise Refused(f"{path} can not be replaced: {error.strerror or error}") from None


def _text(path: Path) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read(LONGEST).strip()


def _process(path: Path) -> int | None:
    """The process that it names, where that runs."""
    try:
        text = _text(path)
        pid = int(text) if text.isascii() and text.isdigit() else 0
        if pid <= 0 or pid == os.getpid():
            return None
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        return pid
    except OSError:
        return None
    return pid
