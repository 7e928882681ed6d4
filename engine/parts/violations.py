"""What peers did wrong, counted by peer and reason, in bounded memory.

The first violation of a kind by each peer gives a note. But a hostile peer can take new names without end, so after
NOTES notes within WINDOW seconds one more says that they are no longer noted one by one.
"""

from __future__ import annotations

from engine.core import Command, Note
from engine.parts.view import Incident

PEERS = 1024
REASONS_PER_PEER = 32
NOTES = 20  # in a window
WINDOW = 10.0  # seconds


class Violations:
    """Counts and the newest incident of each kind. Reasons are our own fixed words, never a peer's bytes."""

    def __init__(self, peers: int = PEERS) -> None:
        self.total = 0
        self._peers = peers
        self._by_peer: dict[bytes, dict[str, Incident]] = {}
        self._notes = 0  # in the window at hand
        self._window_ends = 0.0

    def add(self, peer: bytes, reason: str, now: float, what: str = "") -> list[Command]:
        """Count one; the first of its kind by this peer gives a Note within bounds, repetitions only count.

        ``what``: the thing that the note names, where it is one of many; it is not kept.
        """
        self.total += 1
        known = self._by_peer.pop(peer, None)
        if known is None:
            known = {}
            if len(self._by_peer) >= self._peers:
                del self._by_peer[next(iter(self._by_peer))]
        self._by_peer[peer] = known  # newest peer last
        before = known.pop(reason, None)
        if before is None and len(known) >= REASONS_PER_PEER:
            del known[next(iter(known))]
        known[reason] = Incident(now, peer, reason, before.times + 1 if before else 1)
        return [] if before else self._note(peer, f"{what}: {reason}" if what else reason, now)

    def _note(self, peer: bytes, reason: str, now: float) -> list[Command]:
        if now >= self._window_ends:
            self._notes, self._window_ends = 0, now + WINDOW
        self._notes += 1
        if self._notes <= NOTES:
            return [Note("bad", f"violation: {reason}", peer)]
        if self._notes == NOTES + 1:
            return [Note("bad", f"violations by many peers: for {WINDOW:.0f} s they are counted, not told", peer)]
        return []

    def count(self, peer: bytes) -> int:
        """All violations by one peer that are still on record."""
        known = self._by_peer.get(peer)
        return 0 if known is None else sum(incident.times for incident in known.values())

    def of(self, peer: bytes) -> tuple[Incident, ...]:
        """The newest incident of each reason by one peer, newest last."""
        return tuple(self._by_peer.get(peer, {}).values())

    def newest(self, limit: int = 64) -> tuple[Incident, ...]:
        """The newest incidents of all peers, newest last."""
        found: list[Incident] = []
        for known in reversed(self._by_peer.values()):
            found.extend(reversed(known.values()))
            if len(found) >= limit:
                break
        return tuple(sorted(found[:limit]))
