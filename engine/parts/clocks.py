"""How far the clock of another process is from ours, estimated from questions and answers, as NTP does it.

The rules of this file:

- An offset is what the other clock shows less what ours shows, at one instant, in seconds.
- One exchange bounds it: the other clock was read between question and answer. The exchange with the shortest round
  trip bounds it best; half of that round trip is the error, however unequal the two ways were.
- Clocks drift: an estimate from before a run and one from after it are put together into one that covers both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Exchange(NamedTuple):
    """One question: when it was asked and answered by our clock, and what the other clock showed between; seconds."""

    asked: float
    there: float
    answered: float


class Offset(NamedTuple):
    """The other clock less ours is ``seconds``, give or take ``error``. ``same``: both are one clock."""

    seconds: float
    error: float
    same: bool = False

    def covering(self, other: Offset) -> Offset:
        """The smallest estimate that holds wherever either of them does."""
        if self.same and other.same:
            return self
        low = min(self.seconds - self.error, other.seconds - other.error)
        high = max(self.seconds + self.error, other.seconds + other.error)
        return Offset((low + high) / 2, (high - low) / 2)


SAME = Offset(0.0, 0.0, same=True)


def estimate(exchanges: Sequence[Exchange]) -> Offset:
    """The offset by the exchange with the shortest round trip. Raises ValueError where there is none."""
    best = min(exchanges, key=lambda one: one.answered - one.asked)
    return Offset(best.there - (best.asked + best.answered) / 2, (best.answered - best.asked) / 2)
