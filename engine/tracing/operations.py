"""The trace of disk queues: what drivers asked of the disk and what it answered, in the words of ``explain.py``.

The rules of this file:

- A message is an operation on one name. One end is who asked, the other the folder, which answers: two entries, one
  arrow. A driver asks one thing at a time, so an answer belongs to what its seat asked last; what was never answered
  died with who asked.
- An arrow points the way that a document, or what is said of one, goes: ``TAKE`` from a queue, ``PUBLISH`` into one.
- A driver's seat is ``STAGE.N``: the queue that it publishes into, and its number. Others are ``watchdog``,
  ``recovery``, and whoever else touches the queues. Nobody has to be announced.
- What a listing found is counted, not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from engine.core import Cancel, Exit, Frames, Note, Ordered, Start
from engine.parts.explain import Decoded, Direction, Role, plain
from engine.parts.inflight import TaskKey
from engine.parts.orders import Leave
from engine.protocols.diskqueue import explain as words
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Append, Done, List, Operation, Process, Processed
from engine.protocols.diskqueue.watchdog import Spawn
from engine.tracing.links import Arrow, Entry, Leg, Life, State
from engine.tracing.ring import BYTES, KEPT, Record, Ring

WATCHDOG, RECOVERY = "watchdog", "recovery"  # whoever sees to drivers, and what it does to what dead ones left
TAKES = ("TAKE", "TAKE AGAIN")  # with which a driver takes a document
SEATS = 10_000  # that are remembered, the oldest forgotten first

_ASKED: tuple[Any, ...] = get_args(Operation)


class _Record(Record):
    __slots__ = ("answer", "back", "direction", "node", "seat", "what")

    def __init__(
        self, node: str, seat: str, direction: Direction, what: Any, answer: Any, back: bool, *kept: Any
    ) -> None:
        super().__init__(*kept)
        self.node, self.seat, self.direction, self.what, self.answer = node, seat, direction, what, answer
        self.back = back  # the seat has put on record that it gives its document back


class Operations(Ring[_Record]):
    """Give its ``tap`` to whoever drives the cores; look at it from any thread.

    ``queues``: all of the pipeline, the first one first.
    """

    def __init__(self, queues: Sequence[str], kept: int = KEPT, most: int = BYTES) -> None:
        super().__init__(kept, most)
        self.queues = tuple(queues)
        self._seats: dict[str, str] = {}  # of whoever was heard of: seat → the driver's number, "" for others
        self._drivers: dict[str, str] = {}  # and the other way round
        self._works: dict[str, Process] = {}  # what each seat is writing
        self._back: dict[str, bool] = {}  # whether the last line that a seat put on record gives a document back

    # ---- what happens -------------------------------------------------------------------------------------------

    def seated(self, node: str, name: str, *about: object, **more: object) -> None:
        """Who sits there from now on; a lane is kept for it."""
        with self._lock:
            self._sits(name, words.number_of(name))

    def left(self, node: str, name: str) -> None:
        """A seat has left; its traced messages stay."""

    def tap(self, node: str, name: str, now: float, event: object, commands: Sequence[object]) -> None:
        """One event of a driver or a watchdog, and what came of it; as ``engine.drive.node.Tap``."""
        with self._lock:
            self._sits(name, words.number_of(name))
            match event:
                case Done(operation):
                    if isinstance(operation, Append) and names.record_of(operation.name) is not None:
                        self._back[name] = operation.line.startswith("back\t")
                    self._add(node, name, now, _direction(operation, event), operation, _counted(event))
                case Processed() if name in self._works:
                    work = self._works.pop(name)
                    self._add(node, name, now, _direction(work, event), work, event)
                case Ordered(Leave()):
                    self._add(node, name, now, "in", event, None)
                case _ if words.supervised(event) is not None:
                    self._add(node, name, now, "in", event, None)
            for command in commands:
                match command:
                    case Start(_, Process() as work):
                        self._works[name] = work
                        self._add(node, name, now, "out", work, None)
                    case Note() | Exit() | Cancel():
                        self._add(node, name, now, "note", command, None)
                    case _ if isinstance(command, _ASKED):
                        self._add(node, name, now, "out", command, None)
                    case _ if words.supervised(command) is not None:
                        if isinstance(command, Spawn):
                            self._sits(words.seat_of(command.stage, command.number), command.number)
                        self._add(node, name, now, "in", command, None)

    def _add(self, node: str, seat: str, now: float, direction: Direction, what: Any, answer: Any) -> None:
        self.total += 1
        size = sum(map(len, _frames(what))) + len(getattr(answer, "text", ""))
        back = self._back.get(seat, False)
        self._keep(_Record(node, seat, direction, what, answer, back, self.total, now, size, self._record))

    def _sits(self, seat: str, number: str) -> None:
        self._seats[seat] = number
        if number:
            self._drivers[number] = seat
        if len(self._seats) > SEATS:
            oldest = next(iter(self._seats))
            self._drivers.pop(self._seats.pop(oldest), None)
            self._works.pop(oldest, None)
            self._back.pop(oldest, None)

    # ---- who looks ----------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> tuple[str, ...]:
        """Outsiders, then every queue with the drivers that take from it, then those who see to drivers."""
        with self._lock:
            seats = dict(self._seats)
        found = [seat for seat, number in seats.items() if not number and seat not in (WATCHDOG, RECOVERY)]
        for place, queue in enumerate(self.queues):
            found.append(queue)
            after = self.queues[place + 1 : place + 2]
            own = [seat for seat, number in seats.items() if number and words.stage_of(seat) in after]
            found += sorted(own, key=lambda seat: (len(seat), seat))
        return (*found, RECOVERY, WATCHDOG)

    def _entries(self, record: _Record) -> Iterable[Entry]:
        seat, what = record.seat, record.what
        decoded = _decoded(what, record.answer, seat, record.back)
        peer = decoded.peer.decode("utf-8", "replace") if decoded.peer else seat
        peer = self._drivers.get(peer, peer)
        source, target = (peer, seat) if decoded.command in words.COMES else (seat, peer)
        role: Role = "worker" if words.number_of(seat) else "client"
        task = (decoded.client, decoded.task) if decoded.task else None
        yield Entry(
            record.number, 0, record.at, record.node, seat, role, record.direction, source, target,
            decoded.command, decoded.fields, record.size, decoded.rule, decoded.violation, task, decoded,
            _frames(what), "", seat.encode("utf-8", "surrogateescape"), record.record,
        )  # fmt: skip

    def _arrows(self, entries: Iterable[Entry]) -> list[Arrow]:
        """Each answer with what was asked before it."""
        found: list[Arrow] = []
        asked: dict[str, Entry] = {}
        for entry in entries:
            match entry.direction:
                case "note":
                    found.append(Arrow(entry, None, "note"))
                case "out":
                    if entry.seat in asked:
                        found.append(Arrow(asked[entry.seat], None, "lost"))
                    asked[entry.seat] = entry
                case answered:
                    before = asked.get(entry.seat)
                    sent = asked.pop(entry.seat) if before is not None and before.frames == entry.frames else None
                    state: State = "refused" if answered == "refused" else "arrived" if sent is not None else "heard"
                    found.append(Arrow(sent, entry, state))
        found += [Arrow(entry, None, "under way") for entry in asked.values()]
        return sorted(found, key=lambda arrow: arrow.ends[0].number)

    def _life(self, task: TaskKey, found: list[Arrow]) -> Life:
        """Every change of a document's name, through all queues."""
        legs: list[Leg] = []
        takes = 0
        for arrow in found:
            entry = arrow.entry
            if arrow.task != task or entry.decoded.leg != "move":
                continue
            takes += entry.command in TAKES and arrow.state != "refused"
            what = f"{entry.command.lower()} refused" if arrow.state == "refused" else entry.command.lower()
            legs.append(Leg(what, entry.at, entry.at - legs[-1].at if legs else 0.0, entry.seat, entry))
        ended = any(
            leg.entry.command == "GIVE UP" or (leg.entry.command == "PUBLISH" and leg.entry.target == self.queues[-1])
            for leg in legs
        )
        return Life(task, tuple(legs), takes, ended)


