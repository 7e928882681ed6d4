"""The sandbox of a system: broker, workers and client in a simulated world and virtual time, on the caller's thread.

The rules of this file:

- To a screen a sandbox is a lab: the same orders, snapshots and events. Its time is paused until ``advance``, ``step``
  or ``step_message`` is called.
- One seed and the same calls give the same history to the last byte, wall times included: those are ``began`` and the
  virtual seconds since.
- Of two brokers the picture ``broker`` is of the one that serves. Who sits where is ``engine.labs.actors``'s.
"""

from __future__ import annotations

from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.catalogue import SEED_LANE
from engine.core import Command, Event, Note, Received, Seat
from engine.errors import Refused
from engine.labs.actors import Actors
from engine.labs.brokers import check_hand_back
from engine.labs.live import CLOSE
from engine.labs.orders import WorkerOrders
from engine.labs.pool import BULK, Pool
from engine.labs.steered import limits
from engine.labs.virtualclock import BEGAN, Happened
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.orders import Inspect, Pack, Throttle
from engine.parts.view import BrokerView, WorkerView
from engine.runs.history import History
from engine.runs.load import RunReport
from engine.runs.record import RunRecord
from engine.system import System

SETTLED = 10.0  # virtual seconds in which every worker has joined


class Sandbox(Actors, WorkerOrders):
    """A system in virtual time; ``open`` it or use it in ``with``. ``now``: virtual seconds since it was opened."""

    def __init__(
        self,
        system: System,
        options: Any = None,
        *,
        workers: int = BULK,
        slots: int = 10,
        seed: int = 0,
        began: float = BEGAN,
        history: History | None = None,
        journal: Path | None = None,
        readonly: bool = False,
    ) -> None:
        super().__init__(system, options, seed, began)
        self.readonly = readonly
        self._wanted, self._slots, self._path, self._history = workers, slots, journal, history
        self._pool = Pool(_PoolSeats(self), self._worker, tell=None if system.goodbye else self._order_broker)
        self._run: RunReport | None = None
        self._limited: list[tuple[float, Throttle]] = []  # limits that were set at this moment, and when
        self.attended = False  # somebody looks on, to whom a run that finds no worker yet shows nothing
        self._unsaved: History | None = None  # where the run that is going will be kept

    # ---- life -------------------------------------------------------------------------------------------------------

    def open(self) -> Sandbox:
        """Seat everybody. Raises Refused where no journal can be written."""
        if self._path is not None:
            self._record(self._path)
        self.world.watchers.append(self._note)
        self._seat("broker", "broker", [list(self.endpoints)])
        if second := self.system.fallback(self.options):
            self._seat("fallback", "broker", [list(second)])
        if self._wanted:
            self._pool.add(self._wanted, CLOSE)
        self._seat("client", "client", [self.endpoints[-1], self._nonce()])
        self._look()
        return self

    def close(self) -> None:
        """Finish the journal, if one is kept."""
        if self._journal is not None:
            self._journal.close()

    # ---- time -------------------------------------------------------------------------------------------------------

    def step(self) -> tuple[Happened, ...]:
        """Step to the next event of any core; empty if there is none for ``QUIET`` seconds."""
        return self._step(lambda one: True)

    def step_message(self) -> tuple[Happened, ...]:
        """Step until a core has received a message, or several that arrived together."""
        return self._step(lambda one: type(one.event) is Received)

    def settle(self) -> None:
        """Let time pass until every worker is in the table, or ``SETTLED`` virtual seconds are over."""
        self.speed = 1.0
        while self.now < SETTLED and not self.health().dead:
            self.advance(0.5)
            broker = self.sight().broker
            if broker is not None and len(broker.workers) == self._wanted:
                break

    # ---- runs -------------------------------------------------------------------------------------------------------

    def run(self, spec: BulkSpec) -> None:
        """Start a bulk run; its course is in the client's picture. Refused while another one is going."""
        self._change("starting a run")
        view = self.run_view()
        if self._run is not None and (view is None or view.state != "ended"):
            done = view.ledger.succeeded if view else 0
            raise Refused(f"a run is going on ({done:,} of {self._run.spec.n:,} done): stop it first")
        self.admit(spec)
        broker = self.sight().broker if self.attended else None
        if broker is not None and not broker.workers:
            raise Refused("no worker has joined yet: let messages through, or time pass, until one has")
        spec = BulkSpec(*spec)  # an object of its own, so that its run is told from one before it
        began = datetime.fromtimestamp(self.began + self.now, UTC)
        self._run = RunReport(self.system.name, "stage", spec, began, self.now, lane=self.lane or SEED_LANE)
        self._unsaved = self._history
        self.order("client", spec)

    def run_view(self) -> BulkView | None:
        """The newest run as the client sees it now; None before the first, and until the client was told of it."""
        run = self.client_view().run
        return run if self._run is not None and run is not None and run.spec is self._run.spec else None

    def report(self) -> RunRecord:
        """The run JSON of the newest run, ended or so far. Refused before the first has begun."""
        if self.run_view() is None or self._run is None:
            raise Refused("nothing was run yet")
        return self._run.document(self.client_view(), self.key("client"), self.sight().broker)

    # ---- workers ----------------------------------------------------------------------------------------------------

    def _order_broker(self, order: object) -> str | None:
        self.order(self.server(), order)
        if isinstance(order, Throttle):  # it is carried out when time goes on
            self._limited = [(at, one) for at, one in self._limited if at == self.now] + [(self.now, order)]
        return None

    def _served(self) -> BrokerView | None:
        view: BrokerView = self._snapshot(self.server())
        found = limits(view) | {one.client: one.rate for at, one in self._limited if at == self.now}
        return view._replace(limits=tuple((client, rate) for client, rate in found.items() if rate is not None))

    def _order_all(self, order: object) -> None:
        for name in self._made:
            self.order(name, order)

    def restart(self, name: str) -> None:
        """Kill a seat and start it again with an empty memory; it is told the lane again."""
        super().restart(name)
        if self._packs is not None:
            self.order(name, Pack(self._packs))

    def _own_view(self, seat: str) -> WorkerView:
        view: WorkerView = self._snapshot(seat)
        return view

    def seat_of(self, key: bytes) -> str | None:
        """The seat of the worker with this routing id."""
        return next((seat for seat, own in self.workers().items() if own == key), None)

    def _tell_client(self, order: object) -> None:
        self.order("client", order)

    def pull_plug(self) -> None:
        """End the primary of a pair as if its process had died. Refused where there is no pair, or it is dead."""
        self._change("pulling the plug of the primary")
        if self._brokers() != ["broker", "fallback"]:
            raise Refused("there is no primary beside a fallback here")
        self.kill("broker")

    def hand_back(self) -> None:
        """Start the primary again where it is dead; where it waits, let the fallback give the service back to it."""
        self._change("handing the service back")
        if "fallback" not in self.world.names:
            raise Refused("there is no fallback here")
        if "broker" in self.world.names:
            first, second = (self.world.core(name).snapshot(self.now) for name in ("broker", "fallback"))
            check_hand_back(first, second)
            self.order("fallback", self.system.hand_back)
        else:
            self.restart("broker")

    def inspect(self, key: bytes | None) -> None:
        """Show the details of one worker in the broker's pictures; None: of nobody."""
        self.order(self.server(), Inspect(key))

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _worker(self, name: str) -> Seat:
        return self._make(name, "worker", [self.endpoints[0], self._nonce(), self._slots])

    def _note(self, at: float, name: str, event: Event, commands: list[Command]) -> None:
        if self._happened is not None:
            self._happened.append(Happened(at, self._nodes[name], name, event, commands))

    def _look(self) -> None:
        """Draw what a screen looks at, and keep a run that has ended."""
        for name in self._brokers():
            self.feed.show(name, self._snapshot(name))
        if self._brokers():
            self.feed.show("broker", self._snapshot(self.server()))
        self.feed.show("pool", {name: self._snapshot(name) for name in self.workers()})
        if "client" not in self.world.names:
            return
        self.feed.show("client", self.client_view())
        run = self.run_view()
        if self._unsaved is not None and run is not None and run.state == "ended":
            history, self._unsaved = self._unsaved, None
            try:
                history.keep(self.report())
            except OSError as error:
                self._say(Note("bad", f"the run could not be kept: {error}"))


class _PoolSeats:
    """The sandbox as a place for the pool's workers."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.order = sandbox.order

    def names(self) -> list[str]:
        return list(self._sandbox.workers())

    def seat(self, name: str, seat: Seat) -> Future[None]:
        self._sandbox.add(name, seat, "pool")
        done: Future[None] = Future()
        done.set_result(None)
        return done
