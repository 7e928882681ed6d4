"""A round robin broker with a store: tasks and outcomes are on the disk before any peer hears of them.

The rules of this file (numbers are those of README.md; the store's half is ``engine.parts.keeping``):

- A task comes into the pool by a lease, and an answer is relayed when the store has it.
- What the store refuses is counted as dropped, and a client of ours is told why. (R18)
- A task that was handed out in vain too often, or held too long, is dead: the store has it for an operator, who may
  have it tried again.
"""

from __future__ import annotations

from functools import partial

from engine.core import Command, Event, Frames, Leased, Outcome
from engine.parts.inflight import TaskKey
from engine.parts.keeping import BROKER, Keeping
from engine.parts.limits import MAX_HELD
from engine.parts.store import GLOBAL
from engine.parts.view import BrokerView
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.backlog import FULL
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.table import is_awaited


class Durable(Broker):
    """The core of the broker's role, where a store keeps its tasks: the ``Holder`` of ``keeping``."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._stores = True
        self.keeping = Keeping(self, options.backlog, workers=partial(_workers, self.pool))
        self._told = self.pool.records.keep()
        self._said: dict[TaskKey, tuple[bytes, bytes | None]] = {}  # answers in the event at hand, by worker

    # ---- the contract ------------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        if self.keeping.handle(event, now, out):
            self.pool.lanes.flush(out)
        else:
            out = super().handle(event, now)
        self._settle()
        self.keeping.ask(out)
        return out

    def wake_at(self) -> float:
        """The broker's next deadline, or when the store is asked again."""
        return min(super().wake_at(), self.keeping.wake_at())

    def check(self) -> None:
        """The pool's invariants, and each task in it is leased."""
        super().check()
        self.keeping.check()
        assert all(map(self.keeping.is_leased, self.pool.tasks)), "a task that nobody keeps"
        assert not self._told and not self._said, "the store was not told"

    def snapshot(self, now: float) -> BrokerView:
        """The same, with what the store does."""
        return self.keeping.shown(super().snapshot(now))

    # ---- into the store ----------------------------------------------------------------------------------------------

    def _accept(self, client: bytes, messages: list[Frames], now: float, out: list[Command]) -> int:
        """In place of ``Pool.accept``: see there."""
        pool, keeping = self.pool, self.keeping
        putting = keeping.putting
        refused = 0
        for message in messages:
            key = (client, message[1])
            known = putting.get(key)
            if known is None and key in pool.tasks:
                known = pool.tasks[key].message
            if known is not None:
                if known == message:
                    self.known()
                else:
                    refused += 1
            elif len(putting) + len(pool.backlog) >= pool.options.max_backlog:
                keeping.drop(key, FULL, out)
            else:
                keeping.put(key, message)
        return refused

    def _relay(self, client: bytes, ident: bytes, worker: bytes, data: bytes | None, out: list[Command]) -> None:
        """In place of ``Lanes.relay``: the answer waits until the store has it."""
        self._said[client, ident] = (worker, data)

    def _relay_run(self, worker: bytes, answers: list[packed.Answer], out: list[Command]) -> None:
        """In place of ``Lanes.relay_run``."""
        for client, ident, answer in answers:
            self._relay(client, ident, worker, None if answer is True else answer, out)

    def _settle(self) -> None:
        """Give the store what became of tasks in the event at hand."""
        for task, why in self._told:
            if why is None:
                self.keeping.lose(task.key)
            else:
                worker, data = self._said.pop(task.key, (b"", None))
                self.keeping.end(task.key, Outcome(why, data, worker), is_awaited(task))
        self._told.clear()

    # ---- what ``keeping`` asks for -----------------------------------------------------------------------------------

    def holds(self, key: TaskKey) -> bool:
        """See ``Holder``."""
        return key in self.pool.tasks

    def is_full(self) -> bool:
        """See ``Holder``."""
        return self.pool.records.size >= MAX_HELD // 2

    def slots(self) -> int:
        """See ``Holder``."""
        return sum(worker.slots for worker in self.pool.workers.values() if not worker.leaving)

    def load(self, one: Leased, now: float) -> TaskKey | None:
        """See ``Holder``."""
        task = self.pool.records.load(one, now)
        return None if task is None else task.key

    def pump(self, now: float, out: list[Command]) -> None:
        """See ``Holder``."""
        self.pool.drain(now, out)

    def known(self) -> None:
        """See ``Holder``."""
        self.pool.records.known()

    def stored(self, news: int, waiting: int) -> None:
        """See ``Holder``."""
        self.pool.records.stored(news, waiting)

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        """See ``Holder``: only a client of ours has a word for a failure. (R18)"""
        if outcome.why and len(ident) != GLOBAL:
            return
        data = wire.failure(outcome.why) if outcome.why else outcome.data
        self.pool.lanes.relay(client, ident, outcome.worker or BROKER, data, out)

    def refuse(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """See ``Holder``."""
        self.pool.records.refuse()
        self.tell(*key, Outcome(why), out)


def _workers(pool: Pool) -> int:
    return sum(not worker.leaving for worker in pool.workers.values())
