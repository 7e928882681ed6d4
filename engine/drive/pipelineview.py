"""Makes pictures of a pipeline (``PipelineView``) out of what its folders and processes show."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from typing import NamedTuple

from engine.core import Command
from engine.drive.documents import no_space
from engine.drive.driverprocess import driver_process
from engine.drive.pipelinerecord import StageTold, read_back, told_of
from engine.drive.queueview import LogSight, ProcessSight, QueueSight, garbled, paused, sorted_out, tail_of, times_of
from engine.parts.plain import several
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import NO_TIMES, DriverTimes
from engine.protocols.diskqueue.explain import seat_of
from engine.protocols.diskqueue.parameters import ParameterError, read_parameters
from engine.protocols.diskqueue.pipeline import (
    ENDED,
    START,
    Counts,
    DocumentRow,
    DriverRow,
    PipelineView,
    QueueRow,
    Stage,
    StageRow,
    Survey,
    Walks,
    WatchState,
    queue_folder,
    source,
    worker_folder,
    worker_number,
)
from engine.protocols.diskqueue.queueviolations import ASTRAY, TIMES, Broken, QueueViolations
from engine.protocols.diskqueue.transitions import Line, read_record
from engine.protocols.diskqueue.watchdog import StageView, Watchdog

WINDOW = 30.0  # seconds over which a rate is taken


class Observation:
    """Looks at one pipeline, again and again; a look costs what has changed since the last."""

    def __init__(self, root: str, stages: tuple[Stage, ...], max_files: int = 0) -> None:
        """``max_files``: in a queue between two stages, above which its drivers wait; 0 for no limit."""
        self._root = root
        self._stages = stages
        self._max_files = max_files
        self._queues = {name: QueueSight(queue_folder(root, name)) for name in (START, *(s.name for s in stages))}
        self._logs = LogSight()
        self._processes = ProcessSight()
        self.violations = QueueViolations()
        self.notes: list[Command] = []  # of rules that were broken, until somebody tells them
        self._buried: dict[str, DriverTimes] = {}  # by stage: what its ended drivers had done
        self._samples: dict[str, deque[tuple[float, int]]] = {stage.name: deque() for stage in stages}

    def surveys(self, fresh: bool = False) -> dict[str, Survey]:
        """A survey of each queue by its name."""
        return {name: sight.look(fresh) for name, sight in self._queues.items()}

    def picture(
        self,
        state: WatchState,
        core: Watchdog | None = None,
        drivers: dict[str, tuple[str, int]] | None = None,
        fresh: bool = False,
    ) -> PipelineView:
        """A picture; ``drivers`` are number → (stage, pid), looked up where None."""
        surveys = self.surveys(fresh)
        if drivers is None:
            drivers = self._drivers()
        documents = {
            held.number: held.id for survey in surveys.values() for held in survey.held if held.state == "working"
        }
        rows = tuple(
            self._driver(number, stage, pid, documents.get(number, ""), core is not None and core.leaving(number))
            for number, (stage, pid) in sorted(drivers.items(), key=lambda item: int(item[0]))
        )
        views = {view.name: view for view in core.snapshot(time.monotonic())} if core is not None else {}
        told = read_back(self._root) if core is None else None
        ending = core.ending if core is not None and state == "ended" else ""
        at = time.time()
        for row in rows:
            self._logs.look(self._root, row.stage, row.number)
        self._judge(rows, surveys, at)
        return PipelineView(
            at,
            self._root,
            state,
            tuple(self._queue(name, surveys[name]) for name in self._queues),
            tuple(
                self._stage(i, surveys, rows, views.get(stage.name) or told_of(told, stage, state, rows), ending)
                for i, stage in enumerate(self._stages)
            ),
            rows,
            tuple(self._logs.documents),
            self.violations.incidents,
            Walks() if core is None else Walks(seen=core.walked(), stages=core.stages_walked()),
        )

    def _drivers(self) -> dict[str, tuple[str, int]]:
        """Drivers of the root's owner: this process only looks."""
        try:
            owner = os.stat(self._root).st_uid
        except OSError:
            return {}
        return {n: (self.stage_of(n), pid) for n in self.numbers() if (pid := driver_process(self._root, n, owner))}

    def _judge(self, rows: tuple[DriverRow, ...], surveys: dict[str, Survey], at: float) -> None:
        """Count the rules that were broken since the last look."""
        standing = [Broken(f"driver {row.number}", ASTRAY, "") for row in rows if not row.stage]
        standing += [
            Broken(seat_of(row.stage, row.number), TIMES, "") for row in rows if garbled(self._root, row.number)
        ]
        self.notes += self.violations.look(surveys, standing, at)
        while self._logs.broken:
            self.notes += self.violations.add(*self._logs.broken.popleft(), at)

    def bury(self, stage: str, number: str, times: DriverTimes | None) -> None:
        """A driver has ended: keep what it did."""
        self._logs.look(self._root, stage, number)
        self._logs.forget(self._root, number)
        if times is not None:
            self._buried[stage] = self._buried.get(stage, NO_TIMES).plus(times)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _queue(self, name: str, seen: Survey) -> QueueRow:
        return QueueRow(name, self._queues[name].folder, seen.counts, seen.trouble, seen.shown)

    def _driver(self, number: str, stage: str, pid: int, document: str, leaving: bool) -> DriverRow:
        use = self._processes.look(pid)
        since = 0.0
        with contextlib.suppress(OSError):
            since = os.stat(f"{worker_folder(self._root, number)}/pid").st_mtime
        times = times_of(self._root, number) or NO_TIMES
        return DriverRow(number, stage, pid, since, use.memory, use.cpu, document, times, leaving)

    def _stage(
        self,
        index: int,
        surveys: dict[str, Survey],
        rows: tuple[DriverRow, ...],
        view: StageView | StageTold,
        ending: str,
    ) -> StageRow:
        """``ending``: why everything ended, where it did."""
        stage = self._stages[index]
        own = [row for row in rows if row.stage == stage.name]
        past = self._buried.get(stage.name, view.times if isinstance(view, StageTold) else NO_TIMES)
        times = past.plus(*(row.times for row in own))
        before, after = surveys[source(self._stages, index)].counts, surveys[stage.name].counts
        state, reason = view.state, view.reason
        if before.done and not before.live and after.done and isinstance(view, StageTold):
            state, reason = "done", ""
        elif ending and state != "done":
            state, reason = "stopped", reason or f"{ENDED}{ending}"
        return StageRow(
            stage.name,
            state,
            reason,
            view.wanted,
            len(own),
            view.restarts,
            times.docs,
            self._rate(stage.name, times.docs),
            times,
            self._full(index, after, own) if state == "running" else "",
        )

    def _full(self, index: int, after: Counts, own: list[DriverRow]) -> str:
        """Why a stage's destination takes no document now, or the empty string."""
        name = self._stages[index].name
        with contextlib.suppress(OSError):  # a folder that can not be looked at is told with its queue
            if words := no_space(self._queues[name].folder):
                return f"queue {name} is full: {words}"
        held = after.ready + after.writing + after.failed
        limited = 0 < self._max_files <= held and index < len(self._stages) - 1
        if limited:
            return f"queue {name} is full: {held} of {several(self._max_files, 'document')}"
        told = ((row.number, paused(self._root, row.number, row.since)) for row in own)
        return next((f"queue {name}: driver {number} is paused, {why}" for number, why in told if why), "")

    def _rate(self, stage: str, docs: int) -> float:
        samples, now = self._samples[stage], time.monotonic()
        samples.append((now, docs))
        while now - samples[0][0] > WINDOW and len(samples) > 2:
            samples.popleft()
        (first, before), span = samples[0], now - samples[0][0]
        return max(0.0, (docs - before) / span) if span > 0 and first < now else 0.0

    # ---- folders -----------------------------------------------------------------------------------------------------

    def numbers(self) -> list[str]:
        """The numbers of all worker folders, ascending."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return sorted((n for n in map(worker_number, os.listdir(self._root)) if n is not None), key=int)
        return []

    def stage_of(self, number: str) -> str:
        """The stage that a driver works for, by its parameter file; the empty string for none of these."""
        path = f"{worker_folder(self._root, number)}/worker.par"
        try:
            dst = read_parameters(path, lambda name: tail_of(name, 65536)).values.get("disk_queue_dst", "")
        except ParameterError:
            return ""
        for stage in self._stages:
            if dst == queue_folder(self._root, stage.name):
                return stage.name
        return ""


# ---- drilling down -------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Where a document is found."""

    queue: str
    state: names.State
    number: str  # of the driver that holds it


