"""One socket that the door watches: who came, who of them was refused, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import zmq

from engine.core import Note
from engine.drive.security.descriptors import hang_up, other_end
from engine.drive.security.greetings import Greetings
from engine.drive.security.intake import Intake
from engine.drive.security.keyless import Keyless, unkeyed
from engine.drive.security.strangers import AGAIN, BROKER, PEER, Strangers
from engine.drive.security.users import Trust
from engine.parts.limits import MAX_MESSAGE, MAX_UNFINISHED

Tell = Callable[[int, int], None]
"""(event of the monitor, GROWN or KEYS; descriptor of the connection, or the reason where a handshake has failed)"""

GROWN = -1  # a connection has taken in much
KEYS = -2  # other keys are authorized than before
MIB = 1024 * 1024

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
    private one, None where anybody may; ``roles``: of the keys that may connect where it speaks CURVE (none: all),
    None where it does not; ``tell`` gets every event.
    """

    def __init__(
        self,
        monitor: zmq.Socket[bytes],
        domain: bytes,
        name: str,
        trust: Trust | None,
        tell: Tell,
        roles: tuple[str, ...] | None = None,
    ) -> None:
        self.monitor, self.domain, self.roles, self.tell = monitor, domain, roles, tell
        self.greetings = Greetings()
        self.keyless = Keyless(name)
        self.strangers = Strangers(name, trust) if trust is not None else None
        self._name = name
        self._broker: int | None = None  # the descriptor of the connection that this socket made
        self._told = 0  # wrong greetings
        self._at = float("-inf")  # when they were told of last
        self.intake = Intake()
        self.cut = 0  # connections that were ended because of a message without an end
        self._cut_told = 0
        self._cut_at = float("-inf")
        self._cut_words = ""  # about the newest

    def hear(self, event: int, fd: int, now: float) -> None:
        """One event of the monitor."""
        self.tell(event, fd)
        match event:
            case zmq.EVENT_ACCEPTED:
                self.greetings.accepted(fd, now)
            case zmq.EVENT_CONNECTED:
                self._broker = fd
                self.greetings.accepted(fd, now)
            case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.greetings.greeted()
            case _ if self.roles is not None and (why := unkeyed(event, fd)):
                self.greetings.failed(refused=False)
                self.keyless.refuse(why)
            case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                self.greetings.failed(refused=True)
            case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self.greetings.failed(refused=False)
            case zmq.EVENT_DISCONNECTED:
                self.greetings.ended(fd)
                self.intake.ended(fd)

    def admits_peer(self, fd: int) -> bool:
        """Whether who has connected here may; looked at as the connection is accepted."""
        return self.strangers is None or self.strangers.admits(fd, PEER)

    def admits_broker(self) -> bool:
        """Whether who was connected to may be; looked at when it has greeted, for then a process has accepted."""
        return self.strangers is None or self._broker is None or self.strangers.admits(self._broker, BROKER)

    def look(self) -> None:
        """Tell of the connections that have taken in much."""
        for fd in self.intake.look():
            self.tell(GROWN, fd)

    def cut_off(self, fd: int, size: int) -> None:
        """End a connection, if it is still there: so many bytes of a message have come by it, and no end."""
        endpoint = self.intake.endpoint(fd)
        if endpoint is None:
            return
        self.cut += 1
        self._cut_words = (
            f"{size / MIB:,.0f} MiB of one message and no end of it came from {other_end(fd)} at {endpoint}: it was "
            f"cut off (at most {MAX_MESSAGE // MIB} MiB of one, {MAX_UNFINISHED // MIB} MiB of all that have no end)"
        )
        hang_up(fd, endpoint)

    @property
    def untold(self) -> bool:
        """Whether there is something to say."""
        silent = self.strangers is None or not self.strangers.untold
        return self.greetings.refused > self._told or self.cut > self._cut_told or self.keyless.untold or not silent

    def notes(self, now: float) -> Iterator[Note]:
        """What is to be said, each kind at most every ``AGAIN`` seconds."""
        fresh = self.greetings.refused - self._told
        if fresh and now >= self._at + AGAIN:
            self._told, self._at = self.greetings.refused, now
            some = "a connection was" if fresh == 1 else f"{fresh:,} connections were"
            text = f"{some} refused at {self._name}: only ZMTP 3 is served, which a web page can not speak"
            yield Note("warn", text)
        if self.cut > self._cut_told and now >= self._cut_at + AGAIN:
            more = self.cut - self._cut_told - 1
            self._cut_told, self._cut_at = self.cut, now
            yield Note("bad", self._cut_words + (f"; and {more:,} others" if more else ""))
        if self.strangers is not None and (note := self.strangers.note(now)) is not None:
            yield note
        yield from self.keyless.notes(now)
