"""What a driver knows of its source: the newest listing, worked through for a while (ruling 2)."""

from __future__ import annotations

from collections import deque

from engine.core import NEVER
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import LISTING_LIFE, LISTING_WORTH
from engine.protocols.diskqueue.operations import Done
from engine.protocols.diskqueue.transitions import agenda


class Listing:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._todo: deque[names.Item] = deque()
        self._agenda = agenda(())
        self._until = -NEVER
        self._still = False  # it is of a folder in which nothing moved

    def read(self, answer: Done, began: float, now: float) -> tuple[tuple[str, str], ...]:
        """Take a new one, for which was asked at ``began``; what claims to be an item and is none, and why."""
        self._agenda, self._still = agenda(answer.entries, answer.odd), answer.still
        self._until = now + max(LISTING_LIFE, LISTING_WORTH * (now - began))
        self._todo = deque(self._agenda.takeable)
        return self._agenda.strange

    def next(self, now: float) -> names.Item | None:
        """What to take next; None where nothing is left of it, or where it is too old."""
        return self._todo.popleft() if self._todo and now <= self._until else None

    def leftovers(self, item: names.Item) -> frozenset[str]:
        """What lies there of an earlier document of the same id."""
        return self._agenda.leftovers(item)

    @property
    def held(self) -> tuple[names.Item, ...]:
        """What drivers had in their hands."""
        return self._agenda.held

    @property
    def finished(self) -> bool:
        """Whether it proves that the source is done: the file is there, nothing is left, and no name changed while it
        was read, for then it may show an item under none of its names.
        """
        return self._agenda.done and not self._agenda.live and self._still
