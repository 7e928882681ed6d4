"""Signals that end a command without a screen. They are noted, and handled where the command waits."""

from __future__ import annotations

import signal
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """While it is entered, the first ending signal is ``caught``. One that is ignored (``nohup``) stays ignored."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self._arrived: SimpleQueue[int] = SimpleQueue()  # its put may interrupt its own get, unlike an Event's set

    def __enter__(self) -> Signals:
        handled = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in handled}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a signal comes; whether one has come."""
        if self.caught is None:
            with suppress(Empty):
                self._arrived.get(timeout=seconds)
        return self.caught is not None

    def status(self, otherwise: int) -> int:
        """The exit status: 128 + the signal's number, or ``otherwise`` where none came."""
        return otherwise if self.caught is None else 128 + self.caught

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.caught is None:
            self.caught = number
        self._arrived.put(number)
