"""A pipeline in words and as JSON: where each document is, by its name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from console import units
from console.text import clean
from engine.drive.queueview import sorted_out
from engine.protocols.diskqueue.books import Account, Entry, account, whole
from engine.protocols.diskqueue.pipeline import DriverRow, PipelineView, StageRow

SCHEMA = "roundhouse.pipeline/1"
NAMED = 20  # documents of a stage that failed twice and are named in a table; the JSON names all
HEAD = ("stage", "state", "drivers", "published", "failed twice", "waiting", "working", "attempts", "restarts", "work")
DRIVERS = ("driver", "stage", "pid", "memory", "cpu", "attempts", "document")


class Report(NamedTuple):
    """A picture, and the account of what is in its queues at that time."""

    view: PipelineView
    account: Account


def report_of(view: PipelineView) -> Report:
    """Read the names in all queues."""
    found = account([listing(queue.folder) for queue in view.queues])
    # While a document is passed on, it is listed in two places.
    return Report(view, found._replace(twice=()) if view.drivers else found)


def listing(folder: str) -> list[str]:
    """The names of the files in a folder; none where it is not there."""
    with suppress(OSError):
        return sorted_out(folder)[0]
    return []


def table(report: Report) -> str:
    """A line for each stage, a line for each driver that runs, and what the sum of it is."""
    view = report.view
    stages = [HEAD, *(_stage(report, place) for place in range(len(view.stages)))]
    text = _columns(stages, left=2)
    if view.drivers:
        text += "\n" + _columns([DRIVERS, *map(_driver, view.drivers)], left=2, last_left=True)
    return f"{text}\n{totals(report)}"


def _stage(report: Report, place: int) -> tuple[str, ...]:
    row, entry = report.view.stages[place], report.account.stages[place]
    each = units.duration(row.times.work / row.docs * 1e6) if row.docs else "-"
    counts = (entry.published, entry.failed_twice, entry.waiting, entry.working, row.docs, row.restarts)
    return (row.name, _state(report.view, row), f"{row.running}/{row.wanted}", *map(units.count, counts), each)


def _state(view: PipelineView, row: StageRow) -> str:
    """In one word; of a stage without drivers, that they are to come or have left."""
    if row.state != "running" or row.running:
        return row.state
    return "stopping" if view.state == "stopping" else "restarting" if row.restarts else "starting"


def _driver(row: DriverRow) -> tuple[str, ...]:
    numbers = (str(row.pid), units.size(row.memory), f"{row.cpu:.0f} %", units.count(row.times.docs))
    return (row.number, row.stage or "-", *numbers, clean(row.document, 60) or "-")


def totals(report: Report) -> str:
    """The documents that are accounted for; the names of those that failed twice, and what stops a stage."""
    found, lines = report.account, []
    parts = [f"{units.count(n)} {name}" for name, n in _named(whole(found.stages)) if n or name == "published"]
    lines.append(f"{units.several(found.documents, 'document')}: {', '.join(parts)}")
    for stage, ids in zip(report.view.stages, found.failed_twice, strict=True):
        if ids:
            more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
            lines.append(f"failed twice in {stage.name}: {' '.join(clean(id, 200) for id in ids[:NAMED])}{more}")
        if stage.reason:
            lines.append(f"{stage.name} is stopped: {clean(stage.reason)}")
        elif stage.full:
            lines.append(f"{stage.name} waits: {clean(stage.full)}")
    lines += [f"queue {queue.name}: {clean(queue.trouble)}" for queue in report.view.queues if queue.trouble]
    if found.twice:
        lines.append(f"in more than one place: {' '.join(clean(id, 200) for id in found.twice[:NAMED])}")
    return "".join(f"{line}\n" for line in lines)


def _named(entry: Entry) -> list[tuple[str, int]]:
    return [(name.replace("_", " "), n) for name, n in entry._asdict().items()]


def _columns(rows: Iterable[tuple[str, ...]], left: int, last_left: bool = False) -> str:
    """Rows under each other, so many columns at the left and numbers at the right."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    lines = []
    for cells in listed:
        last = len(cells) - 1
        shown = [
            cell.ljust(width) if place < left or (last_left and place == last) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(shown).rstrip() + "\n")
    return "".join(lines)


def document(report: Report) -> str:
    """The same as JSON, ``SCHEMA``; seconds and bytes."""
    view, found = report.view, report.account
    stages: list[dict[str, Any]] = [
        {
            "name": row.name,
            "state": row.state,
            "reason": row.reason,
            "full": row.full,
            "workers": row.wanted,
            "running": row.running,
            **entry._asdict(),
            "failed_twice": list(ids),
            "attempts": row.docs,
            "restarts": row.restarts,
            "rate_per_s": round(row.rate, 3),
            "times_s": {name: round(value, 3) for name, value in row.times._asdict().items() if name != "docs"},
        }
        for row, entry, ids in zip(view.stages, found.stages, found.failed_twice, strict=True)
    ]
    drivers = [
        {
            "number": row.number,
            "stage": row.stage,
            "pid": row.pid,
            "memory_bytes": row.memory,
            "document": row.document,
            "attempts": row.times.docs,
        }
        for row in view.drivers
    ]
    content = {
        "schema": SCHEMA,
        "root": view.root,
        "state": view.state,
        "documents": {"total": found.documents, **whole(found.stages)._asdict(), "in_two_places": list(found.twice)},
        "stages": stages,
        "queues": [{"name": queue.name, **queue.counts._asdict(), "trouble": queue.trouble} for queue in view.queues],
        "drivers": drivers,
    }
    return json.dumps(content, indent=2) + "\n"
