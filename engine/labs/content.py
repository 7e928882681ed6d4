"""The two contents of a lab, brokers and disk queues: what each adds to the interface.

The rules of this file:

- A lab refuses the orders that it does not define. A recording defines none, and a remote lab those that its
  socket carries.
- A lab overrides the orders that it can carry out, and no others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from engine.drive.pipelineview import DocumentView
from engine.labs.lab import Lab
from engine.parts.bulk import BulkSpec
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import PipelineView
from engine.system import QueueSystem, System, lane_of
from engine.tracing.operations import Operations
from engine.tracing.trace import Trace


class BrokerLab(Lab):
    """A system with a broker. Its feed holds ``broker``, ``fallback``, ``client`` and ``pool``."""

    system: System
    endpoints: tuple[str, ...]

    def trace(self, kept: int) -> Trace:
        """A new trace of this system that keeps so many messages; it is attached to nothing yet."""
        return Trace(self.system, kept)

    @property
    def lane(self) -> str:
        """The lane that is asked for; empty where it is the seed's."""
        return lane_of(self.system, self.options)

    @abstractmethod
    def seat_of(self, key: bytes) -> str | None:
        """The name of our worker with this routing id in the pool's pictures; None where it is not ours. Any thread."""

    @property
    def transport(self) -> str:
        """The transport that was asked for; empty where nobody asked."""
        return ""

    def pool_of(self, key: bytes) -> str | None:
        """The pool of a worker of this process, empty for the one without a name; None where it is of another."""
        return None if self.seat_of(key) is None else ""

    def pool_pictures(self) -> Sequence[str]:
        """The names of the pictures of our workers, by pool."""
        return ("pool",)

    @abstractmethod
    def inspect(self, key: bytes | None) -> None:
        """Show the details of one worker in the broker's pictures; None: of nobody."""

    def runs(self) -> Sequence[Mapping[str, Any]]:
        """Kept runs of all systems, newest last."""
        return []

    # ---- orders -----------------------------------------------------------------------------------------------------

    def run(self, spec: BulkSpec) -> None:
        """Start a bulk run; its course is in the client's picture. Refused while another one is going."""
        raise self.unable()

    def ping(self, tracked: bool = True, timeout: float = BulkSpec("ping", 1).timeout) -> None:
        """One message: the seed's ``pingt``, or with ``tracked`` False its ``ping``. ``timeout`` in seconds."""
        self.run(BulkSpec("ping", 1, tracked=tracked, timeout=timeout))

    def stop_run(self) -> None:
        """Stop the current run."""
        raise self.unable()

    def order_client(self, order: object, changes: str = "") -> None:
        """Hand the client an order of its own protocol; ``changes`` says what it does, nothing where it only asks."""
        raise self.unable()

    def choose_lane(self, lane: str) -> None:
        """Ask for this lane from now on: the second one by its name, or ``SEED_LANE``. Refused for any other."""
        raise self.unable()

    def register(self) -> None:
        """The seed's ``register``: the worker itself joins."""
        raise self.unable()

    def deregister(self) -> None:
        """The seed's ``deregister``: the worker itself leaves; children that ``bulk`` started stay."""
        raise self.unable()

    def bulk(self, workers: int = 10, pool: str = "", slots: int | None = None, transport: str = "") -> None:
        """The seed's ``bulk``: start children until a pool has so many workers in all.

        ``pool``: its name, empty for the one that the seed means; ``slots`` of each worker and ``transport``, of a pool
        that has no workers yet.
        """
        raise self.unable()

    def endbulk(self, pool: str = "") -> None:
        """The seed's ``endbulk``: the children drain, deregister and stop; those of a pool with a name, all of them."""
        raise self.unable()

    def choose_transport(self, transport: str) -> None:
        """Let client and workers of this process go over ``tcp`` or ``inproc``. Refused while a run goes on."""
        raise self.unable()

    def add_workers(self, n: int) -> None:
        """Start n more workers."""
        raise self.unable()

    def remove_workers(self, n: int) -> None:
        """Let the n youngest workers drain and leave."""
        raise self.unable()

    def stop_worker(self, key: bytes) -> None:
        """Stop one worker by its routing id: our own drains and leaves, another gets no more tasks."""
        raise self.unable()

    def slow(self, seconds: float) -> None:
        """Let each of our workers answer so many seconds after a task came, those that come later too; 0: at once."""
        raise self.unable()

    def set_slots(self, key: bytes, slots: int) -> str | None:
        """Let one worker of this process take so many tasks at a time. Refused where its protocol can not say it."""
        raise self.unable()

    def keep_trace(self, text: str) -> str | None:
        """Trace messages though nobody looks: ``on``, ``off``, or a filter. Whoever attaches later sees them."""
        raise self.unable()

    def hurts(self, line: str) -> str:
        """What the fault of a line such as ``freeze w3 5`` would do to what runs, in words."""
        raise self.unable()

    def hurt(self, line: str) -> str | None:
        """Do it. Refused where that does not run here."""
        raise self.unable()

    def withdraw(self, client: bytes) -> str | None:
        """Drop what waits of a client, by its routing id. Refused where what waits belongs to nobody."""
        raise self.unable()

    def discard(self, client: bytes, task: bytes) -> str | None:
        """End one task that no worker has, by its client and id. Refused where tasks belong to nobody."""
        raise self.unable()

    def revive(self, place: str, numbers: tuple[int, ...]) -> None:
        """Have dead tasks tried again. Refused where the broker keeps no tasks in that place (``sqlite:PATH``)."""
        raise self.unable()

    def move(self, client: bytes, task: bytes, first: bool) -> str | None:
        """Let one task that no worker has wait before all others, or behind them. Refused where tasks have no order."""
        raise self.unable()

    def steer(self, order: object) -> str | None:
        """An operator's order to the broker that serves: one of ``System.takes``, or ``Drain``. Refused for others.

        Of this and of the other orders that give back words: what came of it, None where that is not known yet.
        """
        raise self.unable()

    def undo(self) -> str | None:
        """Take back the newest order that can be taken back. Refused where there is none."""
        raise self.unable()

    def pull_plug(self) -> None:
        """End the primary of a pair as if its process had died. Refused where there is no pair, or it is dead."""
        raise self.unable()

    def hand_back(self) -> None:
        """Start the primary again where it is dead; where it waits, let the fallback give the service back to it."""
        raise self.unable()

    def operate(self, word: str, **fields: str) -> str | None:
        """An operator's word to a broker of a pair: ``pair``, ``back`` or ``serve``; the answer becomes events."""
        raise self.unable()