class DocumentView(NamedTuple):
    """All that is known of one document."""

    id: str
    places: tuple[Place, ...]
    attempts: tuple[tuple[str, Line], ...]  # (queue, line of its record), oldest first
    history: tuple[DocumentRow, ...]  # of the rows that were given, oldest first


def document(view: PipelineView, id: str) -> DocumentView:
    """Look one document up in every queue. It reads the record of attempts and lists the queues: for a drill-down."""
    places: list[Place] = []
    attempts: list[tuple[str, Line]] = []
    for queue in view.queues:
        attempts += ((queue.name, line) for line in read_record(tail_of(f"{queue.folder}/{names.attempts(id)}", 65536)))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(queue.folder) as found:
            for entry in found:
                if entry.name.startswith(id) and entry.is_file(follow_symlinks=False):
                    item = names.parse(entry.name)
                    if isinstance(item, names.Item) and item.id == id:
                        places.append(Place(queue.name, item.state, item.number))
    history = tuple(sorted(row for row in view.documents if row.id == id))
    return DocumentView(id, tuple(places), tuple(attempts), history)


def given_up(root: str, stages: tuple[Stage, ...], id: str = "") -> list[tuple[str, str]]:
    """Queue and id of every document that failed twice with its input kept, or of one; raises OSError."""
    found: list[tuple[str, str]] = []
    for name in (START, *(stage.name for stage in stages)):
        folder = queue_folder(root, name)
        items = map(names.parse, sorted_out(folder)[0] if os.path.isdir(folder) else ())
        kept = (item.id for item in items if isinstance(item, names.Item) and item.state == "kept")
        found += ((name, one) for one in kept if id in ("", one))
    return sorted(found)


def documents(folder: str, state: names.State, limit: int = 200) -> tuple[str, ...]:
    """Ids of documents in one state, at most ``limit``, by name; of more, whichever the folder gives."""
    ids: list[str] = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as found:
        for entry in found:
            item = names.parse(entry.name)
            if isinstance(item, names.Item) and item.state == state and entry.is_file(follow_symlinks=False):
                ids.append(item.id)
                if len(ids) == limit:
                    break
    return tuple(sorted(ids))
