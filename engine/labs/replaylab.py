"""A journal as a lab: snapshots, events and messages of any moment of a recording. It takes no orders.

The rules of this file:

- What is shown depends on the position alone, whichever way it was reached.
- The journal is played once when it is opened: for its events, for pictures four times a second, and to compare what
  the cores answer with what was recorded. A core that can not take a record ends the replay there, and it is said.
- A trace that is attached holds the messages of the last ``WINDOW`` records before the position, or more.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

from engine.core import Exit, Inspect, Note, Ordered, Received
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.codec import Unreadable
from engine.journal.journal import EVENT, SEAT
from engine.labs.brokers import FIRST, SECOND
from engine.labs.live import Health
from engine.labs.replay import Replay, Step
from engine.parts.view import BrokerView, ClientView
from engine.tracing.trace import Trace

EVERY = 0.25  # recorded seconds between two samples; more where there would be more than SAMPLES
SAMPLES = 20_000
TOLD = 100_000  # events that are kept, the first of the recording
WINDOW = 2_000  # records


class Sample(NamedTuple):
    """The counts of one moment, for rates and charts."""

    record: int  # the position then
    at: float
    broker: BrokerView | None
    client: ClientView | None


class ReplayLab:
    """A replay from its beginning; raises Unreadable where a record is none.

    ``now`` and all times: monotonic seconds of the recording.
    """

    readonly = True

    def __init__(self, replay: Replay) -> None:
        for number, record in enumerate(replay.records):
            if not (isinstance(record, list) and len(record) > 2 and isinstance(record[1], int | float)):
                raise Unreadable(f"record {number} is none")
        self.replay = replay
        self.system, self.options = replay.system, replay.options
        self.started = replay.begin
        self.feed = Feed()
        self.broken = ""  # why the recording can not be played any further than ``last``
        self.last = len(replay)  # the last position
        self._traces: list[Trace] = []
        self._inspected: bytes | None = None
        self._facts: list[tuple[int, Note, str, float]] = []  # record, what was said, by whom, wall clock
        self._samples: list[Sample] = []
        self._play_all()
        self.endpoints = self._endpoints()
        self._seats = self._workers()  # by routing id
        self._at = self.started
        self.seek(0)

    # ---- where it stands --------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Records that have been played."""
        return self.replay.position

    @property
    def now(self) -> float:
        """The time that is shown, at or after the last record that was played."""
        return self._at

    @property
    def end(self) -> float:
        """The time of the last record that can be played."""
        return float(self.replay.records[self.last - 1][1]) if self.last else self.started

    def seek(self, position: int) -> None:
        """Go to a position, 0 to ``last``."""
        position = max(0, min(position, self.last))
        if self._traces and not 0 <= position - self.position <= WINDOW:
            self.replay.seek(position - WINDOW)
            for trace in self._traces:
                trace.clear()
        self.replay.seek(position, self._watch if self._traces else None)
        self._at = max(self.started, self.replay.now)
        self.show()

    def seek_time(self, at: float) -> None:
        """Go to a moment: everything that was recorded until then is played."""
        at = max(self.started, min(at, self.end))
        self.seek(bisect_right(self.replay.records, at, 0, self.last, key=lambda record: record[1]))
        self._at = at

    def step_message(self, forwards: bool = True) -> bool:
        """Go on, or back, until just after a core received messages; False at the end and at the beginning."""
        records, at = self.replay.records, self.position
        ways: Iterable[int] = range(at, self.last) if forwards else range(at - 2, -1, -1)
        found = next((way for way in ways if records[way][0] == EVENT and type(records[way][3]) is Received), None)
        self.seek(found + 1 if found is not None else self.last if forwards else 0)
        return found is not None

    def samples(self, seconds: float) -> list[Sample]:
        """What stood in so many seconds before the position, oldest first."""
        until = bisect_left(self._samples, self.position, key=lambda sample: sample.record)
        since = bisect_left(self._samples, self.now - seconds, 0, until, key=lambda sample: sample.at)
        return self._samples[since:until]

    def show(self) -> None:
        """Put the snapshots and events of the position into a new feed."""
        self.feed = Feed()
        for name, picture in self._pictures().items():
            self.feed.show(name, picture)
        for _, note, source, at in self._facts[: bisect_left(self._facts, self.position, key=lambda fact: fact[0])]:
            self.feed.fact(note, source, at)

    # ---- what a lab is asked ----------------------------------------------------------------------------------------

    def health(self) -> Health:
        """A recording has no threads."""
        return Health((f"the recording can not be played any further: {self.broken}",) if self.broken else (), 0.0)

    def runs(self) -> list[dict[str, Any]]:
        """None: a recording holds no kept runs."""
        return []

    def inspect(self, key: bytes | None) -> None:
        """Show the details of one worker in the broker's pictures; None: of nobody."""
        self._inspected = key
        self.show()

    def seat_of(self, key: bytes) -> str | None:
        """The seat of the worker with this routing id."""
        return self._seats.get(key)

    def attach(self, trace: Trace) -> None:
        """Show a trace the messages before the position, and all that are played from now on."""
        trace.replays(self.replay, self.last)
        self._traces.append(trace)
        position = self.position
        self.replay.seek(position - WINDOW)
        self.replay.seek(position, trace.step)

    def detach(self, trace: Trace) -> None:
        """Detach a trace."""
        self._traces.remove(trace)

    def _order(self, *_: object, **__: object) -> NoReturn:
        raise Refused("a recording takes no orders: it shows what was")

    run = ping = stop_run = add_workers = remove_workers = stop_worker = _order
    bulk = endbulk = register = deregister = order_client = pull_plug = hand_back = withdraw = operate = _order

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _endpoints(self) -> tuple[str, ...]:
        made = (record for record in self.replay.records[: self.last] if record[0] == SEAT and record[5] == "broker")
        bound: list[str] = next((record[6][0] for record in made), [])
        return tuple(endpoint for endpoint in bound if not endpoint.startswith("inproc:")) or tuple(bound)

    def _workers(self) -> dict[bytes, str]:
        found: dict[bytes, str] = {}
        for record in self.replay.records[: self.last]:
            if record[0] == SEAT and record[5] == "worker":
                _, _, _, _, name, _, args, world = record
                found[self.system.worker(self.options, *args, **world).sockets[0].routing_id] = name
        return found

    def _play_all(self) -> None:
        every = max(EVERY, (self.replay.end - self.started) / SAMPLES)
        due = self.started
        try:
            while self.replay.step(self._note):
                if self.replay.now >= due:
                    self._samples.append(self._sample())
                    due = self.replay.now + every
        except Exception as error:  # recorded with other rules, or made up: what came before it stands
            words = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
            self.last, self.broken = self.replay.position, words

    def _note(self, step: Step) -> None:
        wall = self.replay.about.started + step.at - self.replay.about.monotonic
        for command in step.commands:
            if type(command) is Note:
                self._told(step, command, wall)
            elif type(command) is Exit:
                level, words = "bad" if command.failed else "info", f"{step.name} left: {command.reason}"
                self._told(step, Note(level, words), wall)  # type: ignore[arg-type]

    def _told(self, step: Step, note: Note, wall: float) -> None:
        if len(self._facts) < TOLD:
            self._facts.append((step.record, note, step.node, wall))

    def _sample(self) -> Sample:
        now = self.replay.now
        core, client = self._broker(), self.replay.core("client", "client")
        return Sample(
            self.position, now, core.snapshot(now) if core else None, client.snapshot(now) if client else None
        )

    def _broker(self) -> Any:
        """The broker that serves; of a pair where none does, the first."""
        cores = [core for name in (FIRST, SECOND) if (core := self.replay.core(name, name)) is not None]
        if len(cores) > 1:
            return next((core for core in cores if core.snapshot(self.replay.now).serving), cores[0])
        return cores[0] if cores else None

    def _pictures(self) -> dict[str, Any]:
        shown = self.replay.pictures()
        core = self._broker()
        if core is not None:
            if self._inspected is not None:
                core = copy.deepcopy(core)  # an order would make it another one than the recorded
                core.handle(Ordered(Inspect(self._inspected)), self.replay.now)
            shown[FIRST] = core.snapshot(self.replay.now)
        return shown

    def _watch(self, step: Step) -> None:
        for trace in self._traces:
            trace.step(step)
