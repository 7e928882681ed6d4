"""A recording of brokers as a lab: snapshots, events and messages of any moment."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from engine.core import Ordered, Received
from engine.errors import Refused
from engine.journal.codec import Unreadable
from engine.journal.format import EVENT, SEAT
from engine.journal.read import Reading
from engine.labs.brokers import FIRST, SECOND
from engine.labs.content import BrokerLab
from engine.labs.replay import Replay, Step
from engine.labs.timeline import Timeline
from engine.labs.why import why
from engine.parts.orders import Inspect
from engine.parts.view import BrokerView, ClientView
from engine.tracing.links import Arrow
from engine.tracing.trace import Trace


class Seen(NamedTuple):
    """The counts of one moment."""

    broker: BrokerView | None
    client: ClientView | None


class ReplayLab(Timeline, BrokerLab):
    """A replay from its beginning; raises Unreadable where a record is none."""

    window: ClassVar[int] = 2_000

    def __init__(self, reading: Reading, systems: Mapping[str, Any]) -> None:
        for number, record in enumerate(reading.records):
            if not (isinstance(record, list) and len(record) > 2 and isinstance(record[1], int | float)):
                raise Unreadable(f"record {number} is none")
        super().__init__(Replay(reading, systems))
        self._inspected: bytes | None = None
        self._play_all()
        played = self.replay.records[: self.last]
        self._moves = [at for at, one in enumerate(played, 1) if one[0] == EVENT and type(one[3]) is Received]
        self.endpoints = self._endpoints()
        self._seats = self._workers()  # by routing id
        self.seek(0)

    def show(self) -> None:
        """Put the snapshots and events of the position into a new feed."""
        super().show()
        for name, picture in self._pictures().items():
            self.feed.show(name, picture)

    # ---- what a lab is asked ----------------------------------------------------------------------------------------

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
        self.replay.seek(position - self.window)
        self.replay.seek(position, trace.step)

    def why(self, arrow: Arrow | None) -> str:
        """Why a task was given to a worker, of the message that gave it."""
        gives = arrow is not None and arrow.entry.decoded.leg == "give"
        given = next((end for end in arrow.ends if end.role == "broker"), None) if arrow is not None and gives else None
        if given is None or given.record is None:
            raise Refused("choose a message with which a broker gives a task")
        return why(self.replay, given.record, given.task)

    def why_last(self) -> str:
        """Why the task that was given last before the position went where it went."""
        trace = Trace(self.system)
        self.attach(trace)
        self.detach(trace)
        given = (entry for entry in reversed(trace.entries()) if entry.decoded.leg == "give" and entry.role == "broker")
        entry = next(given, None)
        if entry is None or entry.record is None:
            raise Refused("no task was given lately")
        return why(self.replay, entry.record, entry.task)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _is_told(self, step: Step) -> bool:
        return step.node == "pool" and self.replay.core(FIRST, FIRST) is not None

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

    def _go(self, position: int, since: int) -> None:
        if self._traces:
            self.replay.seek(since)
        self.replay.seek(position, self._watch if self._traces else None)

    def _sample(self) -> Seen:
        now = self.replay.now
        core, client = self._broker(), self.replay.core("client", "client")
        return Seen(core.snapshot(now) if core else None, client.snapshot(now) if client else None)

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
