"""The newest picture of each core and a bounded, numbered stream of facts: all that a screen ever reads.

The engine's threads write, anybody reads. A write is one attribute store or one append to a bounded deque, so a slow
or absent reader costs the engine nothing; a reader that fell behind sees the gap in the numbers.
"""

from __future__ import annotations

import itertools
import time
from bisect import bisect_right
from collections import deque
from operator import attrgetter
from typing import Any, NamedTuple

from engine.core import Level, Note

FACTS = 2000
APART = 16  # places by which facts of several threads may stand out of their order
_NUMBER = attrgetter("number")


class Fact(NamedTuple):
    """One line for the operator. ``number`` starts at 1 and has no holes at the writer."""

    number: int
    at: float  # wall clock, seconds since the epoch: only for show
    source: str  # which node said it: broker, pool, client, lab
    level: Level
    text: str
    subject: bytes


class Feed:
    """Snapshots by node name, and facts."""

    def __init__(self, facts: int = FACTS) -> None:
        self._pictures: dict[str, Any] = {}
        self._spent: dict[str, float] = {}  # processor seconds that each node has drawn for
        self._looks: dict[str, float] = {}  # monotonic seconds of the last look at each: nobody draws for nobody
        self._look = float("-inf")  # and of the last look at all of them
        self.refresh: float | None = None  # times a second that a screen was drawn lately; None: there is none
        self._facts: deque[Fact] = deque(maxlen=facts)
        self._numbers = itertools.count(1)

    @property
    def pictures(self) -> dict[str, Any]:
        """The newest picture by node name (broker, client, pool). Looking makes the engines draw the next ones."""
        self._look = time.monotonic()
        return self._pictures

    def picture(self, name: str) -> Any:
        """The newest picture of one node, None before the first. Looking makes that node draw the next one."""
        self._looks[name] = time.monotonic()
        return self._pictures.get(name)

    def looked(self, name: str) -> float:
        """Monotonic seconds of the last look at this node's picture."""
        return max(self._look, self._looks.get(name, self._look))

    def peek(self, name: str) -> Any:
        """The same without looking: of who only passes on what others have drawn."""
        return self._pictures.get(name)

    def show(self, name: str, picture: object, spent: float = 0.0) -> None:
        """Replace the picture of one node, which took so many seconds of its thread's processor time to draw."""
        self._pictures[name] = picture
        self._spent[name] = self._spent.get(name, 0.0) + spent

    @property
    def spent(self) -> float:
        """Seconds of processor time that all nodes have drawn for so far."""
        return sum(self._spent.copy().values())

    def fact(self, note: Note, source: str, at: float) -> None:
        """Append a fact; ``at`` is wall-clock seconds."""
        self._facts.append(Fact(next(self._numbers), at, source, note.level, note.text, note.subject))

    def skip(self, lost: int) -> None:
        """Leave out numbers of facts that are known to have been, and are not known."""
        self._numbers = itertools.count(next(self._numbers) + lost)

    def since(self, number: int) -> tuple[list[Fact], int]:
        """The facts after ``number``, oldest first, and how many were lost before the first of them."""
        facts = list(self._facts)
        place = max(0, bisect_right(facts, number, key=_NUMBER) - APART)
        fresh = [fact for fact in facts[place:] if fact.number > number]
        return fresh, fresh[0].number - number - 1 if fresh else 0
