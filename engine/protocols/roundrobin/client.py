"""The round robin client: sends tasks to the broker and judges the replies.

The rules of this file:

- PING, PONG, then tasks; without a PONG for ``expiry``, or when its connection ends, the link opens anew. Tasks that
  are out are then asked for again under their ids, which the broker may know; each is answered once, or times out.
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
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.machine import Walk
from engine.parts.orders import Pack, StopRun
from engine.parts.runner import Runner
from engine.parts.view import ClientView
from engine.parts.violations import Violations
from engine.protocols.roundrobin import data, packed
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.link import Link, Name
from engine.protocols.roundrobin.machine import LINK, On
from engine.protocols.roundrobin.machine import Link as Standing
from engine.protocols.roundrobin.options import Options

BROKER = b"broker"  # the peer of all violations here: a DEALER hears only its broker
STREAM_BYTES = 1024  # asked for where a run does not say
ID_BYTES = {"ping": 8, "data": 4}


class Client:
    """The core of the client's role. Orders: ``BulkSpec`` (start a run), ``StopRun``, ``Pack``."""

    def __init__(self, options: Options, name: Name | None = None) -> None:
        """``name``: see ``Link``."""
        self.options = options
        self.link = Link(options.heartbeat, options.expiry, options.packed, name)
        self.violations = Violations()
        self.runs = Runner()
        self._state: str = Standing.LINKING
        self._walk = Walk(LINK)
        self._answers = {state: self._walk.tally(state, On.RESPONSE) for state in LINK.states}
        self._size = STREAM_BYTES
        self._bytes = ID_BYTES["ping"]  # of the run's ids

    # ---- the contract --------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        match event:
            case Received(messages):
                for frames in messages:
                    self._receive(frames, now, out)
            case Woken():
                self.runs.expire(now)
                commands = self.link.tick(now)
                if any(type(command) is Reopen for command in commands):
                    self._step(On.NO_PONG)
                out += commands
            case Started():
                out += self.link.open(now)
            case Ordered(BulkSpec() as spec):
                if self.runs.begin(spec, now, out):
                    self._size, self._bytes = spec.size or STREAM_BYTES, ID_BYTES[spec.kind]
            case Ordered(StopRun()):
                self.runs.stop(now)
            case Ordered(Pack(on)):
                out.append(self.link.pack(on, now))
            case Unsent(frames):
                self.runs.refused(now, *self._tasks(frames))
            case Disconnected():
                self._step(On.ENDED)
                out += self.link.ended(now)
            case Paused() | Connected():
                pass
            case _:
                raise TypeError(f"a round robin client takes no {event!r}")
        if self.link.up and (due := self.runs.due(now)):
            self._send(due, out)
        return out

    def wake_at(self) -> float:
        """The next heartbeat, or the run's next task or timeout."""
        return min(self.link.wake_at(), self.runs.wake_at(self.link.up))

    def check(self) -> None:
        """The run's books balance; the state is the link's."""
        assert self.link.up == (self._state == Standing.LINKED)
        self.runs.check()

    def snapshot(self, now: float) -> ClientView:
        """The link and the newest run."""
        return ClientView(
            at=now,
            linked=self.link.up,
            run=self.runs.view(now),
            late=self.runs.late,
            legs=self.runs.legs.view(),
            terms=(
                ("links", str(self.link.number)),
                ("lane", "packed" if self.link.packs else "seed"),
                ("violations", str(self.violations.total)),
                ("unsent", str(self.runs.unsent)),
                ("asked again", str(self.runs.again)),
            ),
            walked=self._walk.walked(),
        )

    def _send(self, tasks: list[int], out: list[Command]) -> None:
        """Tasks of the run, over the lane that the broker agreed to."""
        assert self.runs.bulk is not None
        spec = self.runs.bulk.spec
        batch: list[Frames] = []
        for task in tasks:
            ident = self.runs.ident(task, self._bytes)
            if spec.kind == "ping":
                message = wire.ping(ident, spec.tracked)
            else:
                message = wire.stream(ident, self._size, spec.tracked)
            if not self.link.packs:
                out.append(Send(message))
                continue
            batch.append(message[2:-1])
            if len(batch) == packed.BATCH:
                out.append(Send([packed.tasks(batch)]))
                batch.clear()
        if batch:
            out.append(Send([packed.tasks(batch)]))

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
        if before == Standing.LINKING and (pending := self.runs.repeat()):
            self._send(pending, out)

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
        task = self.runs.task(ident, self._bytes)
        if not self.runs.awaited(task):
            return
        assert self.runs.bulk is not None
        spec = self.runs.bulk.spec
        self._answers[self._state].times += 1
        if spec.tag and (why := wire.failed(answer)):
            self.runs.failed(task, why, now)
            return
        fault, size = None, 0
        if spec.kind == "data":
            size = self._size
            fault = "no data" if answer is None else data.wrong(answer, size)
        elif answer is not None:
            fault = "data in answer to a ping"
        if fault is None:
            self.runs.replied(task, ident, now, size)
        else:
            out += self.violations.add(worker, fault, now)
            self.runs.failed(task, "wrong data", now)

    def _tasks(self, frames: Frames) -> list[int]:
        """Those that a message of ours asks for; it may be a PING, too."""
        if self.runs.bulk is None:
            return []
        if len(frames) == 1:
            tasks = packed.read_tasks(frames[0])
            assert not isinstance(tasks, str), tasks
            return [self.runs.task(task[1], self._bytes) for task in tasks]
        asks = wire.at_peer([*frames, b"", b"?"]) is wire.TASK
        return [self.runs.task(frames[3], self._bytes)] if asks else []
