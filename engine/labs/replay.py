"""Replay of a journal: forwards, backwards, and from any position.

Cores are deterministic, so the events are the whole history. Seeking back starts from a keyframe (a deep copy of every
core at some earlier record) and plays forward from there; the state before record *n* is therefore the same object
state whichever way it was reached. While playing, what the cores answer is compared with the recorded digests, and a
difference is kept in ``differences``: then the journal was made by other rules than the ones that run here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.core import Command, Core, Ordered, Send
from engine.journal.codec import Unreadable, kept
from engine.journal.format import DIGEST, EVENT, HEARD, LEFT, SEAT, crc
from engine.journal.read import HEAVY, Reading, read
from engine.labs.limits import MAX_SEATS, judge_order, judge_seat, options_of
from engine.labs.weight import weight
from engine.system import System
from engine.tracing.ring import Step as Step

KEYFRAMES = 48  # at most; the distance between them grows with the journal
NEAREST = 2000  # records between keyframes at least
ROOM = 10_000_000  # references in all keyframes together, each some dozen bytes
WORK = 2_000_000_000  # bytes that cores may send whatever was recorded, a command counted as ``HEAVY`` …
FACTOR = 4  # … and so many for each of the same that was recorded


class Difference(NamedTuple):
    """Where a replayed core did something else than the recorded one."""

    record: int
    at: float  # monotonic seconds of the recording
    node: str
    name: str


class _Seat:
    def __init__(self, node: str, name: str, core: Core) -> None:
        self.node, self.name, self.core = node, name, core
        self.digest = 0


class Replay:
    """A journal and a position in it: ``position`` records have been played."""

    def __init__(self, reading: Reading, systems: Mapping[str, Any]) -> None:
        """Raises TypeError or ValueError where the recorded options do not fit this version's system."""
        self.about, self.records, self.cut, recorded = reading
        self.system = systems[self.about.system]
        self.options = options_of(self.system.options, self.about.options)
        self._orders = self.system.orders if isinstance(self.system, System) else None
        self._work = WORK + FACTOR * recorded  # that its cores may still make
        self.position = 0
        self.differences: list[Difference] = []
        self._seats: dict[int, _Seat] = {}
        self._checked = 0  # records that were compared with their digests so far
        self._heard: dict[int, tuple[str, str]] = {}  # who sits there of whom no core can be run: node and name
        self._frames: dict[int, dict[int, _Seat]] = {0: {}}
        self._room = ROOM  # for keyframes
        self._copied = isinstance(self.system, System)  # procedures, as drivers of queues are, can not be copied
        self._stride = max(NEAREST, len(self.records) // KEYFRAMES)

    @classmethod
    def open(cls, path: Path, systems: Mapping[str, Any]) -> Replay:
        """Read a journal and go to its beginning. Raises OSError, Unreadable, TypeError, ValueError."""
        return cls(read(path, systems), systems)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def now(self) -> float:
        """Monotonic seconds of the recording at the position."""
        return float(self.records[self.position - 1][1]) if self.position else self.begin

    @property
    def begin(self) -> float:
        """When the first record was made."""
        return float(self.records[0][1]) if self.records else self.about.monotonic

    @property
    def end(self) -> float:
        """When the last record was made."""
        return float(self.records[-1][1]) if self.records else self.about.monotonic

    def step(self, watch: Callable[[Step], None] | None = None) -> bool:
        """Play one record; False at the end. ``watch`` is shown it, if it is an event."""
        if self.position >= len(self.records):
            return False
        if self._copied and self.position % self._stride == 0 and self.position not in self._frames:
            self._keep_frame()
        record = self.records[self.position]
        self._play(record, watch)
        self.position += 1
        self._checked = max(self._checked, self.position)
        return True

    def seek(self, position: int, watch: Callable[[Step], None] | None = None) -> None:
        """Go to a position 0..len, forwards or backwards; ``watch`` sees what is played on the way there."""
        position = max(0, min(position, len(self.records)))
        frame = max(at for at in self._frames if at <= position)
        if position < self.position or frame > self.position:
            self._seats = copy.deepcopy(self._frames[frame])
            self.position = frame
        while self.position < position:
            self.step(watch)

    def seek_time(self, at: float, watch: Callable[[Step], None] | None = None) -> None:
        """Go to the last record that was made at or before a time (monotonic seconds of the recording)."""
        low, high = 0, len(self.records)
        while low < high:  # times of several threads may be out of order by microseconds
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.records[middle][1] <= at else (low, middle)
        self.seek(low, watch)

    def core(self, node: str, name: str) -> Core | None:
        """The core of a seat at the position, if there is one."""
        return next((seat.core for seat in self._seats.values() if (seat.node, seat.name) == (node, name)), None)

    def pictures(self) -> dict[str, Any]:
        """The snapshots at the position: of broker and client, and the pool's by name."""
        now, shown = self.now, dict[str, Any]()
        for seat in self._seats.values():
            if seat.node == seat.name:
                shown[seat.node] = seat.core.snapshot(now)
            else:
                shown.setdefault(seat.node, {})[seat.name] = seat.core.snapshot(now)
        return shown

    def _spend(self, commands: list[Command]) -> None:
        """Count what the cores make; raises Unreadable if it is far more than was recorded."""
        for command in commands:
            self._work -= HEAVY + (sum(map(len, command.frames)) if type(command) is Send else 0)
        if self._work < 0:
            raise Unreadable("its cores answer far more than was recorded")

    def _keep_frame(self) -> None:
        """Keep a keyframe if there is room; without it, going back takes longer."""
        self._room -= weight(self._seats, self._room)
        if self._room >= 0:
            self._frames[self.position] = copy.deepcopy(self._seats)

    def _play(self, record: list[Any], watch: Callable[[Step], None] | None) -> None:
        kind, at, number = record[:3]
        if kind == SEAT:
            _, _, _, node, name, role, args, world = record
            if not role:
                self._heard[number] = (node, name)
                return
            judge_seat(role, args, world)
            if len(self._seats) >= MAX_SEATS:
                raise Unreadable(f"more than {MAX_SEATS:,} cores at one time")
            made = getattr(self.system, role)(self.options, *args, **world)
            self._seats[number] = _Seat(node, name, made.core)
            return
        if kind == HEARD:
            if watch is not None and number in self._heard:
                watch(Step(self.position, at, *self._heard[number], *record[3:]))
            return
        seat = self._seats.get(number)
        if seat is None:
            return  # its SEAT record was in a block that is lost
        if kind == LEFT:
            del self._seats[number]
        elif kind == EVENT:
            event = kept(record[3])
            if type(event) is Ordered:
                judge_order(event.order, self._orders)
            commands = seat.core.handle(event, at)
            if self.position >= self._checked:
                self._spend(commands)
            seat.digest = crc(commands, seat.digest)
            if watch is not None:
                watch(Step(self.position, at, seat.node, seat.name, record[3], commands))
        elif kind == DIGEST and self.position >= self._checked and seat.digest != record[3]:
            self.differences.append(Difference(self.position, at, seat.node, seat.name))
            seat.digest = record[3]  # each difference once
