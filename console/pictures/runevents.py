"""Bulk runs as events: that one has begun, and how it ended."""

from __future__ import annotations

from console import units
from console.text import clean
from engine.core import Level, Note
from engine.parts.bulk import BulkSpec, BulkView, Verdict

LEVELS: dict[Verdict, Level] = {"pass": "good", "fail": "bad", "stopped": "warn"}


class RunEvents:
    """Follows the newest run of a lab. What had begun before the first look is told when it ends."""

    def __init__(self) -> None:
        self._looked = False
        self._spec: BulkSpec | None = None  # of the newest run; each run has one of its own
        self._ended = False

    def look(self, run: BulkView | None) -> Note | None:
        """What is new of a run: that it has begun, or how it ended; of one that began and ended unseen, its end."""
        spec = run.spec if run is not None else None
        first, same = not self._looked, spec is self._spec
        ended = run is not None and run.state == "ended"
        before, self._ended = same and self._ended, ended
        self._looked, self._spec = True, spec
        if run is None or (first and ended) or (same and ended == before):
            return None
        if ended:
            return Note(LEVELS[run.verdict], outcome(run))
        return None if first or same else Note("info", f"{name(run.spec)} has begun")


def name(spec: BulkSpec) -> str:
    """What is run."""
    return f"{'bulk' if spec.n > 1 else ''}{spec.kind} {units.count(spec.n)}"


def outcome(run: BulkView) -> str:
    """How a run ended: verdict, what failed, rate and p99."""
    ledger = run.ledger
    parts = [run.verdict.upper()]
    if ledger.succeeded < run.spec.n:
        parts.append(f"{units.count(ledger.succeeded)} succeeded")
    parts += [f"{clean(kind)} {units.count(n)}" for kind, n in ledger.failed]
    if run.elapsed > 0 and ledger.succeeded:
        parts.append(f"{units.short(ledger.succeeded / run.elapsed)}/s")
    if run.service.max > 0:
        parts.append(f"p99 {units.duration(run.service.p99)}")
    return f"{name(run.spec)}: {', '.join(parts)}"
