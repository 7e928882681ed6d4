"""The sandbox of disk queues: a pipeline in virtual time on a simulated disk.

The rules of this file:

- To a screen it is a lab of disk queues: the same orders, snapshots and events.
- A step is one operation, with its answer; a longer one goes on until a document has its next name.
- A feeder puts a document in every ``FEED`` seconds while fewer than ``AHEAD`` wait. Ids are short: a ladder is narrow.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from engine.core import Exit, Note
from engine.drive.pipelineview import WINDOW
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.content import QueueLab
from engine.labs.virtualclock import BEGAN, Happened, VirtualClock
from engine.protocols.diskqueue import SYSTEM, names
from engine.protocols.diskqueue.config import NO_TIMES
from engine.protocols.diskqueue.explain import MOVES, explain, number_of, stage_of
from engine.protocols.diskqueue.operations import Done, Process, Processed, Touch
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import (
    MAX_WORKERS,
    START,
    DocumentRow,
    DriverRow,
    PipelineView,
    QueueRow,
    Stage,
    StageRow,
    WatchState,
    queue_folder,
    survey,
)
from engine.protocols.diskqueue.promises import Observation
from engine.protocols.diskqueue.transitions import retry
from engine.protocols.diskqueue.watchdog import KillDriver, Looked, PauseStage, ResumeStage, SetWorkers, StageView
from engine.sim.queues import FEEDER, Queues, Seat
from engine.tracing.operations import Operations

STAGES = (Stage("values", 1), Stage("parse", 2), Stage("output", 1))
FEED, AHEAD = 1.0, 5
BATCH = 20  # documents that ``feed_some`` feeds
FACTS = 200  # newest texts that a promise can look at
SETTLED = 3.0  # virtual seconds in which drivers are at work
ROWS = 500  # newest ends of attempts


class QueueSandbox(VirtualClock, QueueLab):
    """A pipeline in virtual time. Nothing can be inspected: the ladder shows a document's names."""

    system = SYSTEM
    demonstration = True
    root = "a simulated disk"

    def __init__(
        self, stages: Sequence[Stage] = STAGES, options: Options | None = None, *, seed: int = 0, feeding: bool = True
    ) -> None:
        """``feeding``: whether the feeder feeds by itself."""
        super().__init__()
        self.options = options or Options()
        self.stages = tuple(stages)
        self.began = BEGAN
        self.feed = Feed()
        self.world = Queues(self.stages, self.options, seed, self.began)
        self.world.watchers.append(self._watch)
        self.attempts: Counter[tuple[str, str]] = Counter()  # (stage, document) → attempts that began
        self._feeding = feeding
        self._fed: list[str] = []
        self._texts: deque[str] = deque(maxlen=FACTS)
        self._rows: deque[DocumentRow] = deque(maxlen=ROWS)
        self._ended: dict[str, deque[float]] = {stage.name: deque(maxlen=1000) for stage in self.stages}
        self._begun: dict[str, tuple[Process, float]] = {}  # seat → its document, and since when
        self._docs: Counter[str] = Counter()
        self._stood: tuple[StageView, ...] = ()

    # ---- life -------------------------------------------------------------------------------------------------------

    def open(self) -> QueueSandbox:
        """Start the watchdog, which starts the drivers."""
        self.world.watch()
        if self._feeding:
            self._feed_on()
        return self

    def attach(self, trace: Operations) -> None:
        """Attach a trace; it is shown all events from now on."""
        self.world.watchers.append(trace.tap)

    def detach(self, trace: Operations) -> None:
        """Detach a trace."""
        self.world.watchers.remove(trace.tap)

    # ---- time -------------------------------------------------------------------------------------------------------

    def step(self) -> tuple[Happened, ...]:
        """Step to the next operation, or the next event of a process."""
        return self._step(_tells)

    def step_message(self) -> tuple[Happened, ...]:
        """Step until a document has another name."""
        return self._step(_moves)

    def settle(self) -> None:
        """Let time pass until drivers are at work."""
        self.speed = 1.0
        self.advance(SETTLED)

    # ---- looking ----------------------------------------------------------------------------------------------------

    def sight(self) -> Observation:
        """The observation of this moment, for promises."""
        world = self.world
        drivers = {number: seat.driver.core.snapshot(self.now + seat.offset) for number, seat in world.seats.items()}
        return Observation(
            self.now,
            tuple((queue, world.listing(queue)) for queue in world.queues),
            drivers,
            {number: seat.stage for number, seat in world.seats.items()},
            {view.name: view.wanted for view in self._views()},
            frozenset(self._fed),
            dict(self.attempts),
            tuple(self._texts),
            self._whole(),
        )

    def view(self) -> PipelineView:
        """A picture of now."""
        world = self.world
        queues: list[QueueRow] = []
        beyond: set[str] = set()
        for queue in reversed(world.queues):
            seen = survey(_held_on_to(world.listing(queue), beyond))
            folder = queue_folder("", queue)
            trouble = "no permission" if folder in world.disk.denied else "the disk is full" if world.disk.full else ""
            queues.insert(0, QueueRow(queue, folder, seen.counts, trouble, seen.shown))
        drivers = tuple(self._driver(number, seat) for number, seat in world.seats.items())
        stages = tuple(self._stage_row(view, drivers) for view in self._views())
        state: WatchState = "running" if world.watchdog is not None else "absent"
        rows, walks = tuple(self._rows), world.walks()
        return PipelineView(self.began + self.now, self.root, state, tuple(queues), stages, drivers, rows, (), walks)

    def fed(self, at: float) -> int:
        """Documents that were fed."""
        return len(self._fed)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def set_workers(self, stage: str, workers: int) -> None:
        """Change how many drivers a stage has."""
        self.known(stage)
        if not 1 <= workers <= MAX_WORKERS:
            raise Refused(f"{stage} has 1 to {MAX_WORKERS} drivers; pause it to have none")
        self.order(SetWorkers(stage, workers))

    def pause_stage(self, stage: str) -> None:
        """Let its drivers finish their documents and leave."""
        self.known(stage)
        self.order(PauseStage(stage))

    def resume_stage(self, stage: str) -> None:
        """Start its drivers again."""
        self.known(stage)
        self.order(ResumeStage(stage))

    def kill_driver(self, number: str) -> None:
        """Kill one driver."""
        if number not in self.world.seats:
            raise Refused(f"driver {number} has ended already")
        self.order(KillDriver(number))

    def order(self, order: object) -> None:
        """Give the watchdog an order. Refused where there is none."""
        if self.world.watchdog is None:
            raise Refused("no watchdog runs")
        self.world.order(order)

    def retry(self, queue: str, id: str) -> None:
        """Give a document that failed twice two fresh attempts."""
        steps = retry(queue_folder("", queue), id, self.world.others)
        answer: Done | None = None
        try:
            while True:
                answer = self.world.outsider("operator", next(steps) if answer is None else steps.send(answer))
        except StopIteration as end:
            if end.value:
                raise Refused(f"{id} can not be tried again: {end.value}") from None

    def feed_files(self, paths: Sequence[str]) -> None:
        """See ``QueueLab``; always refused."""
        raise Refused("a sandbox's disk is simulated, and takes no files: p feeds documents that are made up")

    def feed_some(self, count: int = BATCH) -> None:
        """Feed documents, now. Refused where the disk does not take them."""
        if names.DONE in self.world.listing(START):
            raise Refused("nothing more can be fed: the first queue is done")
        for _ in range(count):
            if not self._feed_one():
                raise Refused("the first queue takes nothing")

    def feed_batch(self, count: int, rate: float | None) -> list[str]:
        """Feed so many documents, at once or at a rate. Returns their ids, which keep counting up."""
        fed: list[str] = []

        def one() -> None:
            id = self.next_id()
            taken = self._feed_one()
            if taken:
                fed.append(id)
            if len(fed) < count:
                self.world.after(FEED if not taken else 1 / rate if rate else 0.0, one)

        one()
        return fed

    def ended(self, ids: Sequence[str]) -> tuple[int, int]:
        """How many of these documents have left the last stage, and how many were given up."""
        last = set(self.world.listing(self.world.queues[-1]))
        lost = {name for queue in self.world.queues for name in self.world.listing(queue)}
        published = sum(names.ready(id) in last for id in ids)
        return published, sum(names.failed_twice(id) in lost for id in ids)

    def say_done(self) -> None:
        """Nothing more will be fed."""
        self.world.outsider(FEEDER, Touch(queue_folder("", START), names.DONE))

    def next_id(self) -> str:
        """The id of the next document to feed."""
        return f"d{len(self._fed) + 1}"

    def known(self, stage: str) -> str:
        """The name of a stage. Refused for another."""
        if stage not in self.world.queues[1:]:
            raise Refused(f"there is no stage {stage}")
        return stage

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _feed_on(self) -> None:
        if sum(name.endswith(".ready") for name in self.world.listing(START)) < AHEAD:
            self._feed_one()
        self.world.after(FEED, self._feed_on)

    def _feed_one(self) -> bool:
        id = self.next_id()
        taken = self.world.feed(id, id)
        if taken:
            self._fed.append(id)
        return bool(taken)

    def _views(self) -> tuple[StageView, ...]:
        """The stages as the watchdog sees them, or saw them last."""
        if self.world.watchdog is not None:
            self._stood = self.world.watchdog.snapshot(self.now)
        return self._stood

    def _stage_row(self, view: StageView, drivers: Sequence[DriverRow]) -> StageRow:
        own = [driver for driver in drivers if driver.stage == view.name]
        ended = self._ended[view.name]
        window = min(WINDOW, self.now) or 1.0
        rate = sum(at > self.now - window for at in ended) / window
        times, docs = NO_TIMES.plus(*(driver.times for driver in own)), self._docs[view.name]
        told = (view.name, view.state, view.reason, view.wanted)
        return StageRow(*told, len(own), view.restarts, docs, rate, times)

    def _driver(self, number: str, seat: Seat) -> DriverRow:
        picture = seat.driver.core.snapshot(self.now + seat.offset)
        watchdog = self.world.watchdog
        leaving = watchdog is not None and watchdog.leaving(number)
        since = self.began + seat.since
        return DriverRow(number, seat.stage, 0, since, 0, 0.0, picture.document, picture.times, leaving)

    def _whole(self) -> bool:
        """Whether everything that was published is complete: as many times processed as queues lie behind it."""
        for depth, queue in enumerate(self.world.queues[1:], 1):
            for name, file in self.world.disk.folders[queue_folder("", queue)].items():
                if name.endswith(".ready") and file.content != f"{'<' * depth}{name[:-6]}{'>' * depth}":
                    return False
        return True

    def _watch(self, _node: str, name: str, now: float, event: Any, commands: Sequence[Any]) -> None:
        if self._happened is not None:
            self._happened.append(Happened(now, name, name, event, list(commands)))
        stage = stage_of(name) if number_of(name) else ""
        if isinstance(event, Processed) and name in self._begun:
            self._end(stage, number_of(name), event, now, *self._begun.pop(name))
        for command in commands:
            match command:
                case Note():
                    self._texts.append(command.text)
                    self._say(command, name)
                case Exit(reason, failed):
                    self._say(Note("bad" if failed else "info", f"{name} left: {reason}"), name)
                case _ if isinstance(getattr(command, "body", None), Process):
                    self._begun[name] = (command.body, now)
                    self.attempts[(stage, command.body.id)] += 1

    def _end(self, stage: str, number: str, how: Processed, now: float, work: Process, began: float) -> None:
        """One attempt has ended."""
        if how.outcome not in ("done", "failed"):
            self.attempts[(stage, work.id)] -= 1  # it counts for nothing
            return
        self._docs[stage] += 1
        self._ended[stage].append(self.now)
        twice = "failed" if work.attempt == 1 else "failed_twice"
        outcome = "published" if how.outcome == "done" else twice
        at, ms = self.began + self.now, (now - began) * 1000
        self._rows.append(DocumentRow(at, stage, number, work.id, outcome, work.attempt, ms, how.text))


def _held_on_to(listing: Sequence[str], beyond: set[str]) -> list[str]:
    """A queue without the documents that are published already but not removed yet: a paused sandbox shows both.

    ``beyond``: documents of the queues behind it, to which its own are added.
    """
    items = [(name, names.parse(name)) for name in listing]
    found = [name for name, item in items if not (isinstance(item, names.Item) and item.id in beyond and item.number)]
    beyond |= {item.id for _, item in items if isinstance(item, names.Item) and item.state != "writing"}
    return found


def _tells(one: Happened) -> bool:
    """Whether an observer has noticed something."""
    return not isinstance(one.event, Looked) and (bool(one.commands) or isinstance(one.event, Done | Processed))


def _moves(one: Happened) -> bool:
    """Whether a document has another name than before."""
    event = one.event
    if isinstance(event, Processed):
        return True
    return isinstance(event, Done) and not event.error and explain(event.operation).command in MOVES
