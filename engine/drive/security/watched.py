"""One socket that the door watches: who came, who of them was refused, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import zmq

from engine.core import Note
from engine.drive.security.greetings import Greetings
from engine.drive.security.strangers import AGAIN, BROKER, PEER, Strangers
from engine.drive.security.users import Trust

Tell = Callable[[int, int], None]
"""(event of the monitor, descriptor of the connection)"""

MASK = (
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_CONNECTED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_MONITOR_STOPPED
)


class Watched:
    """``monitor``: where its events come from; ``name``: its endpoint; ``trust``: who may be at the other end of a
    private one, None where anybody may; ``tell`` is told every event.
    """

    def __init__(self, monitor: zmq.Socket[bytes], domain: bytes, name: str, trust: Trust | None, tell: Tell) -> None:
        self.monitor, self.domain, self._tell = monitor, domain, tell
        self.greetings = Greetings()
        self.strangers = Strangers(name, trust) if trust is not None else None
        self._name = name
        self._broker: int | None = None  # the descriptor of the connection that this socket made
        self._told = 0  # wrong greetings
        self._at = float("-inf")  # when they were told of last

    def hear(self, event: int, fd: int, now: float) -> None:
        """One event of the monitor."""
        self._tell(event, fd)
        match event:
            case zmq.EVENT_ACCEPTED:
                self.greetings.accepted(fd, now)
            case zmq.EVENT_CONNECTED:
                self._broker = fd
                self.greetings.accepted(fd, now)
            case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.greetings.greeted()
            case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                self.greetings.failed(refused=True)
            case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self.greetings.failed(refused=False)
            case zmq.EVENT_DISCONNECTED:
                self.greetings.ended(fd)

    def admits_peer(self, fd: int) -> bool:
        """Whether who has connected here may; looked at as the connection is accepted."""
        return self.strangers is None or self.strangers.admits(fd, PEER)

    def admits_broker(self) -> bool:
        """Whether who was connected to may be; looked at when it has greeted, for then a process has accepted."""
        return self.strangers is None or self._broker is None or self.strangers.admits(self._broker, BROKER)

    @property
    def untold(self) -> bool:
        """Whether there is something to say."""
        return self.greetings.refused > self._told or (self.strangers is not None and self.strangers.untold)

    def notes(self, now: float) -> Iterator[Note]:
        """What is to be said, each kind at most every ``AGAIN`` seconds."""
        fresh = self.greetings.refused - self._told
        if fresh and now >= self._at + AGAIN:
            self._told, self._at = self.greetings.refused, now
            some = "a connection was" if fresh == 1 else f"{fresh:,} connections were"
            text = f"{some} refused at {self._name}: only ZMTP 3 is served, which a web page can not speak"
            yield Note("warn", text)
        if self.strangers is not None and (note := self.strangers.note(now)) is not None:
            yield note
