"""A conversation's broker with a store: jobs survive it, and so does how they ended, before anybody hears it.

The store's half is ``engine.parts.keeping``, whose ``Holder`` this is; the jobs' half is ``keptdesk``.
"""

from __future__ import annotations

from engine.core import Command, Event, Leased, Outcome, Stored
from engine.parts.inflight import TaskKey
from engine.parts.keeping import Keeping
from engine.parts.plain import several
from engine.parts.store import FOUND
from engine.parts.view import BrokerView, Kept
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.jobs import MAX_JOBS
from engine.protocols.conversation.keptjobfrontend import KeptJobFrontend
from engine.protocols.conversation.options import Options

ROWS = 4 * MAX_JOBS  # of the store that are here at a time: all of them


class Durable(Broker):
    """The core of the broker's role, where a store keeps its jobs."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.keeping = Keeping(self, options.backlog, ROWS)
        self.jobfrontend = self.kept = KeptJobFrontend(options, self.violations, self.keeping)

    # ---- the contract ------------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        if self.keeping.handle(event, now, out):
            if isinstance(event, Stored):
                self.kept.stored(event.waiting, now, out)
            if self.jobfrontend.jobs.ripe:
                self._deal(now, out)
        else:
            out = super().handle(event, now)
        self.kept.write(out)
        return out

    def wake_at(self) -> float:
        """The broker's next deadline, or when the store is asked again."""
        return min(super().wake_at(), self.keeping.wake_at())

    def check(self) -> None:
        """The broker's invariants, and each job is in the store."""
        super().check()
        self.keeping.check()
        self.kept.check()

    def snapshot(self, now: float) -> BrokerView:
        """The same, with what the store does; it is counted in tasks."""
        view = self.keeping.shown(super().snapshot(now))
        _, *terms = view.terms
        tasks = view.backlog + view.in_flight
        state = self.keeping.trouble or f"{several(tasks, 'task')} kept" + self._dead()
        counters = tuple((name, self.kept.found if name == FOUND else n) for name, n in view.counters)
        return view._replace(
            terms=(("store", state), *terms), counters=counters, kept=Kept(tasks, 0, self.keeping.trouble)
        )

    def _dead(self) -> str:
        return f", {several(self.keeping.dead, 'dead task')}" if self.keeping.dead else ""

    def _deal(self, now: float, out: list[Command]) -> None:
        if self.kept.loaded:  # or how far a job has come may not be known yet
            super()._deal(now, out)

    # ---- what ``keeping`` asks for -----------------------------------------------------------------------------------

    def holds(self, key: TaskKey) -> bool:
        """See ``Holder``."""
        return self.kept.holds(key)

    def is_full(self) -> bool:
        """See ``Holder``: what is taken is bounded when it is submitted."""
        return False

    def slots(self) -> int:
        """See ``Holder``: nobody shares this store."""
        return 0

    def load(self, one: Leased, now: float) -> TaskKey | None:
        """See ``Holder``."""
        return self.kept.load(one)

    def pump(self, now: float, out: list[Command]) -> None:
        """See ``Holder``."""
        self.kept.pump(now, out)

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        """See ``Holder``."""
        self.kept.tell(client, ident, outcome, out)

    def known(self) -> None:
        """See ``Holder``: the job frontend counts them."""

    def refuse(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """See ``Holder``."""
        self.kept.unkept(key, why, out)

    def stored(self, news: int, waiting: int) -> None:
        """See ``Holder``: tasks are counted where their jobs are, and what the store has is not tasks alone."""
