"""The record of a bulk run: made from what the client and the broker saw, and read back with care.

The rules of this file:

- A record is the JSON object of schema ``roundhouse.run/1``; its keys are a contract with whoever reads run files.
- What was not measured is null (``planned_us`` without a rate, ``legs_us`` of tasks that no broker here has seen),
  never zero and never left out.
- Keys that came later than the schema are filled in where an older record lacks them: nothing was left out then.
- What is read back may come from anywhere: it has every key with the right type or it is refused with the reason.
  Keys that are not known here are ignored, so a newer version's files can be shown.
"""

from __future__ import annotations

import json
import math
import platform
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, cast

from engine import __version__
from engine.parts.bulk import Bulk, BulkSpec, Verdict
from engine.parts.clocks import SAME, Offset
from engine.parts.histogram import Summary
from engine.parts.legs import join
from engine.parts.view import BrokerLeg, BrokerView, ClientView, LedgerView
from engine.runs.spans import TaskTrace, traces
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


class Afar(NamedTuple):
    """What a broker elsewhere told of a run: its legs and clock offset, or what is ``missing``, in words."""

    legs: tuple[BrokerLeg, ...]
    offset: Offset | None
    missing: str | None


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
PARTS = 16  # buckets of a record between a duration and its double


class Crew(NamedTuple):
    """The workers that a run had, and their slots together; None: not known."""

    workers: int | None
    slots: int | None


class Watch:
    """How late the engine and how slow the screen was during a run; any thread may report."""

    def __init__(self) -> None:
        self._lag: float | None = None
        self._hertz: float | None = None
        self._ended = False
        self._crew: Crew | None = None

    def look(self, lag: float, hertz: float | None) -> None:
        """The slowest loop is so many seconds late now, a screen is drawn so often a second; None: there is none."""
        if self._ended:
            return
        self._lag = max(lag, self._lag or 0.0)
        if hertz is not None:
            self._hertz = min(hertz, hertz if self._hertz is None else self._hertz)

    def end(self) -> None:
        """Stop counting: later records of this run stay the same."""
        self._ended = True

    def crew(self, broker: BrokerView | None) -> Crew:
        """The workers of this broker; after the run, those that were there when first asked."""
        if self._crew is not None:
            return self._crew
        crew = Crew(None, None)
        if broker is not None:
            there = [row.slots for row in broker.workers if row.state not in ("lost", "drain")]
            crew = Crew(len(there), sum(there))
        if self._ended:
            self._crew = crew
        return crew

    def view(self) -> Observer | None:
        """The worst values; None if nothing was reported."""
        if self._lag is None:
            return None
        hertz = None if self._hertz is None else round(self._hertz, 2)
        return Observer(loop_lag_us=round(self._lag * 1e6, 3), refresh_hz=hertz)


