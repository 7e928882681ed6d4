"""What the console calls for a system of disk queues: open, order, look, stop.

A queue lab runs the watchdog of one pipeline on a thread of this process: of the demonstration, whose folder is made
for it and removed with it, or of a pipeline that exists. Where nothing may be changed (``readonly``), it starts nothing
in a pipeline that exists, and only looks at it, whoever watches over that one. Its methods do not wait and raise
``Refused`` with words for the operator, as those of ``engine.labs.live`` do. What takes long, feeding documents and
looking one up in full folders, is done by a clerk, on a thread of its own.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from engine.core import Note
from engine.drive.control.found import about
from engine.drive.control.place import NOWHERE, place_of_root
from engine.drive.control.server import listening
from engine.drive.hub import Ear
from engine.drive.pipeline import Pipeline
from engine.drive.pipelineview import document
from engine.drive.queuedemo import STAGES, DemoFeeder
from engine.drive.tempdir import LockedTempDir
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.write import Journal
from engine.labs.controlsession import ControlSession
from engine.labs.health import Health
from engine.labs.queueorders import QueueOrders, fed
from engine.labs.record import begin
from engine.parts.orders import Leave
from engine.protocols.diskqueue import SYSTEM, names
from engine.protocols.diskqueue.books import entries, whole
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import (
    START,
    DocumentRow,
    PipelineView,
    queue_folder,
)
from engine.protocols.diskqueue.watchdog import Abort
from engine.tracing.operations import Operations

BATCH = 20  # documents that ``feed_some`` feeds: among so many one fails once and one twice
TURN = 0.05  # seconds that the clerk waits for something to do
LOOK = 0.5  # seconds between two looks at the document that is inspected
PATIENCE = (0.8, 0.5, 0.5)  # seconds for drivers to finish, to give back, to be killed and settled


class _Watched:
    """A trace as a subscriber; it knows the seats by their names."""

    def __init__(self, trace: Operations) -> None:
        self.tap = trace.tap

    def seated(self, *who: object) -> None:
        """Nothing to do: a seat's name says whose it is."""

    def left(self, *who: object) -> None:
        """Keeps what was traced."""


