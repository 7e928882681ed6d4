"""Orders that live labs and sandboxes share: the seeds' commands for workers, and the check of a run."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from engine.catalogue import SEED_LANE
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.content import BrokerLab
from engine.labs.operated import word_of
from engine.labs.pool import BULK, Pool
from engine.labs.pools import Pools
from engine.labs.steered import ENDED, WORDS, NotDone, inverse, refuse
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.limits import MAX_SLOTS
from engine.parts.orders import Discard, Drain, Move, Pack, Slots, Slow, StopRun, Withdraw
from engine.parts.view import BrokerView, WorkerView
from engine.runs.history import History

SLOWEST = 3600.0  # seconds
UNDOS = 100  # orders that can be taken back
PATIENCE = 1.5  # seconds that an order may take until its workers sit


class WorkerOrders(BrokerLab):
    """Orders to the workers of a lab. ``readonly`` refuses whatever changes something."""

    _pool: Pool | Pools
    _history: History | None
    _nodes: dict[str, Any]
    _slow = 0.0  # seconds
    _packs: bool | None = None  # what everybody was told of the lane; None: nothing, so the options count

    @abstractmethod
    def run_view(self) -> BulkView | None:
        """The newest run as the client sees it now; None before the first."""

    @abstractmethod
    def _tell_client(self, order: object) -> None:
        """Hand the client an order."""

    def order_client(self, order: object, changes: str = "") -> None:
        """Hand the client an order of its own protocol; ``changes`` says what it does, nothing where it only asks."""
        if changes:
            self._change(changes)
        self._tell_client(order)

    def stop_run(self) -> None:
        """Stop the current run."""
        self._change("stopping a run")
        if (view := self.run_view()) is None or view.state == "ended":
            raise Refused("no run is going on")
        self._tell_client(StopRun())

    def runs(self) -> Sequence[Mapping[str, Any]]:
        """Kept runs of all systems, newest last."""
        return [dict(run) for run in self._history.list()[0]] if self._history else []

    def register(self) -> None:
        """The seed's ``register``: the worker itself joins."""
        self._change("starting a worker")
        self._pool.register(PATIENCE)
        self._brief()

    def deregister(self) -> None:
        """The seed's ``deregister``: the worker itself leaves; children that ``bulk`` started stay."""
        self._change("stopping a worker")
        self._pool.deregister()

    def bulk(self, workers: int = BULK, pool: str = "", slots: int | None = None, transport: str = "") -> None:
        """The seed's ``bulk``: start children until there are so many workers in all."""
        self._change("starting workers")
        if pool or slots is not None or transport:
            raise Refused("there is one pool here")
        self._pool.bulk(workers, PATIENCE)
        self._brief()

    def endbulk(self, pool: str = "") -> None:
        """The seed's ``endbulk``: the children drain, deregister and stop."""
        self._change("stopping workers")
        if pool:
            raise Refused("there is one pool here")
        self._pool.endbulk()

    def add_workers(self, n: int) -> None:
        """Start n more workers; the very first of all is the one that ``register`` and ``deregister`` mean."""
        self._change("starting workers")
        self._pool.add(n, PATIENCE)
        self._brief()

    def remove_workers(self, n: int) -> None:
        """Let the n youngest workers drain and leave."""
        self._change("stopping workers")
        self._pool.remove(n)

    def slow(self, seconds: float) -> None:
        """Let each of our workers answer so many seconds after a task came, those that come later too; 0: at once."""
        self._change("slowing workers down")
        if not 0 <= seconds <= SLOWEST:
            raise Refused(f"workers are slowed by 0 to {SLOWEST:g} s, not {seconds:g}")
        before = self._slow
        self._slow_down(seconds)
        self._undos.append(partial(self._slow_down, before))

    def _slow_down(self, seconds: float) -> str:
        self._slow = seconds
        for name in self._pool.alive():
            self._pool.node.order(name, Slow(seconds))
        return f"workers here answer {seconds:g} s late" if seconds else "workers here answer at once"

    def set_slots(self, key: bytes, slots: int) -> str | None:
        """Let one of our workers take so many tasks at a time. Refused where its protocol has no word for that."""
        self._change("changing the slots of a worker")
        if why := dict(self.system.untaken).get(Slots):
            raise Refused(f"{self.system.name} changes no slots: {why}")
        if not 1 <= slots <= MAX_SLOTS:
            raise Refused(f"a worker has 1 to {MAX_SLOTS:,} slots, not {slots:,}")
        seat = self.seat_of(key)
        if seat is None or seat not in self._pool.alive():
            raise Refused("that worker is not in this process: give the order to its own")
        before = self._own_view(seat).slots
        self._undos.append(partial(self._tell_slots, seat, before))
        return self._tell_slots(seat, slots)

    def _tell_slots(self, seat: str, slots: int) -> str:
        self._pool.node.order(seat, Slots(slots))
        return f"{seat} registers with {slots} slots, behind its next answer where it works"

    def _own_view(self, seat: str) -> WorkerView:
        """How a worker of ours sees itself, after all orders so far."""
        raise self.unable()

    def withdraw(self, client: bytes) -> str | None:
        """Drop what waits of a client, by its routing id. Refused where what waits belongs to nobody."""
        self._change("withdrawing what a client asked for")
        if not self.system.owners:
            raise Refused(f"{self.system.name} withdraws no tasks by their client")
        return self._order_broker(Withdraw(client))

    def discard(self, client: bytes, task: bytes) -> str | None:
        """End one task that no worker has, by its client and id. Refused where tasks belong to nobody."""
        self._change("withdrawing a task")
        if not self.system.owners:
            raise Refused(f"{self.system.name} withdraws no single task")
        return self._order_broker(Discard(client, task))

    def move(self, client: bytes, task: bytes, first: bool) -> str | None:
        """Let one task that no worker has wait before all others, or behind them. Refused where jobs are in order."""
        self._change("moving a task")
        if not self.system.owners:
            raise Refused(f"{self.system.name} moves no single task: hold the jobs that are to wait")
        return self._order_broker(Move(client, task, first))

    @property
    def lane(self) -> str:
        """The lane that is asked for; empty where it is the seed's."""
        return super().lane if self._packs is None else self.system.lane if self._packs else ""

    def choose_lane(self, lane: str) -> None:
        """Ask for this lane from now on: the second one by its name, or ``SEED_LANE``. Refused for any other."""
        self._change("changing the lane")
        if not self.system.lane:
            raise Refused(f"{self.system.name} has one lane, the seed's own messages")
        if lane not in (SEED_LANE, self.system.lane):
            raise Refused(f"no lane {lane!r}: {self.system.name} has {SEED_LANE} and {self.system.lane}")
        before = self._packs
        self._packs = lane != SEED_LANE
        self._order_all(Pack(self._packs))
        self._undos.append(partial(self._choose_again, before))

    def _choose_again(self, packs: bool | None) -> str:
        self._packs = packs
        self._order_all(Pack(bool(self.lane)))
        return f"the lane {self.lane or SEED_LANE} is asked for"

    def _brief(self) -> None:
        """Tell the workers what was changed: those that have just started know the options alone."""
        orders: list[object] = [Pack(self._packs)] if self._packs is not None else []
        orders += [Slow(self._slow)] if self._slow else []
        for name in self._pool.alive() if orders else ():
            for order in orders:
                self._pool.node.order(name, order)

    def wait_left(self, before: Collection[str], timeout: float) -> bool:
        """Wait until those of these seats that were told to leave have left; False if not in ``timeout`` seconds."""
        told = set(before) - set(self._pool.alive())
        return wait_until(lambda: not told & set(self._pool.node.names()), timeout)

    def admit(self, spec: BulkSpec) -> None:
        """Refused where a task of this run would carry more than the system can."""
        most = self.system.payload(self.options)
        if spec.size > most:
            raise Refused(f"a data task of {self.system.name} carries up to {most:,} bytes, not {spec.size:,}")

    def operate(self, word: str, **fields: str) -> str | None:
        """An operator's word to the broker that serves; its answer becomes events.

        ``pair``, ``back`` or ``serve`` to one of a pair; ``config`` with ``key`` and ``value``. Refused where
        the system knows no such word.
        """
        if word != "pair":
            self._change(f"{word} is an order: it")
        return self._order_broker(word_of(self.system, word, **fields)[1])

    def steer(self, order: object) -> str | None:
        """An operator's order to the broker that serves; ``engine.labs.steered`` says what takes it back."""
        self._change("ordering the broker")
        refuse(self.system, order)
        back = inverse(self.system, order, self._served())
        came = self._order_broker(order)
        gone = f"{self.system.name} does not take a {WORDS[type(order)]} back"
        self._undos.append(gone if back is None else partial(self._order_broker, back))
        return came

    def _served(self) -> BrokerView | None:
        """The broker that serves, after all orders so far; a picture that is drawn now and then is too old for that."""
        return None

    def stop_worker(self, key: bytes) -> None:
        """Stop one worker by its routing id: our own drains and leaves, another gets no more tasks."""
        self._change("stopping a worker")
        if self._pool.stop(key):
            self._undos.append(ENDED)
        else:
            self._stop_elsewhere(key)

    def _stop_elsewhere(self, key: bytes) -> None:
        """A worker of another process: its broker drains it."""
        self.steer(Drain(key))

    @cached_property
    def _undos(self) -> deque[str | Callable[[], str | None]]:
        """What takes back each order, newest last; words where nothing does."""
        return deque(maxlen=UNDOS)

    def undo(self) -> str | None:
        """Take back the newest order. Refused once where it can not be; then the one before is next."""
        self._change("taking an order back")
        if not self._undos:
            raise Refused("there is no order that can be taken back")
        why = back = self._undos[-1]
        if not isinstance(back, str):
            try:
                came = back()
            except NotDone as refusal:
                why = str(refusal)
            else:
                self._undos.pop()
                return came
        self._undos.pop()
        raise Refused(f"{why}; undo again takes back the order before")

    def _order_broker(self, order: object) -> str | None:
        """An order to whoever serves; what came of it, where that is known by now. Refused where it was."""
        raise Refused("there is no broker here")

    def _order_all(self, order: object) -> None:
        """An order to every core, the broker first."""
        for node in list(self._nodes.values()):
            for name in node.names():
                node.order(name, order)
