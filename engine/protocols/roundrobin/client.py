"""The round robin client: sends tasks to the broker and judges the replies.

The rules of this file:

- PING, PONG, then tasks; without a PONG for ``expiry``, or when its connection ends, the link opens anew. What is out
  then is asked for again, under its own id, which the broker knows if it has it; each is answered once, or times out.
- Over the packed lane, once the broker agreed to it, whatever is due goes together; answers may come over either lane.
- A ping has an id of 8 bytes, a stream request one of 4, as the original's; both count up over all runs, so a reply
  to an earlier run is known as late.
- A stream is right when every byte of it is: each record's offset, each payload byte, the sum, the end.
- One run at a time.
"""

from __future__ import annotations

from engine.core import (
    Command,
    Connected,
    Disconnected,
    Event,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import Bulk, BulkSpec
from engine.parts.legs import ClientLegs, sampled
from engine.parts.machine import Walk
from engine.parts.orders import Pack, StopRun
from engine.parts.store import GLOBAL
from engine.parts.view import ClientView
from engine.parts.violations import Violations
from engine.protocols.roundrobin import data, packed
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.link import Link, Name
from engine.protocols.roundrobin.machine import LINK, On
from engine.protocols.roundrobin.machine import Link as Standing
from engine.protocols.roundrobin.options import Options

BROKER = b"broker"  # whose violations these are: a DEALER hears nobody else
STREAM_BYTES = 1024  # asked for where a run does not say
ID_BYTES = {"ping": 8, "data": 4}


class Client:
    """The core of the client's role. Orders: ``BulkSpec`` (start a run), ``StopRun``, ``Pack``."""

    def __init__(self, options: Options, name: Name | None = None) -> None:
        """``name``: see ``Link``."""
        self.options = options
        self.link = Link(options.heartbeat, options.expiry, options.packed, name)
        self.violations = Violations()
        self.legs = ClientLegs()
        self.bulk: Bulk | None = None
        self.late = self.unsent = self.again = 0
        self._state: str = Standing.LINKING
        self._walk = Walk(LINK)
        self._answers = {state: self._walk.tally(state, On.RESPONSE) for state in LINK.states}
        self._size = STREAM_BYTES
        self._base = 0  # the id of the run's task 0
        self._noted: dict[bytes, float] = {}  # sampled ids that are out, and when they were sent

    # ---- the contract --------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        match event:
            case Received(messages):
                for frames in messages:
                    self._receive(frames, now, out)
            case Woken():
                if self.bulk is not None:
                    self.bulk.expire(now)
                commands = self.link.tick(now)
                if any(type(command) is Reopen for command in commands):
                    self._step(On.NO_PONG)
                out += commands
            case Started():
                out += self.link.open(now)
            case Ordered(BulkSpec() as spec):
                self._begin(spec, now, out)
            case Ordered(StopRun()):
                if self.bulk is not None:
                    self.bulk.stop(now)
            case Ordered(Pack(on)):
                out.append(self.link.pack(on, now))
            case Unsent(frames):
                self._unsent(frames, now)
            case Disconnected():
                self._step(On.ENDED)
                out += self.link.ended(now)
            case Paused() | Connected():
                pass
            case _:
                raise TypeError(f"a round robin client takes no {event!r}")
        self._pump(now, out)
        return out

    def wake_at(self) -> float:
        """The next heartbeat, or the run's next task or timeout."""
        at = self.link.wake_at()
        return at if self.bulk is None else min(at, self.bulk.wake_at(self.link.up))

    def check(self) -> None:
        """The run's books balance; the state is the link's."""
        assert self.link.up == (self._state == Standing.LINKED)
        if self.bulk is not None:
            self.bulk.check()

    def snapshot(self, now: float) -> ClientView:
        """The link and the newest run."""
        return ClientView(
            at=now,
            linked=self.link.up,
            run=None if self.bulk is None else self.bulk.view(now),
            late=self.late,
            legs=self.legs.view(),
            terms=(
                ("links", str(self.link.number)),
                ("lane", "packed" if self.link.packs else "seed"),
                ("violations", str(self.violations.total)),
                ("unsent", str(self.unsent)),
                ("asked again", str(self.again)),
            ),
            walked=self._walk.walked(),
        )

    # ---- runs ----------------------------------------------------------------------------------------------------

    def _begin(self, spec: BulkSpec, now: float, out: list[Command]) -> None:
        if self.bulk is not None and self.bulk.ended is None:
            out.append(Note("warn", "a run is going on: stop it first"))
            return
        if self.bulk is not None:
            self._base += self.bulk.spec.n
        self.bulk = Bulk(spec, now)
        self._size = spec.size or STREAM_BYTES
        self._noted.clear()

    def _pump(self, now: float, out: list[Command]) -> None:
        """Send what the run wants sent now."""
        bulk = self.bulk
        if bulk is None or not self.link.up:
            return
        due = []
        while (task := bulk.due(now)) is not None:
            due.append(task)
        if due:
            self._send(bulk, due, now, out)

    def _send(self, bulk: Bulk, tasks: list[int], now: float, out: list[Command]) -> None:
        """Tasks of the run, over the lane that the broker agreed to."""
        batch: list[Frames] = []
        for task in tasks:
            ident = self._ident(task, ID_BYTES[bulk.spec.kind])
            if bulk.spec.tracked and sampled(ident):
                self._noted[ident] = now
            if bulk.spec.kind == "ping":
                message = wire.ping(ident, bulk.spec.tracked)
            else:
                message = wire.stream(ident, self._size, bulk.spec.tracked)
            if not self.link.packs:
                out.append(Send(message))
                continue
            batch.append(message[2:-1])
            if len(batch) == packed.BATCH:
                out.append(Send([packed.tasks(batch)]))
                batch.clear()
        if batch:
            out.append(Send([packed.tasks(batch)]))

    def _ident(self, task: int, size: int) -> bytes:
        if self.bulk is not None and self.bulk.spec.tag:
            return self.bulk.spec.tag + task.to_bytes(GLOBAL - len(self.bulk.spec.tag), "big")
        return ((self._base + task) & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _task(self, ident: bytes) -> int:
        """The run's task under an id; a number outside the run for an id that is not of it."""
        assert self.bulk is not None
        tag, size = self.bulk.spec.tag, ID_BYTES[self.bulk.spec.kind]
        if tag:
            right = len(ident) == GLOBAL and ident.startswith(tag)
            return int.from_bytes(ident[len(tag) :], "big") if right else -1
        if len(ident) != size:
            return -1
        return (int.from_bytes(ident, "little") - self._base) & ((1 << 8 * size) - 1)

    # ---- messages ------------------------------------------------------------------------------------------------

    def _receive(self, frames: Frames, now: float, out: list[Command]) -> None:
        if len(frames) == packed.AT_PEER:
            self._results(frames[0], now, out)
            return
        match wire.at_peer(frames):
            case wire.REPLY:
                self._replied(frames[3], frames[-1], frames[4] if len(frames) == 7 else None, now, out)
            case wire.LINK_PING:
                out.append(Send(wire.link_pong(frames[3])))
            case wire.LINK_PONG:
                if self.link.ponged(frames[3], now):
                    self._ponged(now, out)
            case wire.TASK | wire.JOINED as odd:
                out += self.violations.add(BROKER, f"a client got a {odd.value}", now)
            case wrong:
                out += self.violations.add(BROKER, str(wrong), now)

    def _ponged(self, now: float, out: list[Command]) -> None:
        """Where the link is new, what is out is asked for again."""
        before = self._state
        self._step(On.PONG)
        if before == Standing.LINKING and self.bulk is not None and (out_still := self.bulk.pending()):
            self.again += len(out_still)
            self._send(self.bulk, out_still, now, out)

    def _step(self, event: str) -> None:
        self._state = self._walk.step(self._state, event)

    def _results(self, frame: bytes, now: float, out: list[Command]) -> None:
        is_ours = packed.kind(frame) == packed.RESULTS
        results = packed.read_results(frame) if is_ours else "wrong number of frames"
        if isinstance(results, str):
            out += self.violations.add(BROKER, results, now)
            return
        for ident, worker, answer in results:
            self._replied(ident, worker, answer, now, out)

    def _replied(self, ident: bytes, worker: bytes, answer: bytes | None, now: float, out: list[Command]) -> None:
        bulk = self.bulk
        task = -1 if bulk is None else self._task(ident)
        if bulk is None or not bulk.out(task):
            self.late += 1
            return
        self._answers[self._state].times += 1
        if bulk.spec.tag and (why := wire.failed(answer)):
            bulk.failed(task, why, now)
            return
        fault, size = None, 0
        if bulk.spec.kind == "data":
            size = self._size
            fault = "no data" if answer is None else data.wrong(answer, size)
        elif answer is not None:
            fault = "data in answer to a ping"
        sent = self._noted.pop(ident, None)
        if fault is not None:
            out += self.violations.add(worker, fault, now)
            bulk.failed(task, "wrong data", now)
            return
        bulk.replied(task, now, size)
        if sent is not None:
            self.legs.note(ident, sent, now)

    def _unsent(self, frames: Frames, now: float) -> None:
        self.unsent += 1
        if self.bulk is None:
            return
        if len(frames) == 1:
            tasks = packed.read_tasks(frames[0])
            assert not isinstance(tasks, str), tasks
            for task in tasks:
                self.bulk.failed(self._task(task[1]), "unsent", now)
        elif wire.at_peer([*frames, b"", b"?"]) is wire.TASK:
            self.bulk.failed(self._task(frames[3]), "unsent", now)
