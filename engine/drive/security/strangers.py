"""Strangers at a private socket: judged by the user at the other end of the connection, counted, and told."""

from __future__ import annotations

from engine.core import Note
from engine.drive.security.users import UNKNOWN, Trust, name_of, user_of

AGAIN = 10.0  # seconds between two lines about the same thing

PEER = "a peer of {user} was refused at {name}, which is for those of {own} alone; {way} admits it"
BROKER = "the broker at {name} is of {user}, and this worker of {own}: nothing is taken from it; {way} takes it"


class Strangers:
    """At one socket, called ``name``. ``trust``: who may be at the other end."""

    def __init__(self, name: str, trust: Trust) -> None:
        self.count = 0
        self.name, self._trust = name, trust
        self._words = ""  # about the newest
        self._told = 0
        self._at = float("-inf")  # when they were told of last

    @property
    def untold(self) -> bool:
        """Whether there is something to say."""
        return self.count > self._told

    def admits(self, fd: int, words: str) -> bool:
        """Whether the user at the other end of this connection is trusted; a stranger is reported in these words."""
        user = user_of(fd)
        if self._trust.admits(user):
            return True
        self.count += 1
        way = f"--trust {UNKNOWN if user is None else user}"
        self._words = words.format(user=name_of(user), name=self.name, own=name_of(self._trust.own), way=way)
        return False

    def note(self, now: float) -> Note | None:
        """What is to be said, at most every ``AGAIN`` seconds."""
        if not self.untold or now < self._at + AGAIN:
            return None
        self._told, self._at = self.count, now
        return Note("bad", self._words)
