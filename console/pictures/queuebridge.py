"""Makes pictures from a queue lab. Polled four times a second; it never blocks, and the engine never waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from console.pictures.eventlog import EventLog, Line
from console.pictures.minutes import course
from console.pictures.samples import HERTZ, Samples, Series
from engine.files.minutes import Minute
from engine.labs.content import QueueLab
from engine.labs.timeline import Sample
from engine.protocols.diskqueue.books import Entry, entries, whole
from engine.protocols.diskqueue.pipeline import DocumentRow, PipelineView

SETTLED = 4 * HERTZ  # polls: what the books differed by in all of them is told; less is the queues' being read in turn
OUTCOMES = 100  # newest documents of a stage that went through


State = Literal["ready", "working", "failed", "failed twice", "published", "returned"]


class Document(NamedTuple):
    """A document as one stage sees it."""

    id: str
    state: State
    queue: str  # where it is; "" where it has gone on
    number: str  # of the driver that has it, or had it last
    attempt: int  # 0 where none has been seen
    ms: float  # of the last attempt that has ended
    at: float  # wall clock of its end, seconds since the epoch; 0 for unknown
    text: str  # of the error


class QueuePicture(NamedTuple):
    """Everything that one refresh of the screen shows."""

    view: PipelineView
    up: float  # seconds since the lab was opened
    fed: int  # documents that the lab knows to have been put in by then
    entries: tuple[Entry, ...]  # by stage
    difference: int  # fed minus accounted for, as much of it as has lasted
    balanced: bool  # whether that is all of it
    waiting: tuple[tuple[int, ...], ...]  # by queue: ready documents, newest last, HERTZ a second
    events: tuple[Line, ...]
    dead: tuple[str, ...]
    hertz: float
    rows: tuple[()] = ()  # there are no peers whose names events could use
    alone: bool = False  # no watchdog of this console begins: where none runs there is none
    series: Mapping[str, Series] = MappingProxyType({})  # of charts: throughput, documents a second; backlog

    @property
    def books(self) -> Entry:
        """The whole pipeline."""
        return whole(self.entries)

    @property
    def rate(self) -> float:
        """Documents a second that leave the last stage."""
        return self.view.stages[-1].rate


def badge(picture: QueuePicture, paused: bool) -> tuple[str, str]:
    """The overall state in one word, and its colour."""
    states = {stage.state for stage in picture.view.stages}
    if paused:
        return "FROZEN", "warn"
    if picture.dead:
        return "FAULT", "bad"
    match picture.view.state:
        case "absent" if not picture.alone:
            return "STARTING", "label"
        case "absent":
            return ("DONE", "good") if states == {"done"} else ("NO WATCHDOG", "warn")
        case "stopping":
            return "STOPPING", "warn"
        case "ended":
            return ("DONE", "good") if states == {"done"} else ("ENDED", "warn")
    if "stopped" in states or any(queue.trouble for queue in picture.view.queues):
        return "STOPPED", "bad"
    if "paused" in states:
        return "PAUSED", "warn"
    return ("RUNNING", "good") if picture.books.working or picture.rate else ("READY", "good")


def documents_of(view: PipelineView, place: int) -> tuple[Document, ...]:
    """The documents of one stage: given up, failed, in work, gone through (newest first), waiting; some of each."""
    stage, queue = view.stages[place].name, view.queues[place]
    newest: dict[str, DocumentRow] = {}
    for row in view.documents:
        if row.stage == stage:
            newest[row.id] = row
    found: dict[State, list[Document]] = {"failed twice": [], "failed": [], "working": [], "ready": []}
    for id, state, number in queue.documents:
        last = newest.pop(id, None) if state != "ready" else None
        blank = Document(id, "ready", queue.name, number, 0, 0.0, 0.0, "")
        match state:
            case "working":
                again = last is not None and last.outcome == "failed"
                found["working"].append(blank._replace(state="working", attempt=2 if again else 1))
            case "failed" | "failed_twice":
                word: State = "failed" if state == "failed" else "failed twice"
                ended = blank._replace(state=word, attempt=1 if state == "failed" else 2)
                if last is not None:
                    ended = ended._replace(number=last.number, ms=last.ms, at=last.at, text=last.text)
                found[word].append(ended)
            case _:
                found["ready"].append(blank)
    gone = [
        Document(row.id, "published", "", row.number, row.attempt, row.ms, row.at, "")
        for row in reversed(newest.values())
        if row.outcome == "published"
    ]
    return (*found["failed twice"], *found["failed"], *found["working"], *gone[:OUTCOMES], *found["ready"])


class QueueBridge:
    """Polls the lab, and keeps what one snapshot lacks: events, backlogs over time, whether the ledger balances."""

    def __init__(self, lab: QueueLab) -> None:
        self.lab = lab
        self._log = EventLog(lab.feed)
        self._waiting: dict[str, Samples] = {}
        self._series = {name: Series() for name in ("throughput", "backlog")}
        self._polls: deque[float] = deque(maxlen=4 * HERTZ + 1)
        self._differences: deque[int] = deque(maxlen=SETTLED)

    def recall(self, samples: Sequence[Sample]) -> None:
        """See what waited before, so that charts begin with it."""
        for sample in samples:
            self._waited(sample.at, sample.seen)

    def begin(self, minutes: Sequence[Minute], now: float, wall: float) -> None:
        """Have the charts begin with a history. ``now``: monotonic seconds, ``wall``: since the epoch, both of now."""
        found = course(minutes, now, wall)
        for name, series in self._series.items():
            series.begin(found[name], now)

    def _waited(self, at: float, ready: Mapping[str, int]) -> None:
        """What waited in each queue at monotonic time ``at``."""
        for queue, count in ready.items():
            self._waiting.setdefault(queue, Samples()).add(at, count)

    def poll(self, now: float) -> QueuePicture:
        """The picture at monotonic time ``now``."""
        view = self.lab.view()
        self._polls.append(now)
        spent = now - self._polls[0]
        self._waited(now, {queue.name: queue.counts.ready for queue in view.queues})
        stages = entries([queue.counts for queue in view.queues])
        self._series["throughput"].add(now, round(view.stages[-1].rate))
        self._series["backlog"].add(now, whole(stages).waiting)
        fed = self.lab.fed(view.at)
        self._differences.append(fed - whole(stages).total)
        return QueuePicture(
            view=view,
            up=now - self.lab.started,
            fed=fed,
            entries=stages,
            difference=lasting(self._differences),
            balanced=self._differences[-1] == lasting(self._differences),
            waiting=tuple(self._waiting[queue.name].values for queue in view.queues),
            events=self._log.read(),
            dead=self.lab.health().dead,
            hertz=(len(self._polls) - 1) / spent if spent > 0 else float(HERTZ),
            alone=self.lab.watches or self.lab.mode == "sandbox",
            series=self._series,
        )


def lasting(differences: deque[int]) -> int:
    """The difference that lasted: the smallest of ``SETTLED`` differences with the same sign, else 0."""
    if len(differences) == SETTLED:
        if min(differences) > 0:
            return min(differences)
        if max(differences) < 0:
            return max(differences)
    return 0
