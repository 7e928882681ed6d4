"""A recording of disk queues as a lab: queues, drivers, events and operations of any moment.

The rules of this file:

- Several processes recorded; records are put in the order of their times.
- Drivers are generators and can not be copied. So the journal is played once, what cores answered is kept, and a scene
  is made of it again for each position; copies of the scene are kept now and then, and it goes on from there.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from engine.core import Note
from engine.drive.pipelineview import DocumentView
from engine.drive.pipelineview import Place as Found
from engine.errors import Refused
from engine.journal.checks import fits
from engine.journal.codec import Unreadable
from engine.journal.format import EVENT, HEARD, LEFT, SEAT
from engine.journal.read import Reading
from engine.labs import queuewhy
from engine.labs.content import QueueLab
from engine.labs.pipelinestate import Place, Scene
from engine.labs.replay import Replay, Step
from engine.labs.timeline import Timeline
from engine.parts.view import Incident
from engine.protocols.diskqueue import driver, names, queueviolations, watchdog
from engine.protocols.diskqueue import explain as words
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import Append, Done, Log
from engine.protocols.diskqueue.pipeline import START, DocumentRow, PipelineView, Stage, log_line, queue_folder
from engine.protocols.diskqueue.transitions import Line, read_record
from engine.tracing.links import Arrow
from engine.tracing.operations import TAKES, WATCHDOG, Operations
from engine.tracing.ring import Ring

FRAMES = 48  # scenes that are kept
NEAREST = 1_000  # records between them at least
NEWEST = 500  # documents in one picture
PRINTED = 100  # lines of one driver

_EVENTS = driver.Event | watchdog.Event
_ANSWERS = list[driver.Command | watchdog.Command]


class QueueReplayLab(Timeline, QueueLab):
    """A replay from its beginning; raises Unreadable where a record is none. ``view`` has wall clock times."""

    window: ClassVar[int] = 4_000

    def __init__(self, reading: Reading, systems: Mapping[str, Any]) -> None:
        _check(reading.records)
        records = sorted(reading.records, key=lambda record: float(record[1]))
        super().__init__(Replay(reading._replace(records=records), systems))
        self._position = 0
        self._steps: dict[int, Step] = {}  # by record
        self._rows: list[tuple[int, DocumentRow]] = []
        self._tries: list[tuple[int, str, str, Line]] = []  # record, queue, document, line of its record of attempts
        self._broken: list[tuple[int, str, str, float]] = []  # record, peer, reason, wall clock
        self._born: list[int] = []  # records at which a document was seen first
        self.root, queues, stages = _layout(records)
        self._scene = Scene(queues, stages)
        self._frames: list[tuple[int, Scene]] = [(0, self._scene.copy())]
        self._names = {record[2]: record[4] for record in records if record[0] == SEAT}
        self._watched: dict[int, tuple[Any, Any]] = {}  # record → what the watchdog does, and how it sees the stages
        self._seen: set[str] = set()  # documents
        self._stride = max(NEAREST, len(records) // FRAMES)
        self._play_all()
        self._position = self.replay.position
        self.seek(0)

    # ---- where it stands --------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Records that have been played."""
        return self._position

    def step_at(self, record: int) -> Step | None:
        """What was done at a record; None where it is no event."""
        return self._steps.get(record)

    def show(self) -> None:
        """Put the events of the position into a new feed."""
        super().show()
        if self.inspected is not None:
            self.inspect(self.inspected.id)

    # ---- what a lab is asked ----------------------------------------------------------------------------------------

    def view(self) -> PipelineView:
        """The picture of the moment."""
        until = self._until(self._rows)
        rows = tuple(row for _, row in self._rows[max(0, until - NEWEST) : until])
        return self._scene.view(self._wall(self.now), self._wall(self.started), self.root, rows, self._incidents())

    def fed(self, at: float) -> int:
        """Documents that were seen by now: who fed them was not recorded."""
        return bisect_left(self._born, self._position)

    def output(self, number: str) -> str:
        """What a driver has said: its output is no part of a recording."""
        until = self._until(self._facts)
        own = [note for _, note, source, _ in self._facts[:until] if words.number_of(source) == number]
        return "\n".join(f"{note.level} {_about(note)}{note.text}" for note in own[-PRINTED:])

    def inspect(self, id: str) -> None:
        """Look a document up; the empty string: none."""
        self.inspected = None
        if id:
            self.inspected = DocumentView(
                id,
                tuple(
                    Found(place.name, item.state, item.number)
                    for place in self._scene.queues
                    for item in map(names.parse, self._scene.files[place.folder])
                    if isinstance(item, names.Item) and item.id == id
                ),
                tuple(
                    (queue, line) for _, queue, whose, line in self._tries[: self._until(self._tries)] if whose == id
                ),
                tuple(row for _, row in self._rows[: self._until(self._rows)] if row.id == id),
            )

    def attach(self, trace: Operations) -> None:
        """Show a trace the operations before the position, and all that are played from now on."""
        self._traces.append(trace)
        self._tell(trace, self._position - self.window, self._position)

    def why(self, arrow: Arrow | None) -> str:
        """Why a driver took a document, of the operation with which it did."""
        record = arrow.entry.record if arrow is not None and arrow.entry.command in TAKES else None
        if record is None:
            raise Refused("choose an operation with which a driver takes a document")
        return queuewhy.why(self.step_at, record)

    def why_last(self) -> str:
        """Why the driver that took a document last before the position took that one."""
        record = queuewhy.last_taken(self.step_at, self.position)
        if record is None:
            raise Refused("no document was taken lately")
        return queuewhy.why(self.step_at, record)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _go(self, position: int, since: int) -> None:
        if not self._position <= position <= self._position + NEAREST:
            at, scene = self._frames[bisect_right(self._frames, position, key=lambda frame: frame[0]) - 1]
            self._scene, self._position = scene.copy(), at
        for record in range(self._position, position):
            self._fold(record)
        self._position = position
        for trace in self._traces:
            self._tell(trace, since, position)

    def _tell(self, trace: Ring[Any], since: int, until: int) -> None:
        for record in range(max(0, since), until):
            if (step := self._steps.get(record)) is not None:
                trace.step(step)

    def _incidents(self) -> tuple[Incident, ...]:
        made = queueviolations.QueueViolations()
        for _, peer, reason, at in self._broken[: self._until(self._broken)]:
            made.add(peer, reason, at)
        return made.incidents

    def _fold(self, number: int) -> None:
        """What one record does to the scene."""
        record, scene = self.replay.records[number], self._scene
        if record[0] == SEAT and words.number_of(record[4]):
            pid = record[7].get("pid", 0)
            scene.seated(record[4], pid if type(pid) is int else 0, self._wall(record[1]))
        elif record[0] == SEAT and record[5] == "watchdog":
            scene.watched("running")
        elif record[0] == LEFT and (name := self._names.get(record[2])) is not None:
            scene.left(name)
            if name == WATCHDOG:
                scene.watched("ended")
        elif (step := self._steps.get(number)) is not None:
            scene.happened(step.name, step.event, step.commands)
            if number in self._watched:
                scene.watched(*self._watched[number])

    # ---- the first time ---------------------------------------------------------------------------------------------

    def _played(self) -> None:
        number = self.replay.position - 1
        self._look_at_watchdog(number)
        self._fold(number)
        self._count(number)
        if self.replay.position % self._stride == 0:
            self._frames.append((self.replay.position, self._scene.copy()))

    def _sample(self) -> dict[str, int]:
        return {place.name: self._scene.ready[place.folder] for place in self._scene.queues}

    def _look_at_watchdog(self, number: int) -> None:
        step = self._steps.get(number)
        if step is not None and step.name == WATCHDOG:
            core: Any = self.replay.core(WATCHDOG, WATCHDOG)
            if isinstance(core, watchdog.Watchdog):
                state = "stopping" if core.ending else "running"
                self._watched[number] = (state, core.snapshot(step.at))

    def _count(self, number: int) -> None:
        """Documents that were not seen before."""
        for item in map(names.parse, self._scene.fresh):
            if isinstance(item, names.Item) and item.state != "writing" and item.id not in self._seen:
                self._seen.add(item.id)
                self._born.append(number)
        self._scene.fresh.clear()

    def _note(self, step: Step) -> None:
        """Keep what one record says: what cores answered, events, documents, moves."""
        super()._note(step)
        self._steps[step.record] = step
        for command in step.commands:
            if type(command) is Note and command.text.startswith(queueviolations.STRANGE):
                self._broken.append((step.record, self._queue_of(step.name), command.text, self._wall(step.at)))
        event: Any = step.event
        if type(event) is not Done:
            return
        number, stage = words.number_of(step.name), words.stage_of(step.name)
        match event.operation:
            case Log(_, line) if number and (row := log_line(line, stage, number)) is not None:
                if row.outcome == queueviolations.ACCUSES:
                    self._broken.append((step.record, step.name, row.text, row.at))
                else:
                    self._rows.append((step.record, row))
            case Append(folder, name, line) if (id := names.record_of(name)) is not None:
                self._tries += [(step.record, words.queue_of(folder), id, found) for found in read_record(line)]
        if words.explain(event.operation, event, number, stage).leg == "move" and not event.error:
            self._moves.append(step.record + 1)

    def _queue_of(self, seat: str) -> str:
        """The queue that a driver takes from."""
        stages = [stage.name for stage in self._scene.stages]
        place = stages.index(words.stage_of(seat)) if words.stage_of(seat) in stages else 0
        return self._scene.queues[place].name


