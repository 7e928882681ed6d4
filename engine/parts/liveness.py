"""Expiry of peers and the time of the next heartbeat to each.

Hearing a peer is the hot path, so it writes one number and nothing else; deadlines are corrected lazily when they
come up: a peer that was heard meanwhile is put back at its true deadline. So a peer costs the same a period, however
many messages arrive. Of many peers those are put back at one time whose deadlines are close, and somewhat before them:
who is to look at them wakes up a few dozen times a period and not once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from heapq import heappop, heappush

from engine.core import NEVER

SPARE = 1024  # entries of peers that have gone, which are too few to look for
MANY = 256  # peers from which on they are looked at together
STEPS = 64  # times in a period at which they are


class Liveness:
    """Which peers were silent for too long, and which are due a heartbeat. Peers are routing ids.

    ``expiry``: seconds of silence after which a peer is expired. ``every``: seconds of silence after which it is due
    a heartbeat, and again every so often while it stays silent; NEVER for none. ``spared``: peers for which that is
    ``later``, because they send heartbeats themselves.
    """

    def __init__(
        self, expiry: float, every: float = NEVER, spared: Container[bytes] = (), later: float = NEVER
    ) -> None:
        self.expiry, self.every = expiry, every
        self._spared, self._later = spared, later
        self._heard: dict[bytes, float] = {}
        self._expires = _Agenda(expiry)
        self._beats = _Agenda(every)

    def __len__(self) -> int:
        return len(self._heard)

    def __contains__(self, peer: bytes) -> bool:
        return peer in self._heard

    def heard(self, peer: bytes, now: float) -> None:
        """Note a message from a peer, known or new."""
        if peer not in self._heard:
            self._expires.put(now + self.expiry, peer)
            if self.every != NEVER:
                self._beats.put(now + self.every, peer)
        self._heard[peer] = now

    def last(self, peer: bytes) -> float:
        """When a known peer was heard last. KeyError for an unknown one."""
        return self._heard[peer]

    @property
    def heard_at(self) -> dict[bytes, float]:
        """When each known peer was heard last; whoever hears thousands of a known one writes it here himself."""
        return self._heard

    def forget(self, peer: bytes) -> None:
        """Watch a peer no longer; a no-op for an unknown one. Its entries lapse when they come up, or are too many."""
        self._heard.pop(peer, None)
        self._expires.trim(self._heard)
        self._beats.trim(self._heard)

    def expired(self, now: float) -> list[bytes]:
        """The peers whose silence has reached ``expiry``; they are forgotten."""
        gone = []
        for peer in self._expires.come(now):
            heard = self._heard.get(peer)
            if heard is None:
                continue
            if heard + self.expiry <= now:
                del self._heard[peer]
                gone.append(peer)
            else:
                self._expires.put_back(heard + self.expiry, peer, now)
        return gone

    def beats(self, now: float) -> list[bytes]:
        """The peers that are due a heartbeat now; each is due again as much later unless it is heard."""
        due = []
        for peer in self._beats.come(now):
            heard = self._heard.get(peer)
            if heard is None:
                continue
            after = self._after(peer)
            if heard + after <= now:
                due.append(peer)
                self._beats.put(now + after, peer)
            else:
                self._beats.put_back(heard + after, peer, now)
        return due

    def _after(self, peer: bytes) -> float:
        return self._later if peer in self._spared else self.every

    def wake_at(self) -> float:
        """No later than the next expiry or heartbeat; may be early, when a deadline has moved meanwhile."""
        return min(self._expires.next(), self._beats.next())

    def deadlines(self) -> tuple[list[tuple[float, bytes]], list[tuple[float, bytes]]]:
        """When each peer expires and is due a heartbeat, if it is not heard until then; the next one first."""
        return self._true(self._expires, lambda peer: self.expiry), self._true(self._beats, self._after)

    def _true(self, agenda: _Agenda, after: Callable[[bytes], float]) -> list[tuple[float, bytes]]:
        heard = self._heard
        return sorted((max(at, heard[peer] + after(peer)), peer) for at, peer in agenda.entries() if peer in heard)

    def grace(self, seconds: float) -> None:
        """This process was paused for so many seconds, which is no silence of the peers: move every deadline."""
        for peer in self._heard:
            self._heard[peer] += seconds

    def check(self) -> None:
        """Every watched peer has a deadline."""
        assert self._heard.keys() <= self._expires.standing, "a watched peer can not expire"
        if self.every != NEVER:
            assert self._heard.keys() <= self._beats.standing, "a watched peer gets no heartbeat"


class _Agenda:
    """Peers by deadline; each is in it at most once, so a peer that left and came back gets one heartbeat."""

    __slots__ = ("_at", "_most", "_step", "_times", "standing")

    def __init__(self, period: float) -> None:
        self._most = SPARE  # entries, at which a look for old ones is worth its cost
        self._step = period / STEPS
        self._times: list[float] = []  # a heap
        self._at: dict[float, list[bytes]] = {}  # of each time
        self.standing: set[bytes] = set()

    def put(self, at: float, peer: bytes) -> None:
        if peer not in self.standing:
            self.standing.add(peer)
            peers = self._at.get(at)
            if peers is None:
                self._at[at] = [peer]
                heappush(self._times, at)
            else:
                peers.append(peer)

    def put_back(self, at: float, peer: bytes, now: float) -> None:
        """Of many peers together with others, before ``at``; then once more, if it has not been heard by then."""
        if len(self.standing) > MANY and (early := at // self._step * self._step) > now:
            at = early
        self.put(at, peer)

    def trim(self, known: Container[bytes]) -> None:
        """Drop the entries of those who are not known any more, once they can be half of all."""
        if len(self.standing) >= self._most:
            left = {at: [peer for peer in peers if peer in known] for at, peers in self._at.items()}
            self._at = {at: peers for at, peers in left.items() if peers}
            self._times = sorted(self._at)
            self.standing = {peer for peers in self._at.values() for peer in peers}
            self._most = 2 * len(self.standing) + SPARE

    def come(self, now: float) -> list[bytes]:
        come: list[bytes] = []
        while self._times and self._times[0] <= now:
            come += self._at.pop(heappop(self._times))
        self.standing.difference_update(come)
        return come

    def entries(self) -> list[tuple[float, bytes]]:
        return [(at, peer) for at, peers in self._at.items() for peer in peers]

    def next(self) -> float:
        return self._times[0] if self._times else NEVER
