"""A ping-pong broker with a store: what it accepts is on the disk, and so is how it ended, before anybody hears it.

The rules of this file (the store's half is ``engine.parts.keeping``):

- A task waits here when it is leased, and its client is told how it ended when the store has that (ruling 19).
- What a client that is gone asked for is done all the same. All clients share the backlog and the store.
- A worker that this broker does not know, and that PINGs, may be at work for the one that was killed: it owes a result,
  which counts for nothing (ruling 18).
"""

from __future__ import annotations

from engine.core import Command, Event, Outcome, Send
from engine.parts.inflight import Task, TaskKey
from engine.parts.keeping import Keeping
from engine.parts.limits import MAX_HELD
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.frontend import BACKLOG_FULL, FRONTEND, Frontend
from engine.protocols.pingpong.messages import DONE, FAILED, FULL, WITHDRAWN
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.tasks import Tasks

_WHY = {DONE: "", FAILED: "undeliverable", WITHDRAWN: "withdrawn"}  # status → how the store has it


class Durable(Broker):
    """The core of the broker's role, where a store keeps its tasks: the ``Holder`` of ``keeping``."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._stores = True
        self.keeping = Keeping(self, options.backlog)
        self.frontend = _Frontend(options, self.tasks, self.violations, self.keeping)
        self.load, self.stored = self.tasks.load, self.tasks.stored

    def handle(self, event: Event, now: float) -> list[Command]:
        """See ``engine.core.Core``."""
        out: list[Command] = []
        if not self.keeping.handle(event, now, out):
            out = super().handle(event, now)
        self.keeping.ask(out)
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        return min(super().wake_at(), self.keeping.wake_at())

    def check(self) -> None:
        """See ``engine.core.Core``."""
        super().check()
        self.keeping.check()
        assert all(self.keeping.is_leased(task.key) for task in self.tasks.all()), "a task that nobody keeps"

    def snapshot(self, now: float) -> BrokerView:
        """See ``engine.core.Core``."""
        return self.keeping.shown(super().snapshot(now))

    # ---- what ``keeping`` asks for -----------------------------------------------------------------------------------

    def holds(self, key: TaskKey) -> bool:
        """See ``Holder``."""
        return self.tasks.get(key) is not None

    def is_full(self) -> bool:
        """See ``Holder``."""
        return self.tasks.size >= MAX_HELD // 2

    def slots(self) -> int:
        """See ``Holder``."""
        return sum(worker.lost is None and not worker.leaving for worker in self.table)

    def pump(self, now: float, out: list[Command]) -> None:
        """See ``Holder``."""
        self._pump(now, out)

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        """See ``Holder``."""
        if not outcome.why:
            out.append(Send([client, b"", ident, DONE, outcome.data or b""], FRONTEND))
            return
        status = WITHDRAWN if outcome.why == _WHY[WITHDRAWN] else FAILED
        out.append(Send([client, b"", ident, status, outcome.why.encode()], FRONTEND))

    def known(self) -> None:
        """See ``Holder``."""
        self.frontend.again += 1

    def refuse(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """See ``Holder``."""
        self.tasks.refuse()
        self.frontend.full += 1
        out.append(Send([key[0], b"", key[1], FULL, why.encode()], FRONTEND))


class _Frontend(Frontend):
    """The half that clients see, where tasks go into the store and come out of it."""

    def __init__(self, options: Options, tasks: Tasks, violations: Violations, keeping: Keeping) -> None:
        super().__init__(options, tasks, violations)
        self._keeping = keeping

    def returned(self, task: Task, out: list[Command]) -> None:
        """See ``Frontend``."""
        self._keeping.lose(task.key)
        super().returned(task, out)

    def expire(self, now: float, out: list[Command]) -> None:
        """See ``Frontend``: nothing is withdrawn."""
        self._tasks.owners.silent(now)

    def _keep(self, task: Task, out: list[Command]) -> None:
        """It waits, whoever is gone."""

    def _job(self, key: TaskKey) -> bytes | None:
        putting = self._keeping.putting.get(key)
        return super()._job(key) if putting is None else putting[2]

    def _accept(self, key: TaskKey, job: bytes, idle: bool, now: float, out: list[Command]) -> bool:
        if len(self._keeping.putting) + len(self._tasks) >= self._options.max_backlog:
            self._keeping.drop(key, BACKLOG_FULL, out)
        else:
            self._keeping.put(key, [b"", key[1], job])
        return False

    def _tell(self, task: Task, status: bytes, text: bytes, out: list[Command]) -> None:
        done = status == DONE
        outcome = Outcome(_WHY[status], text if done else None, task.worker if done else b"")
        self._keeping.end(task.key, outcome)
