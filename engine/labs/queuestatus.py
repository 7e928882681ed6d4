"""What a status says of disk queues: drivers are workers, files are the backlog."""

from __future__ import annotations

from typing import Any

from engine.labs.status import Seen, totals
from engine.parts.plain import clean
from engine.parts.view import LedgerView
from engine.protocols.diskqueue.books import entries, whole
from engine.protocols.diskqueue.pipeline import NO_ERRORS, DriverRow, PipelineView, StageRow


def of_pipeline(view: PipelineView) -> Seen:
    """A pipeline. Its ledger is one listing, so nothing tells whether it balances."""
    entry = whole(entries([queue.counts for queue in view.queues]))
    failed = (("failed_twice", entry.failed_twice),) if entry.failed_twice else ()
    ledger = LedgerView(entry.total, entry.published, failed, entry.working, entry.waiting, 0)
    counters = {
        "attempts": sum(stage.docs for stage in view.stages),
        "restarts": sum(stage.restarts for stage in view.stages),
        "incidents": sum(incident.times for incident in view.incidents),
        "stopped_stages": sum(_stopped_by_errors(stage) for stage in view.stages),
        "wanted_drivers": sum(stage.wanted for stage in view.stages if stage.state == "running"),
    }
    drivers = [_driver(driver) for driver in view.drivers]
    every = totals((driver["state"], driver["slots"], driver["free"]) for driver in drivers)
    return Seen(every, drivers, [], ledger, counters, _queues(view), at=view.at, measured=False)


def _stopped_by_errors(stage: StageRow) -> bool:
    """One that has not begun yet, or ended with its pipeline, stands still without an error."""
    return stage.state == "stopped" and not stage.reason.startswith(NO_ERRORS)


def _driver(row: DriverRow) -> dict[str, Any]:
    held = 1 if row.document else 0
    return {
        "name": row.number,
        "key": None,
        "state": "drain" if row.leaving else "busy" if held else "ready",
        "slots": 1,
        "free": 1 - held,
        "in_flight": held,
        "done": None,
        "failed": None,
        "violations": None,
        "silent_s": None,
        "rtt_s": None,
        "stage": clean(row.stage),
        "pid": row.pid,
        "memory_bytes": row.memory,
    }


def _queues(view: PipelineView) -> list[dict[str, Any]]:
    return [
        {
            "name": clean(queue.name),
            "ready": queue.counts.ready,
            "working": queue.counts.working,
            "writing": queue.counts.writing,
            "failed": queue.counts.failed,
            "failed_twice": queue.counts.failed_twice,
            "strange": queue.counts.strange,
            "done": queue.counts.done,
            "trouble": clean(queue.trouble),
        }
        for queue in view.queues
    ]
