"""What a watchdog leaves in the root for other processes: the state of each stage, and why it stopped.

The rules of this file:

- It is written when something changes and once more at the end, so a record that was never ended is of a watchdog that
  was killed.
- Readers only show it. A record that can not be read counts as none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from engine.files import safely
from engine.protocols.diskqueue.config import NO_TIMES, DriverTimes
from engine.protocols.diskqueue.pipeline import (
    CAME_SINCE,
    NEVER_RUN,
    DriverRow,
    Stage,
    StageRow,
    StageState,
    WatchState,
)

RECORD = "watchdog.json"
MOST = 256 * 1024  # bytes of it
WIPED_OUT = "its watchdog ended without a word"

T = TypeVar("T")
_STATES: dict[str, StageState] = {"running": "running", "paused": "paused", "stopped": "stopped", "done": "done"}


class StageTold(NamedTuple):
    """One stage, as its watchdog saw it last."""

    state: StageState
    reason: str
    wanted: int  # drivers
    restarts: int
    times: DriverTimes  # of all its drivers; up to date once the watchdog has ended


class WatchRecord(NamedTuple):
    """All of them by name. ``ended``: why the watchdog ended; empty while it runs, and where it was killed."""

    ended: str
    stages: dict[str, StageTold]


class Scribe:
    """Writes down what changes."""

    def __init__(self, root: str) -> None:
        self._path = f"{root}/{RECORD}"
        self._last: object = None

    def note(self, rows: Sequence[StageRow], ended: str = "") -> None:
        """The stages as they are now. A disk that is full leaves the record as it was."""
        seen = ended, [(row.name, row.state, row.reason, row.wanted, row.restarts) for row in rows]
        if seen == self._last:
            return
        told = [[row.name, row.state, row.reason, row.wanted, row.restarts, list(row.times)] for row in rows]
        with suppress(OSError):
            safely.replace(self._path, json.dumps({"ended": ended, "stages": told}, indent=1).encode())
            self._last = seen


def read_back(root: str) -> WatchRecord | None:
    """What the watchdog of this root has left; None where there is nothing that can be read."""
    try:
        found = json.loads(safely.read(f"{root}/{RECORD}", MOST))
        stages = {name: _stage(state, *rest) for name, state, *rest in found["stages"]}
        return WatchRecord(_fit(found["ended"], str), stages)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def told_of(told: WatchRecord | None, stage: Stage, state: WatchState, rows: tuple[DriverRow, ...]) -> StageTold:
    """A stage as another process's watchdog describes it, or left it."""
    kept = told.stages.get(stage.name) if told else None
    known = kept or StageTold("stopped", NEVER_RUN, stage.workers, 0, NO_TIMES)
    if state != "absent":  # it runs, and has just begun where it tells of nothing or of an end
        began = kept is None or told is None or told.ended
        return known._replace(state="running", reason="", times=NO_TIMES) if began else known._replace(times=NO_TIMES)
    if any(row.stage == stage.name for row in rows):
        return known._replace(state="running", reason="", times=NO_TIMES)
    if told is not None and not told.ended:
        return known._replace(state="stopped", reason=known.reason or WIPED_OUT)
    return known._replace(state="stopped", reason=CAME_SINCE) if known.state == "done" else known


def _stage(state: object, reason: object, wanted: object, restarts: object, times: object) -> StageTold:
    work, wait, block, overhead, docs = (float(one) for one in _fit(times, list))
    spent = DriverTimes(work, wait, block, overhead, int(docs))
    return StageTold(_STATES[_fit(state, str)], _fit(reason, str), _fit(wanted, int), _fit(restarts, int), spent)


def _fit(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise ValueError(f"not a {kind.__name__}")
    found: T = value
    return found
