"""What a store of tasks is, and the reference store, in memory: it loses its tasks only when its process ends.

The rules of this file:

- A task is kept once and ends once. An id of ``GLOBAL`` bytes is random and identifies its task: a client that sends it
  again asks for the same task. Any other id is its client's own, and each time a new task.
- What is kept waits until it is leased, oldest first. A lease lasts until its task ends or the store is opened anew.
- Each lease has a token, which is never given out again. An outdated token changes nothing: it is fenced.
- ``perform`` carries out many commands at once: when it returns, all of them are on the disk, or none.
- The outcome of a task with a global id is kept for a time, so that it can be asked for again.
- A task that failed for a reason of ``DEAD`` is dead: it is kept for an operator, who may have it tried again. It then
  waits as the newest task, its attempts and losses start at 0, and its failure is taken out of the books. Where a
  client has asked for its global id meanwhile, it is not tried again but only forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, Protocol

from engine.core import Entry, Leased, Outcome, Store, Stored, Told

GLOBAL = 16  # bytes of a globally unique id
REFUSED = "refused"  # the fate of a task that is not kept, of a command whose other tasks may be
KEPT = "kept"  # the fate of a task that was kept before and has not ended
AGAIN = "asked again"  # how a task ends in a broker's books where its client asked for it twice
SQLITE, SHARED = "sqlite:", "nats://"  # how names of stores begin; of the second kind several brokers may have one
FOUND = "kept before"  # a broker's counter: tasks that its store kept when it began
EPOCHS = 40  # bits of a token that count tasks; above them stands the epoch of its lease
MOST_LEASED = 64 * 1024 * 1024  # bytes of the tasks that are leased at a time
MOST_RESULTS = 1_000_000  # outcomes that are kept, the newest
DEAD = ("undeliverable", "deadline", "lost", "not offered")  # reasons of tasks that no worker completed
MOST_DEAD = 10_000  # dead tasks that are kept, the newest


class Revive(NamedTuple):
    """An order to a broker with a store: try these dead tasks again, by the numbers under which the store has them."""

    numbers: tuple[int, ...]


def misnamed(backlog: str, shared: bool) -> str:
    """Why this names no store; empty where it does, or is empty. ``shared``: whether it may be one of several brokers.

    A setting of brokers, see ``engine.system.System.backlog``.
    """
    if not backlog or backlog.startswith((SQLITE, SHARED) if shared else SQLITE):
        return ""
    if backlog.startswith(SHARED):
        return f"backlog is sqlite:PATH or empty for memory: brokers of this system can not share one, as {backlog!r}"
    names = "sqlite:PATH, nats://HOST:PORT," if shared else "sqlite:PATH"
    return f"backlog is {names} or empty for memory, not {backlog!r}"


class Unavailable(Exception):
    """The store can do nothing now; the text says why."""


class Counts(NamedTuple):
    """accepted = succeeded + failed by kind + waiting + leased, over all times that it was open; and results kept.

    ``dead``: of those that failed so many can be tried again.
    """

    accepted: int
    succeeded: int
    failed: tuple[tuple[str, int], ...]
    waiting: int
    leased: int
    results: int
    dead: int = 0

    @property
    def balanced(self) -> bool:
        """Whether the two sides agree; the right one is counted where the tasks are."""
        ended = self.succeeded + sum(n for _, n in self.failed)
        return self.accepted == ended + self.waiting + self.leased


class Keeps(Protocol):
    """Where tasks are kept. One thread at a time."""

    name: str
    """What an operator calls it."""

    trouble: str
    """What was wrong with it when it was opened; empty for nothing."""

    def listen(self, told: Callable[[Told], None]) -> None:
        """Have it told, on a thread of the store, what other brokers do with a store that they share."""

    def perform(self, commands: list[Store]) -> list[Stored]:
        """Carry out all commands, one answer each. Raises Unavailable; then none is carried out."""

    def counts(self) -> Counts:
        """The books. Raises Unavailable."""

    def result(self, ident: bytes) -> Outcome | str | None:
        """The outcome of a task with a global id; KEPT where it has not ended, None where nothing is known of it."""

    def close(self) -> None:
        """Close the store; leases end when it is opened again."""


class _Row:
    __slots__ = ("attempts", "entry", "leased", "lost")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.attempts = self.lost = 0
        self.leased = False


class Memory:
    """The reference. ``room``: tasks that may be kept at a time. ``down``: why nothing is done, for tests."""

    name, trouble = "memory", ""

    def __init__(self, room: int = 1_000_000, results: int = MOST_RESULTS, dead: int = MOST_DEAD) -> None:
        self.room, self.most, self.most_dead = room, results, dead
        self.down = ""
        self.epoch = 0
        self._seq = 0
        self._rows: OrderedDict[int, _Row] = OrderedDict()
        self._ids: dict[bytes, int] = {}  # of tasks that have not ended
        self._results: OrderedDict[bytes, tuple[int, Outcome]] = OrderedDict()
        self._dead: OrderedDict[int, tuple[Entry, str]] = OrderedDict()
        self._accepted = self._succeeded = 0
        self._failed: dict[str, int] = {}
        self.reopen()

    def reopen(self) -> None:
        """As after the end of the process that used it: what was leased waits again."""
        self.epoch += 1
        for row in self._rows.values():
            row.attempts += row.leased
            row.leased = False

    def listen(self, told: Callable[[Told], None]) -> None:
        """See ``Keeps``: nobody else has this one."""

    def perform(self, commands: list[Store]) -> list[Stored]:
        """See ``Keeps``."""
        if self.down:
            raise Unavailable(self.down)
        return [self._do(command) for command in commands]

    def _do(self, command: Store) -> Stored:
        fenced = [token for token, outcome, _ in command.ended if not self._end(token, outcome)]
        for token in command.lost:
            if (row := self._mine(token)) is not None:
                row.lost += 1
        revived = sum(map(self._revive, command.revive))
        refused, fates = "", list[Outcome | str | None]()
        if len(self._rows) + max(1, len(command.tasks)) > self.room:
            refused = f"the store is full: it holds {self.room:,} tasks"
        else:
            fates = [self._put(entry) for entry in command.tasks]
        leased = self._lease(command.lease)
        waiting = sum(not row.leased for row in self._rows.values())
        return Stored(command.number, fates, leased, fenced, waiting, refused, revived, len(self._dead))

    def _put(self, entry: Entry) -> Outcome | str | None:
        ident = entry.message[1]
        if len(ident) == GLOBAL:
            if ident in self._ids:
                return KEPT
            if ident in self._results:
                return self._results[ident][1]
        self._keep(entry)
        self._accepted += 1
        return None

    def _keep(self, entry: Entry) -> None:
        self._seq += 1
        if len(entry.message[1]) == GLOBAL:
            self._ids[entry.message[1]] = self._seq
        self._rows[self._seq] = _Row(Entry(entry.client, list(entry.message)))

    def _revive(self, number: int) -> bool:
        entry, why = self._dead.pop(number, (None, ""))
        if entry is None:
            return False
        ident = entry.message[1]
        if len(ident) == GLOBAL:
            if ident in self._ids or self._results.get(ident, (number,))[0] != number:
                return False
            self._results.pop(ident, None)
        self._failed[why] -= 1
        self._keep(entry)
        return True

    def _lease(self, most: int) -> list[Leased]:
        found: list[Leased] = []
        size = 0
        for seq, row in self._rows.items():
            if len(found) >= most or size > MOST_LEASED:
                break
            if not row.leased:
                row.leased = True
                size += sum(map(len, row.entry.message))
                token = self.epoch << EPOCHS | seq
                found.append(Leased(token, row.entry.client, list(row.entry.message), row.attempts, row.lost))
        return found

    def _mine(self, token: int) -> _Row | None:
        row = self._rows.get(token & (1 << EPOCHS) - 1)
        return row if row is not None and row.leased and token >> EPOCHS == self.epoch else None

    def _end(self, token: int, outcome: Outcome) -> bool:
        row = self._mine(token)
        if row is None:
            return False
        number = token & (1 << EPOCHS) - 1
        del self._rows[number]
        ident = row.entry.message[1]
        if len(ident) == GLOBAL:
            del self._ids[ident]
            self._results[ident] = number, outcome
            if len(self._results) > self.most:
                self._results.popitem(last=False)
        if outcome.why:
            self._failed[outcome.why] = self._failed.get(outcome.why, 0) + 1
            if outcome.why in DEAD:
                self._dead[number] = row.entry, outcome.why
                if len(self._dead) > self.most_dead:
                    self._dead.popitem(last=False)
        else:
            self._succeeded += 1
        return True

    def counts(self) -> Counts:
        """See ``Keeps``."""
        leased = sum(row.leased for row in self._rows.values())
        failed = tuple(sorted((why, n) for why, n in self._failed.items() if n))
        waiting = len(self._rows) - leased
        return Counts(self._accepted, self._succeeded, failed, waiting, leased, len(self._results), len(self._dead))

    def result(self, ident: bytes) -> Outcome | str | None:
        """See ``Keeps``."""
        return KEPT if ident in self._ids else self._results.get(ident, (0, None))[1]

    def close(self) -> None:
        """See ``Keeps``."""
