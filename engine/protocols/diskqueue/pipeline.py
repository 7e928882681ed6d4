"""Stages between queues, where everything lies on disk, and what an operator sees of it.

The rules of this file:

- A pipeline of the stages ``values``, ``parse``, ``output`` has the queues start, values, parse, output: a stage takes
  from the queue before it and publishes into the queue of its own name.
- The layout is the original's, so that its tools find what they look for.
- Pictures are frozen and bounded: all documents of a queue stand in them as counts, and a few of each state by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from engine.parts.view import Incident, Walked
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverTimes

START = "start"
"""The queue that documents are fed into."""

MAX_STAGES = 50
MAX_WORKERS = 1000  # drivers of one stage
SOME = 100  # documents of one queue in one state that stand in a picture by name

_STAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


class Stage(NamedTuple):
    """One step that every document takes."""

    name: str  # and that of the queue it publishes into
    workers: int = 1  # drivers to keep running
    work: str = "copy"  # what they do (``engine.drive.documents``)


def parse_stage(text: str, work: str = "copy") -> Stage:
    """``name`` or ``name=workers``; raises ValueError with the reason."""
    name, equals, count = text.partition("=")
    if not _STAGE.match(name) or name == START:
        raise ValueError(f"stage {text!r}: a name is letters, digits, - and _, and not {START!r}")
    if not equals:
        return Stage(name, 1, work)
    if not count.isascii() or not count.isdigit() or len(count) > 4 or not 1 <= int(count) <= MAX_WORKERS:
        raise ValueError(f"stage {text!r}: workers are a number from 1 to {MAX_WORKERS:,}")
    return Stage(name, int(count), work)


def check_stages(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """The stages, if they make a pipeline; raises ValueError with the reason."""
    found = tuple(stages)
    if not 1 <= len(found) <= MAX_STAGES:
        raise ValueError(f"a pipeline has 1 to {MAX_STAGES} stages")
    for index, stage in enumerate(found):
        parse_stage(f"{stage.name}={stage.workers}")
        if stage.name in {other.name for other in found[:index]}:
            raise ValueError(f"stage {stage.name!r} is there twice")
    return found


# ---- layout -------------------------------------------------------------------------------------------------------


def queue_folder(root: str, queue: str) -> str:
    """Where a queue lies."""
    return f"{root}/queue-{queue}"


def worker_folder(root: str, number: str) -> str:
    """Where a driver's files lie: worker.par, pid, times, quit, out.txt, and ours: documents, process.json."""
    return f"{root}/worker-{number}"


def worker_number(folder: str) -> str | None:
    """The number in the name of a worker folder."""
    head, _, number = folder.partition("worker-")
    return number if not head and names.number(number) else None


def source(stages: tuple[Stage, ...], index: int) -> str:
    """The queue that a stage takes from."""
    return stages[index - 1].name if index else START


# ---- pictures -----------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """The items of one queue by state."""

    ready: int = 0
    working: int = 0
    writing: int = 0
    failed: int = 0
    failed_twice: int = 0
    strange: int = 0  # names that claim to be items and are none
    done: bool = False  # nothing more will come

    @property
    def live(self) -> int:
        """Items that keep the queue from being done."""
        return self.ready + self.working + self.writing + self.failed


class Holder(NamedTuple):
    """A document in a queue, and the number of the driver whose lock it is under, "" for none."""

    id: str
    state: names.State
    number: str


class Survey(NamedTuple):
    """One look at a queue."""

    counts: Counts
    held: tuple[Holder, ...]
    locks: tuple[str, ...]  # numbers that drivers of ours take under, dead ones among them
    trouble: str = ""  # why the queue cannot be read, then all else is of the last time that it could
    some: tuple[Holder, ...] = ()  # of the other documents, ``SOME`` of each state, whichever were seen first
    odd: tuple[tuple[str, str], ...] = ()  # of what claims by its name to be the queue's and is none, ``SOME``, and why
    foreign: tuple[str, ...] = ()  # of what is no business of the queue, ``SOME``

    @property
    def shown(self) -> tuple[Holder, ...]:
        """The documents that a row of the queue names: those that are being worked on, and some of the others."""
        return tuple(one for one in self.held[: 2 * SOME] if one.state == "working") + self.some


