"""The record of a bulk run: JSON of schema ``roundhouse.run/1``, written, and read back with care.

The rules of this file:

- The keys of a record are a contract with whoever reads run files.
- What was not measured is null (``planned_us`` without a rate, ``legs_us`` of tasks that no broker here has seen),
  never zero and never left out.
- Keys that came later than the schema are filled in where an older record lacks them: nothing was left out then.
- What is read back may come from anywhere: it has every key with the right type or it is refused with the reason.
  Keys that are not known here are ignored, so a newer version's files can be shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypedDict

from engine.parts.bulk import Verdict
from engine.schema import Misfit, Range, fit

SCHEMA: Literal["roundhouse.run/1"] = "roundhouse.run/1"
MAX_RECORD = 256 * 1024  # bytes of a run file; ours have about 10,000
PAIR = re.compile(r"\[\s+([\d.e+-]+),\s+([\d.e+-]+)\s+\]")  # in JSON, over several lines

Count = Annotated[int, Range(0, 2**53)]
Amount = Annotated[float, Range(0, 2.0**53)]


class Durations(TypedDict):
    """A ``Summary`` in microseconds."""

    min: Amount
    mean: Amount
    p50: Amount
    p90: Amount
    p95: Amount
    p99: Amount
    p999: Amount
    max: Amount
    buckets: tuple[tuple[Amount, Count], ...]  # (to where a bucket reaches in µs, tasks in it), ascending


Legs = TypedDict("Legs", {"client": Durations, "backlog": Durations, "worker": Durations, "return": Durations})


class Second(TypedDict):
    """What happened from ``second`` after the start until the next one begins."""

    second: Amount
    succeeded: Count
    failed: Count
    p99: Amount | None  # µs; null where nothing was measured


class Books(TypedDict):
    """The client's ledger in tasks."""

    sent: Count
    succeeded: Count
    failed: Count
    in_flight: Count
    queued: Count
    dropped: Count
    balanced: bool


class Missed(TypedDict):
    """A rate that was not held, in tasks a second."""

    asked: Amount
    reached: Amount


class Observer(TypedDict):
    """What watching cost the engine."""

    loop_lag_us: Amount  # the most by which a loop of an engine thread was late for its timers
    refresh_hz: Amount | None  # the slowest that a screen was drawn meanwhile; null without one


class Clock(TypedDict):
    """The broker's monotonic clock less the client's, in µs."""

    same: bool  # it is one clock: the offset is 0
    offset: Annotated[float, Range(-(2.0**63), 2.0**63)]
    error: Amount


class RunRecord(TypedDict):
    """One run, as it is printed with ``--json`` and kept in a file."""

    schema: Literal["roundhouse.run/1"]
    kind: Literal["ping", "data"]
    system: str
    transport: str
    lane: str | None  # of the messages: seed, or the system's other; null in older records
    requested: Count
    sent: Count
    succeeded: Count
    failed: dict[str, Count]  # kind of failure → tasks
    first_failed: dict[str, tuple[Count, ...]]  # kind of failure → the first tasks of it, counted from 0
    elapsed_s: Amount
    rate_per_s: Amount  # tasks that succeeded, a second
    bytes: Count  # of payload received
    in_flight: Count  # the most that could be out at once
    workers: Count | None  # that had joined the broker and were not leaving, at the end; null where it is elsewhere
    slots: Count | None  # of those workers together
    timeout_s: float | None  # of each task
    warmup: Count  # replies to the first tasks, of which the latencies below tell the slowest alone, as max
    rate_asked: Amount | None  # tasks a second of an open loop
    rate_missed: Missed | None
    service_us: Durations  # from sending to the reply
    planned_us: Durations | None  # from when sending was due
    legs_us: Legs | None
    observer: Observer | None
    ledger: Books
    timeline: tuple[Second, ...]
    verdict: Verdict
    started_at: str  # RFC 3339 with offset
    versions: dict[str, str]
    clock: Clock | None  # of a broker elsewhere that was asked
    legs_missing: str | None  # why there are no legs, where the broker is elsewhere


LATER: dict[str, Any] = {
    "lane": None, "workers": None, "slots": None, "timeout_s": None, "warmup": 0, "rate_asked": None,
    "rate_missed": None, "observer": None, "first_failed": {}, "timeline": (),
    "clock": None, "legs_missing": None,
}  # fmt: skip


def run_id(run: RunRecord) -> str:
    """The name under which a run is kept: its start in UTC, so names sort by time, and its kind."""
    started = datetime.fromisoformat(run["started_at"]).astimezone(UTC)
    return f"{started:%Y%m%dT%H%M%S.%fZ}-{run['kind']}"


def way(run: RunRecord) -> str:
    """The system of a run, its transport, and its lane where that is known."""
    lane = f", lane {run['lane']}" if run["lane"] else ""
    return f"{run['system']} over {run['transport']}{lane}"


def to_json(run: RunRecord | Sequence[RunRecord]) -> str:
    """One record or several as text, one key or one bucket a line, newline at the end."""
    return PAIR.sub(r"[\1, \2]", json.dumps(run, indent=2, allow_nan=False)) + "\n"


def from_json(raw: bytes) -> RunRecord:
    """Read a record from text. Raises ``Misfit`` with the reason."""
    if len(raw) > MAX_RECORD:
        raise Misfit(f"larger than {MAX_RECORD} bytes")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Misfit(f"not JSON: {error}") from None
    return read(content)


def read(content: object) -> RunRecord:
    """Read a record from parsed JSON. Raises ``Misfit`` with the reason."""
    if not isinstance(content, Mapping) or content.get("schema") != SCHEMA:
        raise Misfit(f"not a run of schema {SCHEMA}")
    run: RunRecord = fit(_completed({**LATER, **content}), RunRecord)
    try:
        zoned = datetime.fromisoformat(run["started_at"]).tzinfo is not None
        run_id(run)
    except (ValueError, OverflowError):
        zoned = False
    if not zoned:
        raise Misfit(f"expected a time with its offset from UTC, got {run['started_at'][:40]!r}", "started_at")
    return run


def _completed(content: dict[str, Any]) -> dict[str, Any]:
    """With buckets wherever an older version had none."""
    legs = content.get("legs_us")
    places = [("service_us", content), ("planned_us", content)]
    if isinstance(legs, Mapping):
        content["legs_us"] = legs = dict(legs)
        places += [(name, legs) for name in legs]
    for name, of in places:
        if isinstance(of.get(name), Mapping):
            of[name] = {"buckets": (), **of[name]}
    return content


def duration(us: float) -> str:
    """Microseconds for people."""
    if us < 999.5:  # what rounds to the next unit is written in it
        return f"{us:.0f} µs"
    return f"{us / 1e3:.2f} ms" if us < 999_995 else f"{us / 1e6:.2f} s"
