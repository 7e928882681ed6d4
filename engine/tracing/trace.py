"""The trace: each message that this process's cores received or sent, in the words of its protocol.

The rules of this file:

- A tap appends and counts, nothing else; ``ring.py`` keeps what it appends, and has it decoded when somebody looks.
- An entry is what one end of a link saw. An *arrow* is a message on its way: a reception, and the send that it was,
  where that end is traced as well. Links keep order, so a reception is the oldest send on its link with the same
  frames; what it overtakes did not arrive.
- A task is (client, the id that the client gave). Where a message does not say it, the core that sent it is asked
  while it still knows (``Explain.whose``), and the other end of the arrow is told.

Times are monotonic seconds. One lock orders the taps of several threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from engine.core import MAIN, Command, Core, Event, Exit, Frames, Note, Received, Reopen, Seat, Send, Unsent
from engine.journal.format import SEAT
from engine.parts.explain import Decoded, Direction, Role, plain, show
from engine.parts.inflight import TaskKey
from engine.system import System
from engine.tracing.links import Entry
from engine.tracing.ring import BYTES, KEPT, Record, Ring

PEERS = 10_000  # names of routing ids that are remembered, the oldest forgotten first
SAYS = "violation: "  # how the note of a violation begins


class Replay(Protocol):
    """What is asked of ``engine.labs.replay.Replay``: the cores of a recording, run again."""

    system: Any
    options: Any
    records: list[Any]

    def core(self, node: str, name: str) -> Core | None: ...


_OWN = re.compile(r"^(?:worker-|w)\d+\b")  # a broker's name of a worker, at the beginning of what it says


class _Seat:
    """One end of links: a core and its sockets."""

    __slots__ = ("core", "ids", "name", "node", "partner", "role", "routed")

    def __init__(self, node: str, name: str, role: Role, seat: Seat) -> None:
        self.node, self.name, self.role, self.core = node, name, role, seat.core
        self.ids = {socket.name: socket.routing_id for socket in seat.sockets}
        self.routed = frozenset(socket.name for socket in seat.sockets if socket.kind != "dealer")
        self.partner = {socket.name: socket.connect[0] for socket in seat.sockets if socket.connect}


class _Record(Record):
    __slots__ = ("direction", "frames", "ids", "partner", "seat", "socket", "whose")

    def __init__(self, seat: _Seat, direction: Direction, frames: Frames, socket: str, *kept: Any) -> None:
        super().__init__(*kept)
        self.seat, self.direction, self.frames, self.socket = seat, direction, frames, socket
        self.ids, self.partner = seat.ids, seat.partner  # as they were then: a seat may take others later
        self.whose: TaskKey | None = None


class Trace(Ring[_Record]):
    """Attach its ``tap`` to nodes and announce their seats; readable from any thread."""

    def __init__(
        self,
        system: System,
        kept: int = KEPT,
        most: int = BYTES,
    ) -> None:
        """``most``: bytes of frames."""
        super().__init__(kept, most)
        self.explain = system.explain
        self._core_of: Callable[[str, str], Core | None] | None = (
            None  # where a seat's core is another from time to time
        )
        self._seats: dict[tuple[str, str], _Seat] = {}
        self._names: dict[bytes, str] = {}
        self._bound: dict[str, str] = {}  # endpoint → who is bound to it

    def replays(self, replay: Replay, until: int | None = None) -> None:
        """It is to show this replay: ``replay.seek(position, trace.step)`` fills it; ``clear`` it before going back.

        Each seat in its records before ``until`` is known from now on.
        """
        self._core_of = replay.core
        for record in replay.records[:until]:
            if record[0] == SEAT:
                _, _, _, node, name, role, args, world = record
                self.seated(node, name, role, getattr(replay.system, role)(replay.options, *args, **world))

    # ---- what happens -------------------------------------------------------------------------------------------

    def seated(self, node: str, name: str, role: Role, seat: Seat) -> None:
        """Announce a seat. Events of seats that were not announced are not traced."""
        with self._lock:
            place = self._seats[(node, name)] = _Seat(node, name, role, seat)
            for socket in seat.sockets:
                self._bound |= dict.fromkeys(socket.bind, name)
                if socket.kind == "dealer":
                    self._name(place, socket.routing_id)

    def left(self, node: str, name: str) -> None:
        """A seat has left; its traced messages stay."""
        self._seats.pop((node, name), None)

    def named(self, peer: bytes, name: str) -> None:
        """The name of a peer outside this process (a broker's ``WorkerRow.name``)."""
        with self._lock:
            self._names.setdefault(peer, plain(name, 24))

    def tap(self, node: str, name: str, now: float, event: Event, commands: list[Command]) -> None:
        """One event and what came of it: a node's tap (``engine.drive.node.Tap``)."""
        seat = self._seats.get((node, name))
        if seat is None:
            return
        with self._lock:
            if type(event) is Received:
                for frames in event.messages:
                    self._add(now, seat, "in", frames, event.socket)
            elif type(event) is Unsent:
                self._add(now, seat, "refused", event.frames, event.socket)
            whose = self.explain.whose if seat.role == "broker" else None
            core = None if whose is None else seat.core if self._core_of is None else self._core_of(node, name)
            for command in commands:
                if type(command) is Send:
                    record = self._add(now, seat, "out", command.frames, command.socket)
                    if whose is not None and core is not None:
                        record.whose = whose(core, command)
                elif type(command) is Note:
                    text = [command.level.encode(), command.text.encode(), command.subject]
                    self._add(now, seat, "note", text, MAIN)
                elif type(command) is Reopen:
                    self._reopened(seat, command)
                elif type(command) is Exit:
                    self.left(node, name)

    def _add(self, now: float, seat: _Seat, direction: Direction, frames: Frames, socket: str) -> _Record:
        self.total += 1
        size = sum(map(len, frames))
        return self._keep(_Record(seat, direction, frames, socket, self.total, now, size, self._record))

    def _reopened(self, seat: _Seat, command: Reopen) -> None:
        if command.routing_id is not None:
            seat.ids = {**seat.ids, command.socket: command.routing_id}
            self._name(seat, command.routing_id)
        if command.endpoint is not None:
            seat.partner = {**seat.partner, command.socket: command.endpoint}

    def _name(self, seat: _Seat, routing_id: bytes) -> None:
        self._names[routing_id] = seat.name
        if len(self._names) > PEERS:
            del self._names[next(iter(self._names))]

    # ---- who looks ----------------------------------------------------------------------------------------------

    def _entries(self, record: _Record) -> Iterable[Entry]:
        seat = record.seat
        if record.direction == "note":
            yield self._entry(
                record, 0, _note(record.frames, self._names.get(record.frames[2], "")), seat.name, seat.name, b""
            )
            return
        parts = self.explain.decode(seat.role, record.direction, record.frames, record.socket)
        for number, decoded in enumerate(parts):
            link = decoded.peer if decoded.peer is not None else record.ids.get(record.socket, b"")
            other = self._other(record, decoded.peer)
            source, target = (other, seat.name) if record.direction == "in" else (seat.name, other)
            yield self._entry(record, number, decoded, source, target, link)

    def _entry(self, record: _Record, part: int, decoded: Decoded, source: str, target: str, link: bytes) -> Entry:
        seat, task = record.seat, record.whose
        if task is None and decoded.task:
            task = (decoded.client or link, decoded.task)
        return Entry(
            record.number, part, record.at, seat.node, seat.name, seat.role, record.direction, source, target,
            decoded.command, decoded.fields, record.size, decoded.rule, decoded.violation, task, decoded,
            record.frames, record.socket, link, record.record,
        )  # fmt: skip

    def _other(self, record: _Record, peer: bytes | None) -> str:
        if peer is not None:
            return self._names.get(peer) or show(peer, 24)
        return self._bound.get(record.partner.get(record.socket, ""), "broker")


def _note(frames: Frames, name: str) -> Decoded:
    """``name``: whom it is about, as everybody here is called; a broker numbers its workers by itself."""
    level, text, subject = (frame.decode("utf-8", "replace") for frame in frames)
    text = _OWN.sub(lambda _: name, text, count=1) if name else text
    fields = (("text", plain(text)), *((("about", show(frames[2])),) if subject else ()))
    violation = plain(text.removeprefix(SAYS)) if text.startswith(SAYS) else ""
    return Decoded(level, fields, frames[2] or None, violation=violation)
