"""Which of two brokers serves: Binary Star, with the seed's own terms. Pure: states, events, times.

- The fallback takes over on the peer's silence **and** a request, never on one of them. The request makes it ask the
  peer once more; only what stays unanswered then counts (``ASK``). A request may have lain in a queue, too.
- A primary that returns asks first. It waits while its fallback is active, until an operator hands back.
- A broker that serves and hears nobody at all (no peer, worker or client) goes back to asking: it may be the one that
  is cut off. It does so (``LONE``) well before the other one may take over (``SILENCE``).
- What the peer says counts only if it answers something that we said a moment ago: beats that lay in a queue while we
  were away are no news. Loneliness is counted from when we *said* it.

Two brokers that are cut off from each other only, each with requests of its own, would both serve: no pair can tell
that from the other's death. When they meet again the primary yields.

What follows in each state is in ``machine``.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from engine.core import NEVER
from engine.parts.machine import Walk
from engine.protocols.negotiated.machine import PAIR, If, On, Rank

BEAT = 0.5  # intervals between two of our messages to the peer
LONE = 1.5  # intervals of hearing nobody after which an active broker asks again
SILENCE = 2.5  # intervals of the peer's silence after which a request makes a broker active
ASK = 0.5  # intervals that the peer has to answer, once a request makes us ask
ASK_UNSURE = 2.0  # the same where we do not know who served last: a peer that is cut off by now has noticed it too
KEPT = 16  # beats whose echo still counts


class Standby:
    """One broker of a pair. ``interval``: seconds; ``sequence``: one that no earlier life came near."""

    def __init__(self, role: Literal["primary", "backup"], interval: float, sequence: int, now: float) -> None:
        self.role: Literal["primary", "backup"] = role
        self.state: str = role
        self.walk = Walk(PAIR)
        self.sequence = sequence  # of our newest beat
        self.peer_sequence = -1  # of the peer's beat that was heard last
        self.peer_state: str | None = None  # as far as it is news
        self.beat_at = now
        self.yielded = False  # we stand by because the other one serves, or is told to
        self._interval = interval
        self._said: deque[tuple[int, float]] = deque(maxlen=KEPT)
        self.peer_at = self._anyone_at = now  # when the peer, and when anybody, was heard
        self._asked_at = NEVER  # when the first request came since the peer was heard

    # ---- what happens -------------------------------------------------------------------------------------------

    def beat(self, now: float) -> int:
        """We say something now; its sequence number."""
        self.sequence += 1
        self._said.append((self.sequence, now))
        self.beat_at = now + BEAT * self._interval
        return self.sequence

    def heard(self, state: str, sequence: int, echo: int, now: float) -> bool:
        """The peer said its state, having heard our beat ``echo`` last; False where that is no news."""
        self.peer_sequence = sequence
        self.peer_at, self._asked_at = now, NEVER
        said = next((at for number, at in self._said if number == echo), None)
        if said is None or said + LONE * self._interval < now:
            self.beat_at = now  # tell it at once where we are
            return False
        self._anyone_at = max(self._anyone_at, said)
        self.peer_state = state
        before = self.state
        self._step(On.hears(state), now)
        self.yielded = self.yielded or (before == Rank.ACTIVE and not self.active)
        return True

    def request(self, now: float) -> None:
        """A worker or a client asked for something."""
        self._anyone_at = now
        if not self.active and self._asked_at == NEVER:
            self._asked_at = self.beat_at = now
        self.tick(now)

    def tick(self, now: float) -> None:
        """Time has passed."""
        match self.state:
            case Rank.ACTIVE if now >= self._anyone_at + LONE * self._interval:
                self._step(On.LONE, now)
                self._said.clear()  # what we said before is no question
            case Rank.PRIMARY | Rank.PASSIVE if now >= self._takeover():
                self._step(On.ASKED, now)

    def hand_back(self, now: float) -> bool:
        """An operator ends the fallback's service; False unless the primary is there and waits."""
        if self.role == "primary" or not self.active or self.peer_state != Rank.PASSIVE or self.doubtful(now):
            return False
        self._step(On.BACK, now)
        self.peer_at = now
        self.yielded = True
        return True

    def serve(self, now: float) -> bool:
        """An operator vouches that the primary is not there; False unless this fallback has never heard it."""
        if self.state != Rank.BACKUP or not self.doubtful(now):
            return False
        self._step(On.TOLD, now)
        return True

    def pause(self, now: float) -> None:
        """We were not run for a while, so the peer's silence meanwhile is none. (Alone we were all the same.)"""
        self.peer_at, self._asked_at = now, NEVER

    # ---- what is known ------------------------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether this broker serves."""
        return self.state == Rank.ACTIVE

    def doubtful(self, now: float) -> bool:
        """Whether the peer was not heard for so long that it may be gone."""
        return now >= self.peer_at + LONE * self._interval

    def wake_at(self) -> float:
        """When ``beat`` or ``tick`` is due."""
        turn = NEVER
        if self.active:
            turn = self._anyone_at + LONE * self._interval
        elif self.state != Rank.BACKUP:
            turn = self._takeover()
        return min(self.beat_at, turn)

    def _takeover(self) -> float:
        ask = ASK_UNSURE if self.state == Rank.PRIMARY else ASK
        return max(self.peer_at + SILENCE * self._interval, self._asked_at + ask * self._interval)

    def _step(self, event: str, now: float) -> None:
        before = self.state
        self.state = self.walk.step(before, event, If.PRIMARY if self.role == "primary" else If.FALLBACK)
        if self.state == before:
            return
        self.yielded = False
        self._anyone_at, self._asked_at = now, NEVER
        self.beat_at = now  # the peer hears it at once
