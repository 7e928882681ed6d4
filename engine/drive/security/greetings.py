"""How many connections of one socket were refused at their greeting, told from what its monitor says.

libzmq closes a connection that greets in ZMTP 1 or 2, or in no ZMTP at all, without a word: its monitor tells that it
was accepted and that it ended, and nothing between. A good greeting is reported without its connection. So they
are counted: a connection that was accepted, has neither greeted nor failed, and has ended, was refused.
"""

from __future__ import annotations

HANDSHAKE = 2.0  # seconds that libzmq gives a connection to greet (HANDSHAKE_IVL)
YOUNG = HANDSHAKE + 0.5  # after which it has greeted, or has failed, or was refused


class Greetings:
    """The connections of one socket. ``now``: monotonic seconds."""

    def __init__(self) -> None:
        self.refused = 0
        self._pending = 0  # accepted, and not told of since
        self._young: dict[int, float] = {}  # when each open one was accepted, oldest first, by its descriptor

    def accepted(self, fd: int, now: float) -> None:
        """A connection came."""
        self._pending += 1
        self._young.pop(fd, None)  # the number of one that ended unseen
        self._young[fd] = now

    def greeted(self) -> None:
        """The handshake of one of them is complete."""
        self._pending -= 1

    def failed(self, *, refused: bool) -> None:
        """The handshake of one of them has failed. ``refused``: because of what it said."""
        self._pending -= 1
        self.refused += refused

    def ended(self, fd: int) -> None:
        """A connection was closed."""
        self._young.pop(fd, None)

    def settle(self, now: float) -> None:
        """After everything that the monitor had to tell: count those that were refused without a word."""
        while self._young and next(iter(self._young.values())) < now - YOUNG:
            del self._young[next(iter(self._young))]
        silent = self._pending - len(self._young)
        if silent > 0:
            self.refused += silent
            self._pending -= silent