def survey(found: Iterable[str], others: Iterable[tuple[str, str]] = ()) -> Survey:
    """Count the files of a queue by their names. ``others`` (name, what it is) are no regular files, so no items."""
    tally = dict.fromkeys(("ready", "working", "writing", "failed", "failed_twice", "kept"), 0)
    strange, done = 0, False
    odd: list[tuple[str, str]] = []
    foreign: list[str] = []
    held: list[Holder] = []
    locks: list[str] = []
    some: list[Holder] = []
    for name in found:
        # What comes by the hundred thousand, without a parse each.
        if name.endswith(".ready") and name[0] != "." and 6 < len(name) <= 50 and name.isprintable():
            tally["ready"] += 1
            if tally["ready"] <= SOME:
                some.append(Holder(name[:-6], "ready", ""))
            continue
        item = names.parse(name)
        if item is None:
            done = done or name == names.DONE
            if (number := names.locked_by(name)) is not None:
                locks.append(number)
            elif len(foreign) < SOME and name != names.DONE and not names.ours(name):
                foreign.append(name)
        elif isinstance(item, str):
            strange += 1
            if strange <= SOME:
                odd.append((name, item))
        else:
            tally[item.state] += 1
            if item.number:
                held.append(Holder(item.id, item.state, item.number))
            elif item.state != "kept" and tally[item.state] <= SOME:
                some.append(Holder(item.id, item.state, ""))
    for name, kind in others:
        if names.parse(name) is None and name != names.DONE and not names.ours(name):
            foreign.append(name)
            continue
        strange += 1
        if strange <= SOME:
            odd.append((name, f"it is {kind}"))
    del foreign[SOME:]
    counts = Counts(
        tally["ready"], tally["working"], tally["writing"], tally["failed"], tally["failed_twice"], strange, done
    )
    found_by_name = tuple(sorted(some)), tuple(sorted(odd)), tuple(sorted(foreign))
    return Survey(counts, tuple(sorted(held)), tuple(sorted(locks)), "", *found_by_name)


Phase = Literal["starting", "taking", "idle", "blocked", "working", "publishing", "failing", "troubled", "ended"]
"""idle: nothing to take · blocked: the destination is full · troubled: the disk refuses."""


class DriverView(NamedTuple):
    """A driver's own picture of itself."""

    at: float
    number: str
    phase: Phase
    document: str  # in its hands, "" for none
    attempt: int
    times: DriverTimes
    published: int
    failed: int  # attempts
    given_up: int
    lost: int  # races for a document
    trouble: str
    walked: Walked = ()  # by the driver,
    documents: Walked = ()  # and by the documents in its hands


StageState = Literal["running", "paused", "stopped", "done"]
"""stopped: it stands still, ``reason`` says why · done: nothing left and nothing to come."""

NEVER_RUN = "no watchdog has run here"
CAME_SINCE = "it was done, and something came since"
ENDED = "the pipeline ended: "  # and why
NO_ERRORS = (NEVER_RUN, CAME_SINCE, ENDED)
"""How the reasons begin of a stage that stands still without an error of its own."""


WatchState = Literal["running", "stopping", "ended", "absent"]
"""What the watchdog does; absent: nobody watches over the pipeline."""


class QueueRow(NamedTuple):
    """One queue on the screen."""

    name: str
    folder: str
    counts: Counts
    trouble: str = ""  # why it cannot be read; the counts are old then
    documents: tuple[Holder, ...] = ()  # some, of every state


class StageRow(NamedTuple):
    """One stage on the screen, between the queue before it and its own."""

    name: str
    state: StageState
    reason: str
    wanted: int  # drivers
    running: int
    restarts: int  # drivers that died and were replaced
    docs: int  # attempts that its drivers, past and present, made
    rate: float  # documents a second over the last half minute
    times: DriverTimes  # of all its drivers, past and present
    full: str = ""  # why its drivers wait for room, with the queue's name; "" where they do not


class DriverRow(NamedTuple):
    """One driver on the screen."""

    number: str
    stage: str
    pid: int
    since: float  # wall clock, seconds since the epoch
    memory: int  # bytes, resident
    cpu: float  # per cent of one core since the last picture
    document: str  # in its hands, "" for none
    times: DriverTimes
    leaving: bool


class DocumentRow(NamedTuple):
    """What became of one document at one stage."""

    at: float  # wall clock, seconds since the epoch
    stage: str
    number: str  # of the driver
    id: str
    outcome: str  # published, failed, failed_twice, returned
    attempt: int
    ms: float
    text: str  # of the error


class Walks(NamedTuple):
    """How often each row of the state machines was walked. None: by those who are driven by other processes."""

    documents: Walked | None = None
    drivers: Walked | None = None
    seen: Walked | None = None  # drivers, at their watchdog
    stages: Walked | None = None


class PipelineView(NamedTuple):
    """A pipeline: what a screen shows and ``show`` prints."""

    at: float  # wall clock, seconds since the epoch
    root: str
    state: WatchState
    queues: tuple[QueueRow, ...]  # one more than stages
    stages: tuple[StageRow, ...]
    drivers: tuple[DriverRow, ...]
    documents: tuple[DocumentRow, ...]  # newest last, bounded
    incidents: tuple[Incident, ...] = ()  # rules that were broken; times are wall clock, seconds since the epoch
    walks: Walks = Walks()


def log_line(line: str, stage: str, number: str) -> DocumentRow | None:
    """One line of a driver's log (``DriverConfig.log_file``), or None for a torn one."""
    fields = line.rstrip("\n").split("\t")
    if len(fields) != 6 or names.why_not(fields[4]) or fields[2] not in ("1", "2"):
        return None
    try:
        at, ms = float(fields[0]), float(fields[3])
    except ValueError:
        return None
    return DocumentRow(at, stage, number, fields[4], fields[1], int(fields[2]), ms, fields[5])
