"""A journal of disk queues as a lab: queues, drivers, events and operations of any moment. It takes no orders.

The rules of this file:

- What is shown depends on the position alone, whichever way it was reached.
- The journal is played once when it is opened: cores run again, what they answer is kept and compared with what was
  recorded. A core that can not take a record ends the replay there, and a notice says so.
- Several processes recorded; records are put in the order of their times.
- Drivers are generators and can not be copied. So copies of the scene are kept now and then, and replay goes on from
  there.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from engine.core import Exit, Note
from engine.drive.pipelineview import DocumentView
from engine.drive.pipelineview import Place as Found
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.checks import fits
from engine.journal.codec import Unreadable
from engine.journal.journal import EVENT, HEARD, LEFT, SEAT, Reading
from engine.labs.live import Health
from engine.labs.pipelinestate import Place, Scene
from engine.labs.replay import Replay, Step
from engine.parts.view import Incident
from engine.protocols.diskqueue import conduct, driver, names, watchdog
from engine.protocols.diskqueue import explain as words
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import Append, Done, Log
from engine.protocols.diskqueue.pipeline import START, DocumentRow, PipelineView, Stage, log_line, queue_folder
from engine.protocols.diskqueue.transitions import Line, read_record
from engine.tracing.operations import WATCHDOG, Operations

EVERY = 0.25  # recorded seconds between two samples; more where there would be more than SAMPLES
SAMPLES = 20_000
TOLD = 100_000  # events and broken rules that are kept, the first of the recording
WINDOW = 4_000  # records before the position whose operations a trace is shown
FRAMES = 48  # scenes that are kept
NEAREST = 1_000  # records between them at least
NEWEST = 500  # documents in one picture
PRINTED = 100  # lines of one driver

_EVENTS = driver.Event | watchdog.Event
_ANSWERS = list[driver.Command | watchdog.Command]


class Sample(NamedTuple):
    """What waited at one moment, by queue, for charts."""

    record: int
    at: float
    ready: tuple[int, ...]


class QueueReplayLab:
    """A replay from its beginning; raises Unreadable where a record is none.

    ``now`` and all times but those in pictures: monotonic seconds of the recording.
    """

    readonly, demonstration = True, False

    def __init__(self, reading: Reading, systems: Mapping[str, Any]) -> None:
        _check(reading.records)
        records = sorted(reading.records, key=lambda record: float(record[1]))
        self.replay = Replay(reading._replace(records=records), systems)
        self.system, self.options = self.replay.system, self.replay.options
        self.started = self.replay.begin
        self.feed = Feed()
        self.inspected: DocumentView | None = None
        self.broken = ""  # why the recording can not be played any further than ``last``
        self.last = len(records)  # the last position
        self._traces: list[Operations] = []
        self._at = self.started
        self._position = 0
        self._steps: dict[int, Step] = {}  # by record
        self._facts: list[tuple[int, Note, str, float]] = []  # record, what was said, by whom, wall clock
        self._rows: list[tuple[int, DocumentRow]] = []
        self._tries: list[tuple[int, str, str, Line]] = []  # record, queue, document, line of its record of attempts
        self._broken: list[tuple[int, str, str, float]] = []  # record, peer, reason, wall clock
        self._moves: list[int] = []  # records after which a document had another name
        self._born: list[int] = []  # records at which a document was seen first
        self._samples: list[Sample] = []
        self.root, queues, stages = _layout(records)
        self._scene = Scene(queues, stages)
        self._frames: list[tuple[int, Scene]] = [(0, self._scene.copy())]
        self._play_all()
        self.seek(0)

    # ---- where it stands --------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Records that have been played."""
        return self._position

    @property
    def now(self) -> float:
        """The time that is shown, at or after the last record that was played."""
        return self._at

    @property
    def end(self) -> float:
        """The time of the last record that can be played."""
        return float(self.replay.records[self.last - 1][1]) if self.last else self.started

    def seek(self, position: int) -> None:
        """Go to a position, 0 to ``last``."""
        position = max(0, min(position, self.last))
        before = self._position
        if not before <= position <= before + NEAREST:
            at, scene = self._frames[bisect_right(self._frames, position, key=lambda frame: frame[0]) - 1]
            self._scene, self._position = scene.copy(), at
        for record in range(self._position, position):
            self._fold(record)
        self._position = position
        self._at = max(self.started, float(self.replay.records[position - 1][1])) if position else self.started
        goes_on = before <= position <= before + WINDOW
        for trace in self._traces:
            if not goes_on:
                trace.clear()
            self._tell(trace, before if goes_on else position - WINDOW, position)
        self.show()

    def seek_time(self, at: float) -> None:
        """Go to a moment: everything that was recorded until then is played."""
        at = max(self.started, min(at, self.end))
        self.seek(bisect_right(self.replay.records, at, 0, self.last, key=lambda record: float(record[1])))
        self._at = at

    def step_message(self, forwards: bool = True) -> bool:
        """Go on, or back, until just after a document got another name; False at the end and at the beginning."""
        place = bisect_right(self._moves, self._position) if forwards else bisect_left(self._moves, self._position) - 1
        if found := 0 <= place < len(self._moves):
            self.seek(self._moves[place])
        else:
            self.seek(self.last if forwards else 0)
        return found

    def step_at(self, record: int) -> Step | None:
        """What was done at a record; None where it is no event."""
        return self._steps.get(record)

    def samples(self, seconds: float) -> Sequence[Sample]:
        """What waited in so many seconds before the position, oldest first."""
        until = bisect_left(self._samples, self._position, key=lambda sample: sample.record)
        since = bisect_left(self._samples, self.now - seconds, 0, until, key=lambda sample: sample.at)
        return self._samples[since:until]

    def show(self) -> None:
        """Put the events of the position into a new feed."""
        self.feed = Feed()
        for _, note, source, at in self._facts[: self._until(self._facts)]:
            self.feed.fact(note, source, at)
        if self.inspected is not None:
            self.inspect(self.inspected.id)

    # ---- what a lab is asked ----------------------------------------------------------------------------------------

    def health(self) -> Health:
        """A recording has no threads."""
        return Health((f"the recording can not be played any further: {self.broken}",) if self.broken else (), 0.0)

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
        self._tell(trace, self._position - WINDOW, self._position)

    def detach(self, trace: Operations) -> None:
        """Detach a trace."""
        if trace in self._traces:
            self._traces.remove(trace)

    def listening(self) -> tuple[float, int]:
        """A recording costs nothing."""
        return 0.0, 0

    def _order(self, *_: object, **__: object) -> NoReturn:
        raise Refused("a recording takes no orders: it shows what was")

    set_workers = pause_stage = resume_stage = kill_driver = retry = feed_some = _order

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _wall(self, at: float) -> float:
        return self.replay.about.started + at - self.replay.about.monotonic

    def _until(self, found: Sequence[tuple[Any, ...]]) -> int:
        """How many of these were there at the position."""
        return bisect_left(found, self._position, key=lambda one: one[0])

    def _tell(self, trace: Operations, since: int, until: int) -> None:
        for record in range(max(0, since), until):
            if (step := self._steps.get(record)) is not None:
                trace.step(step)

    def _incidents(self) -> tuple[Incident, ...]:
        made = conduct.Conduct()
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

    def _play_all(self) -> None:
        self._names = {record[2]: record[4] for record in self.replay.records if record[0] == SEAT}
        self._watched: dict[int, tuple[Any, Any]] = {}  # record → what the watchdog does, and how it sees the stages
        every = max(EVERY, (self.replay.end - self.started) / SAMPLES)
        stride, due = max(NEAREST, len(self.replay) // FRAMES), self.started
        seen: set[str] = set()
        try:
            while self.replay.step(self._note):
                number = self.replay.position - 1
                self._look_at_watchdog(number)
                self._fold(number)
                self._count(number, seen)
                if self.replay.position % stride == 0:
                    self._frames.append((self.replay.position, self._scene.copy()))
                if self.replay.now >= due:
                    ready = tuple(self._scene.ready[place.folder] for place in self._scene.queues)
                    self._samples.append(Sample(self.replay.position, self.replay.now, ready))
                    due = self.replay.now + every
        except Exception as error:  # recorded with other rules, or made up: what came before it stands
            words = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
            self.last, self.broken = self.replay.position, words
        self._position = self.replay.position

    def _look_at_watchdog(self, number: int) -> None:
        step = self._steps.get(number)
        if step is not None and step.name == WATCHDOG:
            core: Any = self.replay.core(WATCHDOG, WATCHDOG)
            if isinstance(core, watchdog.Watchdog):
                state = "stopping" if core.ending else "running"
                self._watched[number] = (state, core.snapshot(step.at))

    def _count(self, number: int, seen: set[str]) -> None:
        """Documents that were not seen before."""
        for item in map(names.parse, self._scene.fresh):
            if isinstance(item, names.Item) and item.state != "writing" and item.id not in seen:
                seen.add(item.id)
                self._born.append(number)
        self._scene.fresh.clear()

    def _note(self, step: Step) -> None:
        """Keep what one record says: what cores answered, events, documents, moves."""
        self._steps[step.record] = step
        wall = self._wall(step.at)
        for command in step.commands:
            if type(command) is Note:
                self._told(step, command, wall)
                if command.text.startswith(conduct.STRANGE):
                    queue = self._queue_of(step.name)
                    self._broken.append((step.record, queue, command.text, wall))
            elif type(command) is Exit:
                level = "bad" if command.failed else "info"
                self._told(step, Note(level, f"{step.name} left: {command.reason}"), wall)  # type: ignore[arg-type]
        event: Any = step.event
        if type(event) is not Done:
            return
        number, stage = words.number_of(step.name), words.stage_of(step.name)
        match event.operation:
            case Log(_, line) if number and (row := log_line(line, stage, number)) is not None:
                if row.outcome == conduct.ACCUSES:
                    self._broken.append((step.record, step.name, row.text, row.at))
                else:
                    self._rows.append((step.record, row))
            case Append(folder, name, line) if (id := names.record_of(name)) is not None:
                self._tries += [(step.record, words.queue_of(folder), id, found) for found in read_record(line)]
        if words.explain(event.operation, event, number, stage).leg == "move" and not event.error:
            self._moves.append(step.record + 1)

    def _told(self, step: Step, note: Note, wall: float) -> None:
        if len(self._facts) < TOLD:
            self._facts.append((step.record, note, step.name, wall))

    def _queue_of(self, seat: str) -> str:
        """The queue that a driver takes from."""
        stages = [stage.name for stage in self._scene.stages]
        place = stages.index(words.stage_of(seat)) if words.stage_of(seat) in stages else 0
        return self._scene.queues[place].name


def _about(note: Note) -> str:
    return f"{note.subject.decode('utf-8', 'backslashreplace')}: " if note.subject else ""


def _check(records: Sequence[Any]) -> None:
    """Raise Unreadable where a record is none of disk queues."""
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