@dataclass(frozen=True)
class RunReport:
    """A run that is about to begin; make it just before, so that both clocks are read at the start."""

    system: str
    transport: str  # tcp, inproc, ipc
    spec: BulkSpec
    started: datetime = field(default_factory=lambda: datetime.now(UTC).astimezone())
    since: float = field(default_factory=time.monotonic)  # samples from before belong to an earlier run
    watch: Watch = field(default_factory=Watch)
    lane: str | None = None

    def document(
        self, client: ClientView, client_id: bytes, broker: BrokerView | None, afar: Afar | None = None
    ) -> RunRecord:
        """The run so far or at its end. ``broker``: its picture where it is at hand, for the crew and the legs.

        ``afar``: what one elsewhere told.
        Raises ValueError where the client has had no run.
        """
        run = client.run
        if run is None:
            raise ValueError("the client has had no run")
        if run.state == "ended":
            self.watch.end()
        crew = self.watch.crew(broker)
        ours = [leg for leg in client.legs if leg.sent >= max(self.since, run.warm_at)]
        theirs = broker.legs if broker else afar.legs if afar else ()
        offset = (afar.offset if afar else None) or SAME
        legs = join(client_id, ours, theirs, offset)
        return RunRecord(
            schema=SCHEMA,
            kind=self.spec.kind,
            system=self.system,
            transport=self.transport,
            lane=self.lane,
            requested=self.spec.n,
            sent=run.sent,
            succeeded=run.ledger.succeeded,
            failed=dict(run.ledger.failed),
            first_failed=dict(run.first_failed),
            elapsed_s=run.elapsed,
            rate_per_s=run.ledger.succeeded / run.elapsed if run.elapsed > 0 else 0.0,
            bytes=run.bytes,
            in_flight=self.spec.in_flight,
            workers=crew.workers,
            slots=crew.slots,
            timeout_s=self.spec.timeout,
            warmup=run.warmup,
            rate_asked=self.spec.rate,
            rate_missed=Missed(asked=self.spec.rate, reached=run.reached) if self.spec.rate and run.reached else None,
            service_us=_durations(run.service, run.histogram),
            planned_us=_durations(run.planned, run.planned_histogram) if run.planned else None,
            legs_us=cast(Legs, {name: _durations(of.summary(), of.buckets()) for name, of in legs.items()})
            if legs
            else None,
            observer=self.watch.view(),
            ledger=_books(run.ledger),
            timeline=tuple(
                Second(second=of.second, succeeded=of.succeeded, failed=of.failed, p99=of.p99 and round(of.p99, 3))
                for of in run.timeline
            ),
            verdict=run.verdict,
            started_at=self.started.isoformat(timespec="microseconds"),
            versions=versions(),
            clock=_clock(afar.offset) if afar and afar.offset else None,
            legs_missing=afar.missing or (None if legs else "the broker noted none of these tasks") if afar else None,
        )

    def traces(
        self, client: ClientView, client_id: bytes, broker: BrokerView | None, afar: Afar | None = None
    ) -> list[TaskTrace]:
        """Its sampled tasks, those of the warm-up too, with their legs. The arguments are those of ``document``."""
        ours = [leg for leg in client.legs if leg.sent >= self.since]
        theirs = broker.legs if broker else afar.legs if afar else ()
        ahead = ((afar.offset if afar else None) or SAME).seconds
        return traces(self.system, client_id, ours, theirs, self.started.timestamp() - self.since, ahead)

    def nothing(self) -> RunRecord:
        """The record of a run that sent nothing because no broker was there."""
        bulk = Bulk(self.spec, 0.0)
        bulk.stop(0.0)
        return self.document(ClientView(0.0, False, bulk.view(0.0), 0), b"", None)


def versions() -> dict[str, str]:
    """What a run depended on."""
    import zmq

    from engine.drive.pump.chosen import PUMP, cores

    return {
        "roundhouse": __version__,
        "python": platform.python_version(),
        "pyzmq": zmq.__version__,
        "libzmq": zmq.zmq_version(),
        "pump": PUMP.name,
        "cores": cores(),
    }


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


def _durations(of: Summary, buckets: Iterable[tuple[float, float, int]]) -> Durations:
    figures = {name: round(value, 3) for name, value in of._asdict().items()}
    return cast(Durations, {**figures, "buckets": _coarser(buckets)})


def _coarser(buckets: Iterable[tuple[float, float, int]]) -> tuple[tuple[float, int], ...]:
    """Fewer buckets: a record is for people and plots, and the percentiles beside it are exact."""
    found: dict[int, tuple[float, int]] = {}
    for _, high, n in buckets:
        part = math.ceil(math.log2(high) * PARTS)
        found[part] = (round(high, 3), n + found.get(part, (0.0, 0))[1])
    return tuple(found.values())


def _books(of: LedgerView) -> Books:
    return Books(
        sent=of.sent,
        succeeded=of.succeeded,
        failed=sum(n for _, n in of.failed),
        in_flight=of.in_flight,
        queued=of.queued,
        dropped=of.dropped,
        balanced=of.balanced,
    )


def _clock(of: Offset) -> Clock:
    return Clock(same=of.same, offset=round(of.seconds * 1e6, 3), error=round(of.error * 1e6, 3))


def duration(us: float) -> str:
    """Microseconds for people."""
    if us < 999.5:  # what rounds to the next unit is written in it
        return f"{us:.0f} µs"
    return f"{us / 1e3:.2f} ms" if us < 999_995 else f"{us / 1e6:.2f} s"
