"""Signals that end a command without a screen. They are noted, and handled where the command waits."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import ClassVar

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """What was read was ended by a signal."""


class Signals:
    """While it is entered, the first ending signal is ``caught``. One that is ignored (``nohup``) stays ignored."""

    WAKE: ClassVar[int] = signal.SIGUSR1
    """Ends the reading of a line, and says nothing else."""

    def __init__(self, service: bool = False) -> None:
        """``service``: SIGHUP asks to read the configuration again, and ends nothing."""
        self.caught: int | None = None
        self._service = service
        self._count = 0  # of ending signals
        self._others = False  # whether one was no interrupt
        self._hung_up = False
        self.waits = False  # for a line
        self._arrived: SimpleQueue[int] = SimpleQueue()  # its put may interrupt its own get, unlike an Event's set

    def __enter__(self) -> Signals:
        handled: list[int] = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._note) for number in (*handled, self.WAKE)}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Meanwhile a signal raises ``Interrupted``, and so does one that came before."""
        self.waits = True
        try:
            if self.caught is not None:
                raise Interrupted
            yield
        finally:
            self.waits = False

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a signal comes; whether one has come."""
        if self.caught is None:
            with suppress(Empty):
                self._arrived.get(timeout=seconds)
        return self.caught is not None

    def again(self, seconds: float) -> bool:
        """Wait so long, or until a second signal comes; whether one has come."""
        if self._count < 2:
            with suppress(Empty):
                self._arrived.get(timeout=seconds)
        return self._count > 1

    def asks_to_reload(self) -> bool:
        """Whether a service was sent SIGHUP since this was asked last."""
        hung_up, self._hung_up = self._hung_up, False
        return hung_up

    def forget(self) -> bool:
        """An interrupt (ctrl+c) that was dealt with counts no more; False where none came, or another signal did."""
        if self.caught is None or self._others:
            return False
        self.caught, self._count = None, 0
        with suppress(Empty):
            while True:
                self._arrived.get_nowait()
        return True

    def status(self, otherwise: int) -> int:
        """The exit status: 128 + the signal's number, or ``otherwise`` where none came."""
        return otherwise if self.caught is None else 128 + self.caught

    def _note(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP and self._service:
            self._hung_up = True
            return
        if number != self.WAKE:
            self._count += 1
            self._others |= number != signal.SIGINT
            if self.caught is None:
                self.caught = number
            self._arrived.put(number)
        if self.waits:
            raise Interrupted
