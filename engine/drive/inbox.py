"""Where other threads leave work for a node's thread, and the bell that wakes it.

Posting never waits. What is posted after the thread has ended is answered at once with the reason, so no caller waits
for a thread that is gone.
"""

from __future__ import annotations

import errno
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Inbox:
    """Acts in the order in which they were posted; ``answer`` is the owner's thread doing them."""

    def __init__(self) -> None:
        self._acts: deque[Callable[[], None]] = deque()
        self.bell, self._rope = socket.socketpair()  # readable when something has come
        self.bell.setblocking(False)
        self._rope.setblocking(False)
        self._closed: str | None = None

    def post(self, act: Callable[[], None]) -> None:
        """Any thread: let the owner do this."""
        self._acts.append(act)
        self.ring()

    def call(self, act: Callable[[], Any], callers: tuple[type[Exception], ...]) -> Future[Any]:
        """Any thread: let the owner do this, and have its result.

        Exceptions of the types ``callers`` are the caller's own and only reach the future. Any other is the owner's
        end as well, and reaches the future as RuntimeError.
        """
        future: Future[Any] = Future()

        def run() -> None:
            if self._closed is not None:
                future.set_exception(RuntimeError(self._closed))
                return
            try:
                future.set_result(act())
            except callers as error:
                future.set_exception(error)
            except Exception as error:
                future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
                raise

        self.post(run)
        if self._closed is not None:
            self.answer()
        return future

    def ring(self) -> None:
        """Any thread: wake the owner."""
        try:
            self._rope.send(b"\0")
        except BlockingIOError:
            pass  # it rings already
        except OSError as error:  # the owner has ended
            if error.errno not in (errno.EBADF, errno.EPIPE):
                raise

    def hush(self) -> None:
        """The owner: the bell was heard."""
        self.bell.recv(4096)

    def answer(self) -> None:
        """The owner: do everything that was posted."""
        while True:
            try:
                act = self._acts.popleft()
            except IndexError:
                return
            act()

    def close(self, why: str) -> None:
        """The owner ends; ``why`` is what callers are told from now on."""
        self._closed = why
        self.bell.close()
        self._rope.close()
        self.answer()
