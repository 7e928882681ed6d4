"""The queues and drivers of a recording at one moment, derived from the recorded operations.

The rules of this file:

- An operation that was answered has happened: a renamed file has its new name, a deleted one is gone. What a listing
  shows is there; what it does not show is gone only where the folder kept still.
- A driver is there from the moment it is started, or heard, until its watchdog sees it end.
- A scene is copied in the size of what lies in its queues, so that one can go back to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from engine.core import Start
from engine.drive.pipelineview import WINDOW
from engine.parts.view import Incident
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import NO_TIMES, DriverTimes, read_times
from engine.protocols.diskqueue.explain import number_of, stage_of
from engine.protocols.diskqueue.operations import Append, Done, List, Process, Remove, Rename, Take, Touch, WriteOut
from engine.protocols.diskqueue.pipeline import (
    Counts,
    DocumentRow,
    DriverRow,
    PipelineView,
    QueueRow,
    Stage,
    StageRow,
    Survey,
    WatchState,
    survey,
)
from engine.protocols.diskqueue.watchdog import Ended, Quit, Spawn, StageView


class Place(NamedTuple):
    """One queue."""

    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class _Driver:
    stage: str
    number: str
    pid: int = 0
    since: float = 0.0  # wall clock
    times: DriverTimes = NO_TIMES
    leaving: bool = False


class Scene:
    """``queues``: all of them, the first one first; ``stages`` stand between them."""

    def __init__(self, queues: Sequence[Place], stages: Sequence[Stage]) -> None:
        self.queues, self.stages = tuple(queues), tuple(stages)
        self.files: dict[str, dict[str, None]] = {place.folder: {} for place in queues}
        self.ready: dict[str, int] = dict.fromkeys(self.files, 0)
        self._drivers: dict[str, _Driver] = {}  # by seat
        self._buried: dict[str, DriverTimes] = {}  # by stage: what its ended drivers had done
        self._watch: WatchState = "absent"
        self._views: tuple[StageView, ...] = ()
        self.fresh: list[str] = []  # names that the last event brought
        self._surveys: dict[str, Survey] = {}  # of what has not changed since

    def copy(self) -> Scene:
        """One that goes on for itself."""
        other = Scene(self.queues, self.stages)
        other.files = {folder: dict(found) for folder, found in self.files.items()}
        other.ready, other._surveys = dict(self.ready), dict(self._surveys)
        other._drivers, other._buried = dict(self._drivers), dict(self._buried)
        other._watch, other._views = self._watch, self._views
        return other

    # ---- what happens -----------------------------------------------------------------------------------------------

    def seated(self, seat: str, pid: int, at: float) -> None:
        """Note a driver's first event, at a wall clock time."""
        before = self._drivers.get(seat, _Driver(stage_of(seat), number_of(seat)))
        self._drivers[seat] = replace(before, pid=pid, since=at)

    def left(self, seat: str) -> None:
        """Note a driver's end, unless a watchdog reports it."""
        if self._watch == "absent":
            self._bury(seat)

    def watched(self, state: WatchState, views: tuple[StageView, ...] = ()) -> None:
        """What the watchdog does, and how it sees the stages."""
        self._watch, self._views = state, views or self._views

    def happened(self, seat: str, event: object, commands: Iterable[object]) -> None:
        """One event of a core, and what came of it."""
        self.fresh.clear()
        match event:
            case Done(operation, "gone") if isinstance(operation, Take | Rename | Remove):
                self._discard(operation.folder, operation.name)
            case Done(operation, ""):
                self._done(seat, operation, event)
            case Ended(number):
                for known, driver in list(self._drivers.items()):
                    if driver.number == number:
                        self._bury(known)
        for command in commands:
            match command:
                case Spawn(stage, number):
                    known = f"{stage}.{number}"
                    self._drivers.setdefault(known, _Driver(stage, number))
                case Quit(number):
                    for known, driver in self._drivers.items():
                        if driver.number == number:
                            self._drivers[known] = replace(driver, leaving=True)
                case Start(_, Process() as work):
                    folder, _, name = work.output.rpartition("/")
                    self._add(folder, name)

    def _done(self, seat: str, operation: Any, answer: Done) -> None:
        match operation:
            case Take(folder, old, new) | Rename(folder, old, new):
                self._discard(folder, old)
                self._add(folder, new)
            case Remove(folder, name):
                self._discard(folder, name)
            case Touch(folder, name) | Append(folder, name):
                self._add(folder, name)
            case List(folder) if folder in self.files:
                found = {entry.name for entry in answer.entries}
                if answer.still:
                    for name in self.files[folder].keys() - found:
                        self._discard(folder, name)
                for name in found - self.files[folder].keys():
                    self._add(folder, name)
            case WriteOut(_, text):
                times, driver = read_times(text), self._drivers.get(seat)
                if driver is not None and times is not None:
                    self._drivers[seat] = replace(driver, times=times)

    def _add(self, folder: str, name: str) -> None:
        files = self.files.get(folder)
        if files is not None and name not in files:
            files[name] = None
            self.fresh.append(name)
            self.ready[folder] += _ready(name)
            self._surveys.pop(folder, None)

    def _discard(self, folder: str, name: str) -> None:
        files = self.files.get(folder)
        if files is not None and name in files:
            del files[name]
            self.ready[folder] -= _ready(name)
            self._surveys.pop(folder, None)

    def _bury(self, seat: str) -> None:
        driver = self._drivers.pop(seat, None)
        if driver is not None:
            self._buried[driver.stage] = self._buried.get(driver.stage, NO_TIMES).plus(driver.times)

    # ---- what is seen -----------------------------------------------------------------------------------------------

    def view(
        self,
        at: float,
        began: float,
        root: str,
        documents: tuple[DocumentRow, ...],
        incidents: tuple[Incident, ...],
    ) -> PipelineView:
        """The picture at a wall clock time, of what ``began`` then. ``documents``: what became of some, newest last."""
        surveys = [self._survey(place.folder) for place in self.queues]
        rows = tuple(
            self._row(driver, surveys)
            for driver in sorted(self._drivers.values(), key=lambda driver: (len(driver.number), driver.number))
        )
        queues = tuple(
            QueueRow(place.name, place.folder, seen.counts, "", seen.shown)
            for place, seen in zip(self.queues, surveys, strict=True)
        )
        counts = [seen.counts for seen in surveys]
        span = max(1.0, min(WINDOW, at - began))
        lately = Counter(row.stage for row in documents if row.at > at - span)
        stages = tuple(
            self._stage(stage, place, counts, rows, lately[stage.name] / span)
            for place, stage in enumerate(self.stages)
        )
        return PipelineView(at, root, self._watch, queues, stages, rows, documents, incidents)

    def _survey(self, folder: str) -> Survey:
        if folder not in self._surveys:
            self._surveys[folder] = survey(self.files[folder])
        return self._surveys[folder]

    def _row(self, driver: _Driver, surveys: Sequence[Survey]) -> DriverRow:
        held = (one.id for seen in surveys for one in seen.held if one[1:] == ("working", driver.number))
        return DriverRow(
            driver.number, driver.stage, driver.pid, driver.since, 0, 0.0, next(held, ""), driver.times, driver.leaving
        )

    def _stage(
        self, stage: Stage, place: int, counts: Sequence[Counts], rows: Sequence[DriverRow], rate: float
    ) -> StageRow:
        view = next((view for view in self._views if view.name == stage.name), None)
        own = [row for row in rows if row.stage == stage.name]
        times = self._buried.get(stage.name, NO_TIMES).plus(*(row.times for row in own))
        before, after = counts[place], counts[place + 1]
        done = before.done and not before.live and after.done
        return StageRow(
            stage.name,
            view.state if view else "done" if done else "running",
            view.reason if view else "",
            view.wanted if view else stage.workers,
            len(own),
            view.restarts if view else 0,
            times.docs,
            rate,
            times,
        )


def _ready(name: str) -> bool:
    item = names.parse(name)
    return isinstance(item, names.Item) and item.state == "ready"
