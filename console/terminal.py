"""A terminal that may disappear.

Textual's driver hands every write to a thread through a bounded queue. When the terminal is closed that thread dies of
the first write, the queue fills, and the application waits for ever to write its farewell: a process that nobody sees
and nobody can reach. Here a terminal that is gone swallows what is written, and the console is told to leave.

Nor does that driver know of a process that is frozen (SIGSTOP) and woken: it takes the terminal that it has made raw
for the one that it must leave behind in the end, and reads the keys twice. Here it only draws again.
"""

from __future__ import annotations

import os
import termios
from collections.abc import Callable
from typing import IO, Any, cast

from textual.drivers.linux_driver import LinuxDriver


class Outlet:
    """A file that writes until it can not, says so once, and then takes everything in silence."""

    def __init__(self, file: IO[str], gone: Callable[[], None]) -> None:
        self._file = file
        self._gone: Callable[[], None] | None = gone

    def write(self, text: str) -> int:
        """Write, as long as somebody is there."""
        self._try(lambda: self._file.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush, as long as somebody is there."""
        self._try(self._file.flush)

    def fileno(self) -> int:
        """The descriptor, for the size of the terminal."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._file.isatty()

    def _try(self, do: Callable[[], object]) -> None:
        if self._gone is None:
            return
        try:
            do()
        except OSError:
            gone, self._gone = self._gone, None
            gone()


class Terminal(LinuxDriver):
    """Textual's driver on an ``Outlet``."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self._console = app
        self._file = cast(Any, Outlet(cast(IO[str], self._file), self._hang_up))
        self._raw: list[Any] | None = None  # how the terminal is while it is drawn on

    def start_application_mode(self) -> None:
        """Take the terminal, and note how it is then."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        try:
            self._raw = termios.tcgetattr(self.fileno)
        except termios.error:  # none that has such settings
            self._raw = None

    def run_input_thread(self) -> None:
        """Read keys until the end; a terminal that can no longer be read is gone as well."""
        try:
            super().run_input_thread()
        except OSError:
            self._hang_up()

    def _sigcont_application(self, *_: Any) -> None:
        if self._must_signal_resume:  # suspended by ctrl+z: the terminal was given back
            super()._sigcont_application()
            self._console.call_later(self._console.refresh, repaint=True, layout=True)
        elif self._raw is not None and self._in_front():
            termios.tcsetattr(self.fileno, termios.TCSANOW, self._raw)  # a shell may have changed it meanwhile
            self._console.call_later(self._console.refresh, repaint=True, layout=True)

    def _in_front(self) -> bool:
        """Whether the terminal is this process's to draw on, and not that of another job of its shell."""
        try:
            return os.tcgetpgrp(self.fileno) == os.getpgrp()
        except OSError:  # it controls no session of this process, so there are no other jobs
            return True

    def _hang_up(self) -> None:
        self._console.call_later(self._console.hang_up)