class QueueLab(Lab):
    """A pipeline of disk queues. ``inspected``: what is known of the document that ``inspect`` named."""

    system: QueueSystem
    options: Options
    root: str
    demonstration: bool = False  # whether its documents are made up, and nobody's
    watches: bool = False  # whether others run it, so that its end here ends nothing there
    inspected: DocumentView | None = None

    def trace(self, kept: int) -> Operations:
        """A new trace of these queues that keeps so many operations; it is attached to nothing yet."""
        return Operations(tuple(queue.name for queue in self.view().queues), kept)

    @abstractmethod
    def view(self) -> PipelineView:
        """The newest picture; costs little."""

    @abstractmethod
    def fed(self, at: float) -> int:
        """Documents that were there or had been fed at a time (wall clock)."""

    def output(self, number: str) -> str:
        """The end of what a driver has printed; it may hold anything."""
        return ""

    def inspect(self, id: str) -> None:
        """Look this document up, until another or none (the empty string) is inspected."""

    # ---- orders -----------------------------------------------------------------------------------------------------

    def set_workers(self, stage: str, workers: int) -> None:
        """Change how many drivers a stage has; also sets one going again that was stopped by an error."""
        raise self.unable()

    def pause_stage(self, stage: str) -> None:
        """Let its drivers finish their documents and leave."""
        raise self.unable()

    def resume_stage(self, stage: str) -> None:
        """Start its drivers again."""
        raise self.unable()

    def kill_driver(self, number: str) -> None:
        """Kill one driver; its document counts as failed, and another driver takes its place."""
        raise self.unable()

    def retry(self, queue: str, id: str) -> None:
        """Give a document that failed twice two fresh attempts."""
        raise self.unable()

    def feed_files(self, paths: Sequence[str]) -> None:
        """Feed files into the first queue; events tell how many were, and why others were not."""
        raise self.unable()

    def feed_some(self) -> None:
        """Feed a batch of demonstration documents."""
        raise self.unable()
