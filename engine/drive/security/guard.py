"""The keys behind the routing ids of one ROUTER: which message is taken, and who is sent nothing any more.

libzmq can not close one peer of a ROUTER. So every message tells under which key its connection was admitted (User-Id),
and both pumps ask here about a peer that is new or has another key than before.

The rules of this file:

- A routing id belongs to the key that used it first, for as long as that is authorized.
- A message that the role of its key may not say is dropped and counted.
- So is one of a key that is not authorized (any more), or of another key than the id's. Then its connection is ended;
  until it has ended nothing is sent to that id; and the core hears ``Disconnected``, as of any that ends.
- A peer within this process has no key, and is trusted.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import zmq

from engine.core import Disconnected, Frames, Note
from engine.core import Socket as Spec
from engine.drive.links import KEPT, NONE, Links
from engine.drive.security.descriptors import hang_up
from engine.drive.security.keyring import Keyring, refusal
from engine.drive.security.keys import SHOWN
from engine.drive.security.strangers import AGAIN
from engine.drive.security.watched import KEYS


class Guard:
    """Of the socket of this ``spec``, bound at ``endpoints``. On the thread of the socket's owner."""

    def __init__(
        self, spec: Spec, endpoints: list[str], ring: Keyring, links: Links, say: Callable[[Note], None]
    ) -> None:
        self.users: dict[bytes, bytes] = {}  # peer → the key that it is admitted under; empty: of this process
        self.cut: dict[bytes, int] = {}  # peers that are sent nothing, and the descriptor whose end ends that
        self.dropped = 0
        self.unsent = 0
        self._spec, self._endpoints, self._ring, self._links, self._say = spec, endpoints, ring, links, say
        self._said = float("-inf")

    def judge(self, peer: bytes, user: bytes, fd: int, carrier: bytes = b"") -> bool:
        """Whether a message is taken, of a peer that is not in ``users`` under this key; empty: no key.

        ``carrier``: whose connection it is that the peer shares, and that is ended where it is not taken.
        """
        culprit = carrier or peer
        if not user:
            if fd != NONE:  # libzmq lets no peer in without
                self._refuse(culprit, fd, "it has no key")
                return False
            self._admit(peer, user)
            return True
        before = self.users.get(peer)
        if before is not None and before != user and self._wrong(before) == "":
            key = self._ring.key(user.decode("ascii", "replace"))
            whose = key.words if key is not None else f"{user[:SHOWN].decode('ascii', 'replace')}…"
            self._refuse(culprit, fd, f"{whose} uses the name of another key's peer")
            return False
        if why := self._wrong(user):
            self._refuse(culprit, fd, why)
            return False
        self._admit(peer, user)
        return True

    def taken(self, messages: list[Frames]) -> list[Frames]:
        """Those of them that the roles of their keys may say."""
        said_by, kept = self._spec.said, []
        for frames in messages:
            user = self.users.get(frames[0])
            if user and said_by is not None and (said := said_by(frames)):
                key = self._ring.key(user.decode())
                if key is None or key.role not in said:
                    whose = f"{key.words} says what only a {' or '.join(said)} may" if key is not None else "no key"
                    self.dropped += 1
                    self._tell(f"{whose}: it was dropped", frames[0])
                    continue
            kept.append(frames)
        return [frames for frames in kept if frames[0] not in self.cut] if self.cut else kept

    def sweep(self) -> None:
        """Other keys are authorized than before: end the connections of those that are not any more."""
        for peer, user in list(self.users.items()):
            if why := self._wrong(user):
                del self.users[peer]
                self._refuse(peer, self._links.known.get(peer, NONE), why, dropped=0)

    def hear(self, event: int, fd: int) -> None:
        """One event of the door."""
        if event == KEYS:
            self.sweep()
        elif event == zmq.EVENT_DISCONNECTED and self.cut:
            self._ended(fd)

    def _ended(self, fd: int) -> None:
        """libzmq knows the peer no more."""
        for peer in [peer for peer, cut in self.cut.items() if cut == fd]:
            del self.cut[peer]

    def _admit(self, peer: bytes, user: bytes) -> None:
        self.users[peer] = user
        if len(self.users) > KEPT:
            del self.users[next(iter(self.users))]

    def _wrong(self, user: bytes) -> str:
        """Why this key's messages are not taken; empty where they are."""
        if not user:
            return ""
        return refusal(self._ring, user.decode("ascii", "replace"), self._spec.roles)

    def _refuse(self, peer: bytes, fd: int, why: str, dropped: int = 1) -> None:
        self.dropped += dropped
        if fd != NONE:
            self.cut[peer] = fd
            for endpoint in self._endpoints:
                hang_up(fd, endpoint)
        if self._links.renounce(peer):
            self._links.told.append(Disconnected(self._spec.name, peer))
        self._tell(f"it was cut off: {why}", peer)

    def _tell(self, why: str, peer: bytes) -> None:
        now = time.monotonic()
        if now >= self._said + AGAIN:
            self._said = now
            self._say(Note("bad", f"a peer at {self._endpoints[0]}: {why}", peer))