def _about(note: Note) -> str:
    return f"{note.subject.decode('utf-8', 'backslashreplace')}: " if note.subject else ""


def _check(records: Sequence[Any]) -> None:
    """Raise Unreadable for a record that does not belong to disk queues."""
    for number, record in enumerate(records):
        if record[0] in (EVENT, HEARD) and not fits(record[3], _EVENTS):
            raise Unreadable(f"record {number} is no event of disk queues")
        if record[0] == HEARD and not fits(record[4], _ANSWERS):
            raise Unreadable(f"record {number} holds no answer of disk queues")


def _layout(records: Sequence[Any]) -> tuple[str, list[Place], list[Stage]]:
    """Root, queues and stages: those of the watchdog, else what drivers took from and published into."""
    pairs: list[tuple[str, str]] = []
    for record in records:
        if record[0] != SEAT:
            continue
        _, _, _, _, name, role, args, world = record
        try:
            if role == "watchdog":
                root, stages = str(world["root"]), [Stage(*stage) for stage in args[0]]
                queues = [START, *(stage.name for stage in stages)]
                return root, [Place(queue, queue_folder(root, queue)) for queue in queues], stages
            if words.number_of(name):
                config = DriverConfig(*args[0])
                pairs += [(config.src, config.dst)] if (config.src, config.dst) not in pairs else []
        except (TypeError, KeyError, IndexError) as error:
            raise Unreadable(f"who sat at {name} is not told: {error}") from None
    return _chain(pairs)


def _chain(pairs: list[tuple[str, str]]) -> tuple[str, list[Place], list[Stage]]:
    """The same out of drivers' queues: one line of them, the one that begins first."""
    if not pairs:
        raise Unreadable("it is of no driver and of no watchdog")
    ends = {dst for _, dst in pairs}
    source = next((src for src, _ in pairs if src not in ends), pairs[0][0])
    folders = [source]
    while (after := next((dst for src, dst in pairs if src == folders[-1] and dst not in folders), None)) is not None:
        folders.append(after)
    places = [Place(words.queue_of(folder), folder) for folder in folders]
    return posixpath.dirname(source), places, [Stage(place.name) for place in places[1:]]
