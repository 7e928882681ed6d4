"""The records of a round robin broker's tasks: one for each that has not ended, and counts of how the others did.

The rules of this file (numbers are those of README.md):

- A task is accepted once, under (client, id); it waits, or is held by one worker, or it has ended. (R1)
- The ledger counts each task once: when it came, and when it ended. What waits and what is held is counted where it is.
- What tasks bring is bounded in bytes, whether they wait or are held. (R2)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.core import Command, Frames, Leased, Note
from engine.parts.inflight import Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs
from engine.parts.limits import MAX_HELD
from engine.parts.store import AGAIN
from engine.protocols.roundrobin.backlog import FULL, Backlog
from engine.protocols.roundrobin.messages import KINDS, OTHER, PLAIN
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import is_awaited, size_of


class Records:
    """``tasks``: those that wait or are held. ``former``: of tasks taken back, who had them and may still answer."""

    def __init__(self, options: Options) -> None:
        self.tasks: dict[TaskKey, Task] = {}
        self.former: dict[TaskKey, list[bytes]] = {}
        self.backlog = Backlog(options)
        self.ledger = Ledger()
        self.legs = BrokerLegs()
        self.size = 0  # bytes of all tasks
        self.redelivered = 0
        self.again = 0  # tasks that were asked for while they were here
        self.told: list[tuple[Task, str | None]] | None = None  # for a store: what ended and how; None: was taken back
        self._max_deliveries = options.max_deliveries
        self._told: set[str] = set()  # why tasks were dropped, as far as that was noted

    def room(self, message: Frames, client: bytes, waits: bool, out: list[Command]) -> bool:
        """Whether one task more may be held, or wait where it has to; then what it brings is counted."""
        if len(message) == PLAIN:
            why = self.backlog.admit(client, 0) if waits else ""
            if not why:
                return True
        else:
            size = size_of(message)
            why = FULL if self.size + size > MAX_HELD else self.backlog.admit(client, size) if waits else ""
            if not why:
                self.size += size
                return True
        self.ledger.dropped += 1
        if why not in self._told:
            self._told.add(why)
            out.append(Note("bad", why, client))
        return False

    def close(self, task: Task, why: str = "") -> None:
        """A task has ended, ``why`` it failed, and is in no place any more."""
        del self.tasks[task.key]
        if self.told is not None:
            self.told.append((task, why))
        if len(task.message) > PLAIN:
            self.size -= size_of(task.message)
        if self.former:
            self.former.pop(task.key, None)

    def give_back(self, worker: bytes, tasks: list[Task]) -> None:
        """What this worker held waits again, or has failed for good.

        What nobody has tried, for the socket refused it, is no suspect.
        """
        again = []
        for task in tasks:
            task.worker = b""
            spent = task.attempt >= self._max_deliveries
            if spent or (self.backlog.owners.gone(task.key[0]) and is_awaited(task)):
                why = "undeliverable" if spent else "withdrawn"
                self.close(task, why)
                self.ledger.fail(why)
            else:
                if self.told is not None and task.attempt:
                    self.told.append((task, None))
                again.append(task)
                self.former.setdefault(task.key, []).append(worker)
        self.backlog.again(again)
        self.redelivered += len(again)

    def withdraw(self, clients: Collection[bytes], gone: bool) -> int:
        """What waits of these clients has failed; see ``Backlog.withdraw``. Returns how many."""
        found = self.backlog.withdraw(clients, gone)
        for task in found:
            self.close(task, "withdrawn")
            self.withdrawn()
        return len(found)

    def withdrawn(self) -> None:
        """A task that waited has ended, and is done by nobody."""
        self.ledger.fail("withdrawn")

    def unreachable(self, replies: int) -> None:
        """So many replies, counted as successes when they were sent, did not reach their client; a store keeps them."""
        if self.told is not None:
            return
        self.ledger.succeeded -= replies
        self.ledger.fail("client gone", replies)

    def undelivered(self, worker: bytes, keys: Iterable[TaskKey]) -> None:
        """These tasks never left for their worker: the deliveries do not count."""
        for key in keys:
            task = self.tasks.get(key)
            if task is not None and task.worker == worker:
                task.attempt -= 1

    # ---- of a broker with a store ------------------------------------------------------------------------------------

    def keep(self) -> list[tuple[Task, str | None]]:
        """From now on a store keeps the tasks; where it is told what has become of them. See ``told``."""
        self.told = []
        self.backlog.owners.stay = True  # what a client asked for that is gone is done all the same
        return self.told

    def known(self) -> None:
        """A task was asked for that is here, or in the store, or has ended."""
        self.again += 1

    def refuse(self) -> None:
        """A task is not kept."""
        self.ledger.sent += 1
        self.ledger.dropped += 1

    def stored(self, news: int, waiting: int) -> None:
        """So many tasks are the store's that were not, and so many wait there now."""
        self.ledger.sent += news
        self.backlog.kept = waiting

    def load(self, one: Leased, now: float) -> Task | None:
        """A task of the store waits here; None where its client asked for it again, and it is here already."""
        if one.attempts:
            self.redelivered += 1
        key = (one.client, one.message[1])
        if key in self.tasks:
            self.ledger.fail(AGAIN)
            return None
        task = self.tasks[key] = Task(key, KINDS.get(one.message[2], OTHER), one.message, now)
        task.attempt = min(one.lost, self._max_deliveries - 1)
        self.size += size_of(one.message)
        self.backlog.load(task)
        return task