def _decoded(what: Any, answer: Any, seat: str, back: bool) -> Decoded:
    match what:
        case Note():
            return words.noted(what)
        case Exit(reason, failed):
            return words.noted(Note("bad" if failed else "info", f"left: {reason}"))
        case Cancel(key):
            return words.noted(Note("info", f"ends its work on {plain(str(key))}"))
        case Ordered():
            return Decoded("LEAVE", (), WATCHDOG.encode(), rule="ruling 7: the document at hand is finished")
    if (told := words.supervised(what)) is not None:
        return told
    return words.explain(what, answer, words.number_of(seat), words.stage_of(seat), back)


def _counted(answer: Done) -> Done:
    """An answer without the names that it listed."""
    if isinstance(answer.operation, List) and not answer.error:
        return answer._replace(text=f"{len(answer.entries)} names", entries=())
    return answer


def _direction(what: Operation | Process, answer: Done | Processed) -> Direction:
    return "refused" if words.refused(what, answer) else "in"


def _frames(what: Any) -> Frames:
    """What was asked for, word by word."""
    return [str(word).encode("utf-8", "surrogateescape") for word in (type(what).__name__, *_asked(what))]


def _asked(what: Any) -> tuple[Any, ...]:
    return tuple(what) if isinstance(what, tuple) and isinstance(what, (*_ASKED, Process)) else ()


def document(id: str) -> TaskKey:
    """The key under which a document is followed."""
    return (b"", id.encode("utf-8", "surrogateescape"))
