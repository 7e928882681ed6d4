"""Kept runs for other programs: a table in CSV.

A cell of text that a spreadsheet would take for a formula is given an apostrophe in front, which shows it as text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from engine.runs.record import RunRecord, run_id

FORMULA = ("=", "+", "-", "@", "\t", "\r")

PLAIN = (
    "started_at", "system", "transport", "lane", "kind", "verdict", "requested", "sent", "succeeded", "elapsed_s",
    "rate_per_s", "bytes", "in_flight", "workers", "slots", "timeout_s", "warmup", "rate_asked", "legs_missing",
)  # fmt: skip
FIGURES = ("min", "mean", "p50", "p90", "p95", "p99", "p999", "max")
LISTS = ("first_failed", "timeline")  # what does not go into a cell; also the ``buckets`` of latencies
INNER = (
    ("rate_missed", ("asked", "reached")),
    ("service_us", FIGURES),
    ("planned_us", FIGURES),
    ("clock", ("same", "offset", "error")),
    ("observer", ("loop_lag_us", "refresh_hz")),
    ("ledger", ("failed", "in_flight", "queued", "dropped", "balanced")),
)
LEGS = ("client", "backlog", "worker", "return")


def to_csv(runs: Iterable[RunRecord]) -> str:
    """A head and a line a run (RFC 4180). Nested keys are joined by dots; what was not measured is an empty cell."""
    file = io.StringIO()
    writer = csv.writer(file)
    for number, run in enumerate(runs):
        cells = _cells(run)
        if not number:
            writer.writerow(cells)
        writer.writerow([_safe(value) for value in cells.values()])
    return file.getvalue()


def _cells(run: RunRecord) -> dict[str, Any]:
    of: dict[str, Any] = dict(run)
    cells = {"run": run_id(run)} | {name: of[name] for name in PLAIN}
    for name, keys in INNER:
        cells |= {f"{name}.{key}": of[name][key] if of[name] else None for key in keys}
    cells |= {
        f"legs_us.{leg}.{key}": of["legs_us"][leg][key] if of["legs_us"] else None for leg in LEGS for key in FIGURES
    }
    cells["failed"] = ", ".join(f"{kind} {n}" for kind, n in run["failed"].items())
    cells["versions"] = ", ".join(f"{what} {which}" for what, which in run["versions"].items())
    return cells


def _safe(value: object) -> object:
    """A value as a cell: no text in it is a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