class LiveQueueLab(QueueOrders):
    """A running pipeline."""

    def __init__(
        self,
        options: Options | None = None,
        root: str = "",
        *,
        readonly: bool = False,
        journal: Path | None = None,
        trust: bool = False,
        control: Path | None = None,
        listens: Path | None = None,
    ) -> None:
        """``root``: of a pipeline that was run before; the demonstration where it is empty.

        ``journal``: a new file that everything is recorded in. ``trust``: act in a root that others can change.
        ``control``: the folder of control sockets, where its own one is as well; ``listens``: as in ``LiveLab``.
        """
        self._folder, self._listens = control, listens
        self._door = ExitStack()
        self.system = SYSTEM
        self.options = options or Options()
        self.readonly = readonly
        self.feed = Feed()
        self.started = time.monotonic()
        self.demonstration = not root
        self.root = os.path.abspath(root) if root else ""
        self._inspect = ""
        self._wanted: queue.SimpleQueue[int | tuple[str, ...]] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._dead: list[str] = []
        self._fed: deque[tuple[float, int]] = deque(maxlen=1000)  # wall clock, documents that were fed by then
        self._told: tuple[DocumentRow, ...] = ()  # what has become of documents, as far as it was looked at
        self._traces: dict[Operations, _Watched] = {}
        self._record, self._trust = journal, trust
        self.watches = readonly and not self.demonstration  # and does nothing
        self._journal: Journal | None = None
        self.unkept: list[str] = []

    # ---- life -------------------------------------------------------------------------------------------------------

    def open(self) -> LiveQueueLab:
        """Start everything, or only watch what others have started. Raises Refused where there is no pipeline."""
        if self.demonstration:
            try:
                self._temp = LockedTempDir("roundhouse-")
            except OSError as error:
                raise Refused(f"no temporary folder for the demonstration: {error.strerror or error}") from None
            self.root = self._temp.path
            self._pipeline = Pipeline(self.root, STAGES, self.options, self._say, bound=True, trust=self._trust)
        else:
            self._pipeline = Pipeline.open(self.root, self._say, self._trust)
            if not self.watches:
                self._pipeline.check_root()
                self.watches = self._pipeline.watched() or bool(self._pipeline.show().drivers)
            present = whole(entries([queue.counts for queue in self._pipeline.show().queues])).total
            self._fed.append((0.0, present))
        if self._record is not None:
            self._journal = self._begin(self._record)
        name = "doc" if self.demonstration else f"demo-{time.time():.0f}"
        self._feeder = DemoFeeder(self.root, name, lambda answer: self._pipeline.told("feeder", answer))
        stages = ", ".join(f"{stage.name} {stage.workers}" for stage in self._pipeline.stages)
        self._say(Note("info", f"a pipeline of {stages} in {self.root}"), "lab")
        self._attend()
        role, body = ("observer", self._observe) if self.watches else ("watchdog", self._watch)
        self._watchdog = self._start(role, body)
        self._clerk = self._start("clerk", self._serve)
        return self

    def close(self) -> None:
        """Stop all drivers in under two seconds: they finish, else give back, else are killed."""
        self._door.close()
        self._closing.set()
        if self.watches:
            self._watchdog.join(sum(PATIENCE))
        for order, patience in zip((Leave(), Leave(), Abort()), PATIENCE, strict=True):
            if self._watchdog.is_alive() and not self.watches:
                self._pipeline.order(order)
                self._watchdog.join(patience)
        if self._dead and not self._watchdog.is_alive() and not self.watches:
            self._pipeline.kill(PATIENCE[-1])  # nobody else sees to the drivers any more
        self._clerk.join(TURN * 4)
        if self._journal is not None:
            self._pipeline.hub.detach(self._journal)
            self._journal.close()
            self.unkept += [self._journal.lost] if self._journal.lost else []
        if self.demonstration:
            self._temp.close()

    def health(self) -> Health:
        """Threads that have ended by an error."""
        return Health(tuple(self._dead), 0.0)

    # ---- looking ----------------------------------------------------------------------------------------------------

    def view(self) -> PipelineView:
        """The newest picture; costs nothing."""
        return self._pipeline.picture()

    def fed(self, at: float) -> int:
        """Documents that were there at the beginning, and those that this lab had fed at a time (wall clock)."""
        return next((count for when, count in reversed(self._fed.copy()) if when <= at), 0)

    def output(self, number: str) -> str:
        """The end of what a driver has printed; it may hold anything."""
        return self._pipeline.output(number)

    def inspect(self, id: str) -> None:
        """Look this document up, now and again, until another or none (the empty string) is inspected."""
        self._inspect, self.inspected = id, None

    # ---- listening --------------------------------------------------------------------------------------------------

    def attach(self, trace: Operations) -> None:
        """Show a trace everything from now on that drivers, the watchdog and this lab do."""
        watched = _Watched(trace)
        self._listen(watched, self._pipeline.hub.attach)
        self._traces[trace] = watched

    def detach(self, trace: Operations) -> None:
        """Detach a trace."""
        if (watched := self._traces.pop(trace, None)) is not None:
            self._pipeline.hub.detach(watched)

    def listening(self) -> tuple[float, int]:
        """Seconds that it took to tell what was heard so far, and how much was told and not heard."""
        hub = self._pipeline.hub
        return hub.spent, hub.lost

    # ---- orders -----------------------------------------------------------------------------------------------------

    def feed_files(self, paths: Sequence[str]) -> None:
        """Feed files into the first queue; events tell how many were, and why others were not."""
        self._change("feeding documents")
        self._living()
        self._wanted.put(tuple(map(os.path.abspath, paths)))

    def feed_some(self) -> None:
        """Feed a batch of demonstration documents."""
        self._change("feeding documents")
        self._living()
        if os.path.lexists(f"{queue_folder(self.root, START)}/{names.DONE}"):
            raise Refused("nothing more can be fed: the first queue is done")
        self._wanted.put(BATCH)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _attend(self) -> None:
        """Open a control socket, unless others run this pipeline: theirs is the one to attach to."""
        if self._folder is not None and not self.watches:
            at = self._listens or place_of_root(self._folder, self.root)
            told = about(self.system.name, "console", (), self.root)
            session = ControlSession(self, "console")
            self._door.callback(session.close)
            self.control = self._door.enter_context(
                listening(self._say, None if at == NOWHERE else at, told, session.all_words)
            )

    def _start(self, name: str, body: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                body()
            except Exception as error:  # the screen says so, as long as it is there
                self._dead.append(f"{name}: {type(error).__name__}: {error}")
                self._say(Note("bad", f"{name} has died: {type(error).__name__}: {error}"), name)

        thread = threading.Thread(target=run, name=f"roundhouse-{name}", daemon=True)
        thread.start()
        return thread

    def _listen(self, ear: Ear, attach: Callable[[Ear], None]) -> None:
        self._pipeline.check_root()  # a socket is made in it
        try:
            attach(ear)
        except OSError as error:
            raise Refused(f"drivers can not be listened to in {self.root}: {error.strerror or error}") from None

    def _begin(self, path: Path) -> Journal:
        try:
            journal = begin(path, SYSTEM, self._pipeline.options, self._say)
            self._listen(journal, self._pipeline.record)
        except Refused:
            if self.demonstration:
                self._temp.close()
            raise
        return journal

    def _watch(self) -> None:
        self._pipeline.run(signals=False, fail_fast=False)

    def _observe(self) -> None:
        """Watch a pipeline without running a watchdog."""
        while not self._closing.wait(self.options.poll):
            self._pipeline.look()

    def _serve(self) -> None:
        """The clerk: feed, and look up."""
        told = ""
        look_at = 0.0
        while not self._closing.is_set():
            reason = ""
            try:
                wanted = self._wanted.get(timeout=TURN)
                if isinstance(wanted, tuple):
                    self._feed_files(wanted)
                else:
                    for _ in range(wanted):
                        reason = reason or self._counted(self._feeder.feed)
            except queue.Empty:
                if self.demonstration and self._watchdog.is_alive():
                    reason = self._counted(lambda: self._feeder.step(time.monotonic()))
            if reason and reason != told:
                self._say(Note("warn", f"a document could not be fed: {reason}"), "clerk")
            told = reason or told
            self._tell_failures()
            asked, now = self._inspect, time.monotonic()
            if asked and (now >= look_at or self.inspected is None):
                found = document(self.view(), asked)
                spent = time.monotonic() - now
                look_at = now + max(LOOK, 10 * spent)
                if asked == self._inspect:
                    self.inspected = found

    def _counted(self, act: Callable[[], str]) -> str:
        """Feed, and note when there was how much; the reason why that failed, or nothing."""
        before = self._feeder.fed
        reason = act()
        self._count(self._feeder.fed - before)
        return reason

    def _count(self, fresh: int) -> None:
        if fresh:
            self._fed.append((time.time(), (self._fed[-1][1] if self._fed else 0) + fresh))

    def _feed_files(self, paths: Sequence[str]) -> None:
        """What an operator named: how many were fed, and of each of the others why not."""
        self._count(fed(self._pipeline, paths, lambda note: self._say(note, "clerk")))

    def _tell_failures(self) -> None:
        """An event for each document that has failed."""
        rows = self.view().documents
        if rows is self._told:
            return
        known = set(self._told)
        for row in rows:
            if row not in known and row.outcome in ("failed", "failed_twice"):
                again = row.outcome == "failed"
                fate = "failed, to be tried again" if again else "failed twice, given up"
                self._say(Note("warn" if again else "bad", f"{row.id} {fate}: {row.text}"), row.stage)
        self._told = rows

    def _say(self, note: Note, source: str = "watchdog") -> None:
        self.feed.fact(note, source, time.time())

    def _living(self) -> None:
        if not self._watchdog.is_alive() or self.view().state == "ended":  # its thread ends a little later
            raise Refused("the pipeline has ended")
