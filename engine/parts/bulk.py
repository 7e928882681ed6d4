"""A bulk run, as a client core carries it out: what to send when, what came back, how long it took.

Closed loop: at most ``in_flight`` tasks are out and a reply makes room for the next. Open loop (``rate``): task *i* is
due at start + i / rate whatever has come back, and its planned latency counts from that moment, so a stall is charged
to everything that it delayed (no coordinated omission). With a rate, ``in_flight`` still bounds what is out: what the
bound holds back is sent late, and its planned latency shows it. ``reached`` says whether the rate was held.

The first tasks are a warm-up. They count in the ledger and in the rate. Of the latencies they count only in the
maximum, so a slow first task still shows.

Tasks are numbers 0..n-1; the client core maps them to ids on its wire.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal, NamedTuple

from engine.core import NEVER
from engine.parts.histogram import Histogram, Summary
from engine.parts.ledger import Ledger, LedgerView
from engine.parts.timeline import Point, Timeline

Kind = Literal["ping", "data"]
Verdict = Literal["pass", "fail", "stopped"]

WARMUP = 10  # one task in so many warms up …
MOST_WARMUP = 1_000  # … and no more than these
HELD = 0.99  # of the rate that was asked for: then it was held
FIRST = 5  # tasks of each kind of failure that are named …
KINDS = 20  # … of the first so many kinds
LATE = 0.01  # seconds that the last task may be late, however short the run: a timer is no more exact


class BulkSpec(NamedTuple):
    """What is asked for. ``tracked`` False: fire and forget (the seed's ``ping``), done when it is sent."""

    kind: Kind
    n: int
    size: int = 0  # bytes of payload asked for or sent with each task
    in_flight: int = 10
    rate: float | None = None  # tasks a second; None: closed loop
    timeout: float = 5.0  # seconds from sending to the reply
    tracked: bool = True
    tag: bytes = b""  # 12 random bytes: globally unique ids of 16 bytes, for a broker with a store

    @property
    def warmup(self) -> int:
        """The first so many tasks warm up; none of less than ten."""
        return min(self.n // WARMUP, MOST_WARMUP)


class BulkView(NamedTuple):
    """A run as an operator sees it, running or ended."""

    spec: BulkSpec
    state: Literal["running", "stopping", "ended"]
    stopped: bool  # by an operator, before all was sent
    sent: int
    ledger: LedgerView
    elapsed: float  # seconds, until now or the end
    service: Summary
    planned: Summary | None  # only with a rate
    histogram: tuple[tuple[float, float, int], ...]  # (low µs, high µs, count) of service time
    bytes: int  # payload received
    warmup: int = 0  # replies that count only in the maximum of the latencies
    warm_at: float = NEVER  # when the first task behind the warm-up was sent
    reached: float | None = None  # tasks a second that were sent, where a rate was asked for and is not held
    planned_histogram: tuple[tuple[float, float, int], ...] = ()  # of the latency as planned, only with a rate
    timeline: tuple[Point, ...] = ()
    first_failed: tuple[tuple[str, tuple[int, ...]], ...] = ()  # of each kind of failure the first tasks

    @property
    def passed(self) -> bool:
        """Ended, with everything asked for succeeded and the books in order."""
        ledger = self.ledger
        return self.state == "ended" and ledger.succeeded == self.spec.n and ledger.balanced

    @property
    def verdict(self) -> Verdict:
        """A run that was stopped before anything failed is no failure, and has not passed."""
        if self.passed:
            return "pass"
        well = self.ledger.balanced and self.sent > 0 and not self.ledger.failed
        return "stopped" if self.stopped and well else "fail"


class Bulk:
    """The state of one run. Every method takes monotonic ``now``."""

    def __init__(self, spec: BulkSpec, now: float) -> None:
        self.spec = spec
        self.started = now
        self.ended: float | None = None
        self.stopped = False
        self.bytes = 0
        self.ledger = Ledger()
        self.service = Histogram()
        self.planned = Histogram()
        self.warmed = 0  # replies of the warm-up
        self.warm_at = NEVER
        self._warmup = spec.warmup
        self._slowest = [0.0, 0.0]  # of the warm-up, in seconds: from sending, from when it was due
        # task → when it was sent, oldest first; a dict would look for it behind the places of all that came back
        self._out: OrderedDict[int, float] = OrderedDict()
        self._next = 0
        self._last = now  # when something was sent last
        self._timeline = Timeline(now)
        self._first_failed: dict[str, list[int]] = {}
        self._end(now)

    def due(self, now: float) -> int | None:
        """The next task, if it may be sent now; it counts as sent. Ask until None."""
        i = self._next
        if self.stopped or i >= self.spec.n or len(self._out) >= self.spec.in_flight:
            return None
        if self.spec.rate is not None and now < self._planned(i):
            return None
        self._next = i + 1
        self._last = now
        if i == self._warmup:
            self.warm_at = now
        self.ledger.sent += 1
        if self.spec.tracked:
            self._out[i] = now
        else:
            self.ledger.succeeded += 1
            self._end(now)
        return i

    def replied(self, task: int, now: float, size: int = 0) -> bool:
        """A right reply of ``size`` payload bytes; False if the task is not out."""
        sent = self._out.pop(task, None)
        if sent is None:
            return False
        if now > self._timeline.due:
            self._advance(now)
        self.ledger.succeeded += 1
        self.bytes += size
        if task < self._warmup:
            self.warmed += 1
            self._slowest = [max(self._slowest[0], now - sent), max(self._slowest[1], now - self._planned(task))]
        else:
            self.service.record(now - sent)
            if self.spec.rate is not None:
                self.planned.record(now - self._planned(task))
        if not self._out:
            self._end(now)
        return True

    def failed(self, task: int, kind: str, now: float) -> bool:
        """The task ended wrongly (``wrong data``, ``unsent``, ``full`` …); False if it is not out."""
        if self._out.pop(task, None) is None:
            return False
        if now > self._timeline.due:
            self._advance(now)
        self.ledger.fail(kind)
        first = self._first_failed
        if kind in first or len(first) < KINDS:
            named = first.setdefault(kind, [])
            if len(named) < FIRST:
                named.append(task)
        self._end(now)
        return True

    def expire(self, now: float) -> list[int]:
        """The tasks whose timeout has come; they have failed as ``timeout``."""
        gone = []
        for task, sent in self._out.items():
            if sent + self.spec.timeout > now:
                break
            gone.append(task)
        for task in gone:
            self.failed(task, "timeout", now)
        return gone

    def out(self, task: int) -> bool:
        """Whether a task was sent, and was neither answered nor given up."""
        return task in self._out

    def pending(self) -> list[int]:
        """The tasks that are out, oldest first: they are asked for again where an answer may have been lost."""
        return list(self._out)

    def stop(self, now: float) -> None:
        """Send nothing more; the run ends when nothing is out."""
        self.stopped = self.stopped or self._next < self.spec.n
        self._end(now)

    def wake_at(self, linked: bool = True) -> float:
        """When the next task is due or the oldest times out, NEVER when ended. For what may be sent now: ask due().

        A client that is not ``linked`` can send nothing, so only timeouts wake it, not due tasks.
        """
        if self.ended is not None:
            return NEVER
        at = NEVER
        if self._out:
            at = next(iter(self._out.values())) + self.spec.timeout
        paced = linked and self.spec.rate is not None and not self.stopped and self._next < self.spec.n
        if paced and len(self._out) < self.spec.in_flight:
            at = min(at, self._planned(self._next))
        return at

    def check(self) -> None:
        """The books balance and nothing is out that was not sent."""
        assert self.ledger.view(len(self._out), 0).balanced, "the ledger does not balance"
        assert len(self._out) <= self.spec.in_flight and all(task < self._next for task in self._out)
        if self.spec.tracked:
            assert self.ledger.succeeded == self.warmed + self.service.count, "a latency is missing or made up"

    def view(self, now: float) -> BulkView:
        """The picture for the screen and the run file."""
        state: Literal["running", "stopping", "ended"] = "stopping" if self.stopped else "running"
        if self.ended is not None:
            state = "ended"
        return BulkView(
            spec=self.spec,
            state=state,
            stopped=self.stopped,
            sent=self.ledger.sent,
            ledger=self.ledger.view(len(self._out), 0),
            elapsed=(now if self.ended is None else self.ended) - self.started,
            service=_with(self.service.summary(), self._slowest[0]),
            planned=_with(self.planned.summary(), self._slowest[1]) if self.spec.rate is not None else None,
            histogram=tuple(self.service.buckets()),
            bytes=self.bytes,
            warmup=self.warmed,
            warm_at=self.warm_at,
            reached=self._reached(),
            planned_histogram=tuple(self.planned.buckets()) if self.spec.rate is not None else (),
            timeline=self._timeline_view(now if self.ended is None else self.ended),
            first_failed=tuple((kind, tuple(tasks)) for kind, tasks in self._first_failed.items()),
        )

    def _advance(self, now: float) -> None:
        self._timeline.advance(now, self.ledger.succeeded, sum(self.ledger.failed.values()), self.service)

    def _timeline_view(self, now: float) -> tuple[Point, ...]:
        self._advance(now)
        return self._timeline.view(now, self.ledger.succeeded, sum(self.ledger.failed.values()), self.service)

    def _reached(self) -> float | None:
        """The rate at which tasks were sent, None where none was asked for or it was held."""
        rate, gaps = self.spec.rate, self._next - 1
        if rate is None or gaps < 1:
            return None
        took, planned = self._last - self.started, gaps / rate
        return gaps / took if took > planned / HELD and took > planned + LATE else None

    def _planned(self, task: int) -> float:
        return self.started + task / self.spec.rate if self.spec.rate else self.started

    def _end(self, now: float) -> None:
        if self.ended is None and not self._out and (self.stopped or self._next >= self.spec.n):
            self.ended = now


def _with(of: Summary, slowest: float) -> Summary:
    """With the slowest of the warm-up, in seconds, in its maximum; nothing where nothing else was measured."""
    return of._replace(max=max(of.max, slowest * 1e6)) if of.max > 0 else of
