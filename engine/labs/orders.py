"""Orders that live labs and sandboxes share: the seeds' commands for workers, and the check of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.core import Withdraw
from engine.errors import Refused
from engine.labs.content import BrokerLab
from engine.labs.operated import word_of
from engine.labs.pool import BULK, Pool
from engine.parts.bulk import BulkSpec
from engine.runs.history import History

PATIENCE = 1.5  # seconds that an order may take until its workers sit


class WorkerOrders(BrokerLab):
    """Orders to the workers of a lab. ``readonly`` refuses whatever changes something."""

    _pool: Pool
    _history: History | None

    def runs(self) -> Sequence[Mapping[str, Any]]:
        """Kept runs of all systems, newest last."""
        return [dict(run) for run in self._history.list()[0]] if self._history else []

    def register(self) -> None:
        """The seed's ``register``: the worker itself joins."""
        self._change("starting a worker")
        self._pool.register(PATIENCE)

    def deregister(self) -> None:
        """The seed's ``deregister``: the worker itself leaves; children that ``bulk`` started stay."""
        self._change("stopping a worker")
        self._pool.deregister()

    def bulk(self, workers: int = BULK) -> None:
        """The seed's ``bulk``: start children until there are so many workers in all."""
        self._change("starting workers")
        self._pool.bulk(workers, PATIENCE)

    def endbulk(self) -> None:
        """The seed's ``endbulk``: the children drain, deregister and stop."""
        self._change("stopping workers")
        self._pool.endbulk()

    def add_workers(self, n: int) -> None:
        """Start n more workers; the very first of all is the one that ``register`` and ``deregister`` mean."""
        self._change("starting workers")
        self._pool.add(n, PATIENCE)

    def remove_workers(self, n: int) -> None:
        """Let the n youngest workers drain and leave."""
        self._change("stopping workers")
        self._pool.remove(n)

    def withdraw(self, client: bytes) -> None:
        """Drop what waits of a client, by its routing id. Refused where what waits belongs to nobody."""
        self._change("withdrawing what a client asked for")
        if not self.system.owners:
            raise Refused(f"{self.system.name} withdraws no tasks by their client")
        self._order_broker(Withdraw(client))

    def admit(self, spec: BulkSpec) -> None:
        """Refused where a task of this run would carry more than the system can."""
        most = self.system.payload(self.options)
        if spec.size > most:
            raise Refused(f"a data task of {self.system.name} carries up to {most:,} bytes, not {spec.size:,}")

    def operate(self, word: str, **fields: str) -> None:
        """An operator's word to the broker that serves; its answer becomes events.

        ``pair``, ``back`` or ``serve`` to one of a pair; ``config`` with ``key`` and ``value``. Refused where
        the system knows no such word.
        """
        if word != "pair":
            self._change(f"{word} is an order: it")
        self._order_broker(word_of(self.system, word, **fields)[1])

    def _order_broker(self, order: object) -> None:
        """An order to whoever serves."""
        raise Refused("there is no broker here")
