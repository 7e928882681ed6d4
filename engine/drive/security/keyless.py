"""Peers that were refused where keys are asked for: counted, and told with the reasons."""

from __future__ import annotations

from collections.abc import Iterator

import zmq

from engine.core import Note
from engine.drive.security.strangers import AGAIN

MISMATCH = int(zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
CRYPTOGRAPHIC = int(zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
REASONS = 5  # that are told at a time


def unkeyed(event: int, error: int) -> str:
    """What a failed handshake means at a socket that speaks CURVE; empty where it has nothing to do with keys."""
    if event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:  # it was quicker than we to see that keys are asked for
        return "a peer broke its handshake off, as one does that came without a key"
    if event != zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
        return ""
    if error == MISMATCH:
        return "a peer came without a key: it has to be started with --curve and --server-key"
    return "a peer took another key for this broker's (its --server-key)" if error == CRYPTOGRAPHIC else ""


class Keyless:
    """At one socket, called ``name``."""

    def __init__(self, name: str) -> None:
        self.count = 0
        self._name = name
        self._whys: dict[str, int] = {}  # not told yet
        self._more = 0
        self._at = float("-inf")  # when they were told of last

    def refuse(self, why: str) -> None:
        """One more."""
        self.count += 1
        if why in self._whys or len(self._whys) < REASONS:
            self._whys[why] = self._whys.get(why, 0) + 1
        else:
            self._more += 1

    @property
    def untold(self) -> bool:
        """Whether there is something to say."""
        return bool(self._whys)

    def notes(self, now: float) -> Iterator[Note]:
        """What is to be said, at most every ``AGAIN`` seconds."""
        if not self._whys or now < self._at + AGAIN:
            return
        self._at = now
        whys, more = self._whys, self._more
        self._whys, self._more = {}, 0
        for why, times in whys.items():
            yield Note("bad", f"refused at {self._name}: {why}" + (f" ({times:,} times)" if times > 1 else ""))
        if more:
            yield Note("bad", f"refused at {self._name}: {more:,} more for other reasons of that kind")
