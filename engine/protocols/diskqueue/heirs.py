"""What a driver does about documents in the hands of others, when it finds nothing else to do.

The rules of this file:

- A dead driver's documents are settled by any driver of its queues, under its two locks: if it is provably dead
  (``Inherit``), or if an operator says so.
- Who waits for others says once for each document and reason for whom, since when, and what can be done about it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from engine.core import Level
from engine.parts.machine import Walk
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import Disown, Error, Inherit, Steps
from engine.protocols.diskqueue.transitions import Settled, recover

MOST = 100  # numbers that are asked about in one look
PATIENCE = 5.0  # seconds that a document may be in the hands of others before that is told


class Inherited(NamedTuple):
    """What came of one try: why not, in one word and in words for people; or what was settled."""

    error: Error
    text: str
    settled: list[tuple[str, Settled]]


def inherit(
    config: DriverConfig, number: str, name: str, at: float, walk: Walk, word: bool = False
) -> Steps[Inherited]:
    """Settle what driver ``number`` left in our queues, if it is dead. ``name``: of a document that it holds.

    ``word``: an operator says that it is dead. ``at``: wall clock.
    """
    answer = yield Inherit(config.src, name, config.dst, number, word)
    if answer.error:
        return Inherited(answer.error, answer.text, [])
    settled = yield from recover(config.src, config.dst, number, config.keep_input, at, walk)
    clean = all(outcome != "stuck" for _, outcome in settled)
    yield Disown(config.src, names.working_lock(number), config.dst, number, clean)
    return Inherited("", "", settled)


class Heirs:
    """One driver's view of what others hold. Times are monotonic seconds; ``say`` takes level, text and document."""

    def __init__(self, config: DriverConfig, say: Callable[[Level, str, str], None]) -> None:
        self._config, self._say = config, say
        self._dead = frozenset(config.dead.split())
        self._since: dict[names.Item, float] = {}  # what others hold → when it was seen first
        self._told: set[tuple[names.Item, str]] = set()

    def look(self, held: tuple[names.Item, ...], now: float, at: float, walk: Walk) -> Steps[bool]:
        """Ask about everybody who holds something; whether something was settled. ``at``: wall clock."""
        others = [item for item in held if item.number != self._config.number]
        self._since = {item: self._since.get(item, now) for item in others}
        self._told = {(item, why) for item, why in self._told if item in self._since}
        found = False
        todo = deque([*{item.number: item for item in others if item.state == "working"}.values()][:MOST])
        while todo:
            item = todo.popleft()
            name, word = names.working(item.id, item.number), item.number in self._dead
            got = yield from inherit(self._config, item.number, name, at, walk, word)
            found = found or not got.error
            for id, outcome in got.settled:
                self._say("warn", f"of driver {item.number}, which died: {outcome}", id)
            if got.error:
                self._waits(item, got.error, got.text, now)
        for item in others:
            if item.state == "writing":
                text = f"driver {item.number} of the stage before writes it; if it is dead, a driver there settles it"
                self._waits(item, "writing", text, now)
        return found

    def _waits(self, item: names.Item, why: str, text: str, now: float) -> None:
        if now - self._since[item] >= PATIENCE and (item, why) not in self._told:
            self._told.add((item, why))
            self._say("warn", f"waits for it: {text}", item.id)
