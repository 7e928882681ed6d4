"""The bulk runs of a client core, one at a time: ids of tasks, sampled legs, answers that are late.

- Tasks have numbers that go on from run to run, so an answer to an earlier run is known as late. A run with a tag has
  ids of its own: the tag, and the task's number behind it.
- An answer is asked about with ``awaited`` first; one to a task that is not out is late and changes nothing.
- Of tracked tasks one in ``EVERY`` is noted when it is sent first, and its leg when it is answered rightly. A run with
  a tag begins at a multiple of ``EVERY``: the number in the id and the number in the run pick the same tasks.
"""

from __future__ import annotations

import math

from engine.core import NEVER, Command, Note
from engine.parts.bulk import Bulk, BulkSpec, BulkView
from engine.parts.legs import EVERY, ClientLegs
from engine.parts.store import GLOBAL

BYTES = 8  # of an id


class Runner:
    """The runs of one client. ``first``: the number of its first task.

    ``bulk``: the newest run; ``base``: the number of its task 0; ``next``: the number that comes after all in use.
    ``late``: answers to no task that is out; ``unsent``: messages that the socket refused; ``again``: tasks that were
    asked for again.
    """

    __slots__ = ("_noted", "_tag", "again", "base", "bulk", "late", "legs", "next", "unsent")

    def __init__(self, first: int = 0) -> None:
        self.bulk: Bulk | None = None
        self.base = self.next = first
        self.late = self.unsent = self.again = 0
        self.legs = ClientLegs()
        self._tag = b""  # of the run's ids
        self._noted: dict[int, float] = {}  # sampled tasks that are out, and when they were sent

    # ---- the run ------------------------------------------------------------------------------------------------

    def begin(self, spec: BulkSpec, now: float, out: list[Command], most: float = math.inf) -> bool:
        """Start a run, or say in a note why not: another one goes on, or a task has more data than ``most`` bytes."""
        if self.bulk is not None and self.bulk.ended is None:
            out.append(Note("warn", "a run is going on: stop it first"))
            return False
        if spec.kind == "data" and not 0 <= spec.size <= most:
            out.append(Note("warn", f"a task has 0 to {most:,.0f} bytes of data: no run"))
            return False
        self.base = -(-self.next // EVERY) * EVERY if spec.tag else self.next
        self.next = self.base + spec.n
        self._noted.clear()
        self._tag = spec.tag
        self.bulk = Bulk(spec, now)
        return True

    def stop(self, now: float) -> None:
        """Send nothing more of the run."""
        if self.bulk is not None:
            self.bulk.stop(now)

    def due(self, now: float) -> list[int]:
        """The tasks that are to be sent now; they count as sent."""
        bulk, due = self.bulk, []
        while bulk is not None and (task := bulk.due(now)) is not None:
            due.append(task)
            if not (self.base + task) % EVERY and bulk.spec.tracked:
                self._noted[task] = now
        return due

    def repeat(self) -> list[int]:
        """The tasks that are out, oldest first: they are asked for again, for they or their answers may be lost."""
        pending = self.bulk.pending() if self.bulk is not None else []
        self.again += len(pending)
        return pending

    def expire(self, now: float) -> None:
        """Give up the tasks whose timeout has come."""
        for task in self.bulk.expire(now) if self.bulk is not None else ():
            self._noted.pop(task, None)

    # ---- answers ------------------------------------------------------------------------------------------------

    def awaited(self, task: int) -> bool:
        """Whether a task is out. Ask it of each answer: one to any other is late, and counted."""
        if self.bulk is not None and self.bulk.out(task):
            return True
        self.late += 1
        return False

    def replied(self, task: int, ident: bytes, now: float, size: int = 0) -> None:
        """A right answer of ``size`` payload bytes to a task that is out."""
        assert self.bulk is not None
        self.bulk.replied(task, now, size)
        sent = self._noted.pop(task, None)
        if sent is not None:
            self.legs.note(ident, sent, now)

    def failed(self, task: int, kind: str, now: float) -> None:
        """A task that is out has ended wrongly."""
        assert self.bulk is not None
        self.bulk.failed(task, kind, now)
        self._noted.pop(task, None)

    def refused(self, now: float, *tasks: int) -> None:
        """The socket refused a message with these tasks, or with none."""
        self.unsent += 1
        for task in tasks:
            if self.bulk is not None and self.bulk.out(task):
                self.failed(task, "unsent", now)

    # ---- ids ----------------------------------------------------------------------------------------------------

    def ident(self, task: int, size: int = BYTES) -> bytes:
        """The id of a task of the run: ``size`` bytes, little-endian, or the tag and four bytes, big-endian."""
        if self._tag:
            return self._tag + task.to_bytes(GLOBAL - len(self._tag), "big")
        return ((self.base + task) & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def task(self, ident: bytes, size: int = BYTES) -> int:
        """The task of the run that has this id; a number that no task of it has where none does."""
        if self._tag:
            right = len(ident) == GLOBAL and ident.startswith(self._tag)
            return int.from_bytes(ident[len(self._tag) :], "big") if right else -1
        if len(ident) != size:
            return -1
        return (int.from_bytes(ident, "little") - self.base) & ((1 << 8 * size) - 1)

    # ---- for the core -------------------------------------------------------------------------------------------

    def wake_at(self, linked: bool = True) -> float:
        """See ``Bulk.wake_at``; NEVER without a run."""
        return self.bulk.wake_at(linked) if self.bulk is not None else NEVER

    def view(self, now: float) -> BulkView | None:
        """The run as an operator sees it."""
        return self.bulk.view(now) if self.bulk is not None else None

    def check(self) -> None:
        """The books balance, and legs are noted of tasks that are out."""
        if self.bulk is not None:
            self.bulk.check()
            assert all(map(self.bulk.out, self._noted)), "a leg of a task that is not out"
