"""Makes the record of a bulk run from what the client and the broker saw, and from what watching cost the engine."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, cast

from engine import __version__
from engine.parts.bulk import Bulk, BulkSpec
from engine.parts.clocks import SAME, Offset
from engine.parts.histogram import Summary
from engine.parts.legs import join
from engine.parts.view import BrokerLeg, BrokerView, ClientView, LedgerView
from engine.runs.record import SCHEMA, Books, Clock, Durations, Legs, Missed, Observer, RunRecord, Second
from engine.runs.spans import TaskTrace, traces


class Afar(NamedTuple):
    """What a broker elsewhere told of a run: its legs and clock offset, or what is ``missing``, in words."""

    legs: tuple[BrokerLeg, ...]
    offset: Offset | None
    missing: str | None


PARTS = 16  # buckets of a record between a duration and its double


class WorkerCount(NamedTuple):
    """The workers that a run had, and their slots together; None: not known."""

    workers: int | None
    slots: int | None


class Watch:
    """How late the engine and how slow the screen was during a run; any thread may report."""

    def __init__(self) -> None:
        self._lag: float | None = None
        self._hertz: float | None = None
        self._ended = False
        self._crew: WorkerCount | None = None

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

    def crew(self, broker: BrokerView | None) -> WorkerCount:
        """The workers of this broker; after the run, those that were there when first asked."""
        if self._crew is not None:
            return self._crew
        crew = WorkerCount(None, None)
        if broker is not None:
            there = [row.slots for row in broker.workers if row.state not in ("lost", "drain")]
            crew = WorkerCount(len(there), sum(there))
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
