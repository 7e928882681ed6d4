"""Who broke which rule of the queues, as far as that shows in names and files.

The rules of this file:

- What stands there is counted when it is seen first, and again only where it went away meanwhile.
- A feeder may copy under any name, so a foreign file breaks a rule only when it stays.
- Peers are queues, by their names, and drivers, by their seats; what nobody can be named for is the queue's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from engine.core import Command
from engine.parts.explain import Finding, plain
from engine.parts.view import Incident
from engine.parts.violations import Violations
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Done, Remove, Rename
from engine.protocols.diskqueue.pipeline import Survey
from engine.protocols.diskqueue.transitions import Held

STAYS = 10.0  # seconds after which a foreign file is no feeder's copy any more

STRANGE = "not a document"
UNLOCKED = "holds a document without a lock"
FOREIGN = "a file that is none of the queue's"
TIMES = "its timer file can not be read"
ASTRAY = "works for no stage here"
LOG = "a line of its log can not be read"
TAKEN = "another works under its number"
TOUCHED = "its document was taken from it"

RULES: Mapping[str, str] = {
    STRANGE: "ruling 4: a name with a suffix is an id, a number, and nothing else",
    UNLOCKED: "ruling 5: a number is held by a lock",
    FOREIGN: "003 row 8: a feeder copies under another name and renames",
    TIMES: "003 row 10: the timer file holds Work, Wait, Block, Overhead, Docs",
    ASTRAY: "003 row 11: a watchdog's drivers work for its stages",
    LOG: "ours: one line a document",
    TAKEN: "ruling 5: a number is held by one driver",
    TOUCHED: "003 row 8: names with a number are their driver's alone",
}
"""How reasons begin → the rule that was broken."""


ACCUSES = "violation"
"""The outcome in a line of a driver's log that says that somebody broke a rule, in place of a document's."""


def accusation(at: float, id: str, reason: str) -> str:
    """Such a line."""
    return f"{at:.3f}\t{ACCUSES}\t1\t0\t{id}\t{reason}"


def touched(answer: Done, held: Held) -> bool:
    """Whether an answer shows that the document in a driver's hands was taken out of them."""
    own = (held.src, names.working(held.id, held.number))
    return answer.error == "gone" and isinstance(answer.operation, Rename | Remove) and answer.operation[:2] == own


class Broken(NamedTuple):
    """Something that breaks a rule. ``what`` tells it from others of its kind; it stands as long as it is seen."""

    peer: str
    reason: str
    what: str


class QueueViolations:
    """What broke rules so far. Times are wall clock, seconds since the epoch."""

    def __init__(self) -> None:
        self._violations = Violations()
        self._standing: frozenset[Broken] = frozenset()
        self._unlocked: frozenset[Broken] = frozenset()  # in the last look: one listing may show what is no more
        self._foreign: dict[tuple[str, str], float] = {}  # (queue, name) → when it was seen first

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The newest of each kind by each peer, newest last."""
        return self._violations.newest()

    def look(self, surveys: Mapping[str, Survey], drivers: Iterable[Broken], now: float) -> list[Command]:
        """All queues by name, and what stands against drivers; gives a note for what is new in kind."""
        self._foreign = {
            (queue, name): self._foreign.get((queue, name), now)
            for queue, survey in surveys.items()
            for name in survey.foreign
        }
        standing = {*drivers}
        unlocked: set[Broken] = set()
        for queue, survey in surveys.items():
            standing |= {Broken(queue, f"{STRANGE}: {why}", name) for name, why in survey.odd}
            held = (one for one in survey.held if one.state == "working" and one.number not in survey.locks)
            unlocked |= {Broken(f"{queue}: driver {one.number}", UNLOCKED, one.id) for one in held}
        standing |= unlocked & self._unlocked
        self._unlocked = frozenset(unlocked)
        standing |= {
            Broken(queue, FOREIGN, name) for (queue, name), since in self._foreign.items() if now - since >= STAYS
        }
        fresh, self._standing = standing - self._standing, frozenset(standing)
        return [note for one in sorted(fresh) for note in self.add(one.peer, one.reason, now, one.what)]

    def add(self, peer: str, reason: str, now: float, what: str = "") -> list[Command]:
        """Count one that happened and is over; gives a note where it is the first of its kind, which names ``what``."""
        name = what.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return self._violations.add(peer.encode("utf-8", "surrogateescape"), reason, now, name)


def findings(incidents: Iterable[Incident]) -> tuple[Finding, ...]:
    """The same for people, with the rules."""
    return tuple(
        Finding(
            one.peer,
            plain(one.peer.decode("utf-8", "replace")),
            one.reason,
            next((rule for start, rule in RULES.items() if one.reason.startswith(start)), ""),
            one.times,
            one.at,
        )
        for one in incidents
    )
