"""The client: asks, and measures. Its messages are ours; its PING and PONG are the seed's, on its own socket.

The rules of this file:

- While the broker answers, a PING every so often; once it is silent for as long as a worker would bear, one PING in
  that time, on a socket that is opened anew. What is out is asked for again: a request or its answer may be lost.
- A task's id is a counter, little-endian; the counter of a run starts where the last one ended. The topmost bit marks a
  task that nobody waits for.
- One run at a time.
"""

from __future__ import annotations

from engine.core import (
    NEVER,
    Command,
    Connected,
    Disconnected,
    Event,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import Bulk, BulkSpec
from engine.parts.legs import ClientLegs, sampled
from engine.parts.limits import MAX_FRAME
from engine.parts.machine import Walk
from engine.parts.name import Name
from engine.parts.orders import StopRun
from engine.parts.taken import Taken
from engine.parts.view import ClientView
from engine.parts.violations import Violations
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.machine import LINK, Link, On
from engine.protocols.pingpong.messages import DONE, FAILED, FULL, ID, PING, PING_JOB, REFUSED, WITHDRAWN
from engine.protocols.pingpong.options import Options

BROKER = b"broker"  # whom its broker's violations are counted to
UNTRACKED = 1 << (8 * ID - 1)
KINDS = {FULL: "full", REFUSED: "refused", FAILED: "undeliverable", WITHDRAWN: "withdrawn"}


class Client:
    """The core of a ping-pong client. Orders: ``BulkSpec``, ``StopRun``. ``name``: its routing id at first."""

    def __init__(self, options: Options, name: str = "client") -> None:
        self.options = options
        self._name = Name(name)
        self._silence = options.n_timeouts * options.broker_timeout
        self._state: str = Link.SILENT
        self._walk = Walk(LINK)
        self._answered = self._walk.tally(Link.LINKED, On.HEARD)
        self._taken = Taken(self._silence, options.ping_every)
        self._broken = False  # its connection is, and it has no other yet
        self._heard = NEVER  # the broker, or the last PING into silence
        self._ping_at = NEVER
        self._bulk: Bulk | None = None
        self._base = 0  # the id of the run's task 0
        self._job = self._expected = b""
        self._sampled: dict[bytes, float] = {}  # sampled tasks that are out, and when they were sent
        self._legs = ClientLegs()
        self._violations = Violations()
        self.late = self.unsent = self.reopened = self.again = 0

    # ---- the contract -------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """See ``engine.core.Core``."""
        out: list[Command] = []
        match event:
            case Received(messages=batch):
                for frames in batch:
                    self._take(frames, now, out)
            case Woken():
                self._wake(now, out)
            case Connected():
                if self._broken:
                    self._broken = False
                    self._step(On.CONNECTED)
                    self._ask_again(out)
            case Disconnected():
                self._broken = True
                self._taken.disconnected()
            case Unsent():
                self._unsent(event.frames, now)
            case Ordered(order=BulkSpec() as spec):
                self._run(spec, now, out)
            case Ordered(order=StopRun()):
                if self._bulk is not None:
                    self._bulk.stop(now)
            case Paused(seconds=seconds):
                self._heard = min(now, self._heard + seconds)
            case Started():
                self._heard = now
                out.append(Send([b"", PING]))
            case Ordered() | Finished():
                raise ValueError(f"a ping-pong client takes no {event}")
        self._fill(now, out)
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        at = min(self._ping_at, self._heard + self._silence)
        return at if self._bulk is None else min(at, self._bulk.wake_at())

    def check(self) -> None:
        """See ``engine.core.Core``."""
        assert (self._state == Link.LINKED) == (self._ping_at != NEVER)
        if self._bulk is not None:
            self._bulk.check()
            assert all(self._bulk.out(self._task(task_id)) for task_id in self._sampled), "a leg of a task not out"

    def snapshot(self, now: float) -> ClientView:
        """See ``engine.core.Core``."""
        return ClientView(
            at=now,
            linked=self._state == Link.LINKED,
            run=None if self._bulk is None else self._bulk.view(now),
            late=self.late,
            legs=self._legs.view(),
            terms=(
                ("broker", "alive" if self._state == Link.LINKED else "silent"),
                ("violations", str(self._violations.total)),
                ("unsent", str(self.unsent)),
                ("reopened", str(self.reopened)),
                ("asked again", str(self.again)),
            ),
            walked=self._walk.walked(),
        )

    # ---- the link -----------------------------------------------------------------------------------------------

    def _take(self, frames: Frames, now: float, out: list[Command]) -> None:
        reply = messages.to_client(frames)
        if isinstance(reply, str):
            out.extend(self._violations.add(BROKER, reply, now))
            return
        self._heard = now
        self._taken.heard(now)
        if self._state == Link.LINKED:
            self._answered.times += 1
        else:
            self._step(On.HEARD)
            self._ping_at = now + self.options.ping_every
            out.append(Note("good", "the broker answers"))
        task_id, status, result = reply
        if task_id:
            self._reply(task_id, status, result, now)

    def _step(self, event: str) -> None:
        self._state = self._walk.step(self._state, event)

    def _wake(self, now: float, out: list[Command]) -> None:
        bulk = self._bulk
        if bulk is not None:
            for task in bulk.expire(now):
                self._sampled.pop(self._id(task), None)
        if now >= self._heard + self._silence:
            taken, self._broken = self._taken.silent(now), False
            before = self._state
            self._step(On.SILENCE)
            if before == Link.LINKED:
                out.append(Note("warn", f"the broker is silent for {self._silence:g} s"))
            self._ping_at, self._heard = NEVER, now
            self.reopened += 1
            out += self._name.reopen(taken)
            self._ask_again(out)
        elif now >= self._ping_at:
            self._step(On.SECOND)
            self._ping_at = now + self.options.ping_every
            out.append(Send([b"", PING]))

    def _ask_again(self, out: list[Command]) -> None:
        """On a connection that is new: nothing tells what became of that which went by the one before."""
        out.append(Send([b"", PING]))
        for task in self._bulk.pending() if self._bulk is not None else ():
            self.again += 1
            out.append(Send([b"", self._id(task), self._job]))

    # ---- a run --------------------------------------------------------------------------------------------------

    def _run(self, spec: BulkSpec, now: float, out: list[Command]) -> None:
        if self._bulk is not None and self._bulk.ended is None:
            out.append(Note("warn", "a run is going on: this one is not started"))
            return
        if spec.kind == "data" and not 0 <= spec.size <= MAX_FRAME:
            out.append(Note("warn", f"a result of {spec.size:,} bytes is not from 0 to {MAX_FRAME:,}: no run"))
            return
        if self._bulk is not None:
            self._base += self._bulk.spec.n
        self._job = messages.data_job(spec.size) if spec.kind == "data" else PING_JOB
        self._expected = messages.result_of(self._job)
        self._bulk = Bulk(spec, now)

    def _fill(self, now: float, out: list[Command]) -> None:
        bulk = self._bulk
        if bulk is None:
            return
        while (task := bulk.due(now)) is not None:
            task_id = self._id(task)
            if bulk.spec.tracked and sampled(task_id):
                self._sampled[task_id] = now
            out.append(Send([b"", task_id, self._job]))

    def _reply(self, task_id: bytes, status: bytes, result: bytes, now: float) -> None:
        if task_id[-1] & 0x80:
            return  # nobody waits for it
        bulk, task = self._bulk, self._task(task_id)
        if bulk is None or not bulk.out(task):
            self.late += 1
            return
        sent = self._sampled.pop(task_id, None)
        if status != DONE:
            bulk.failed(task, KINDS[status], now)
        elif result != self._expected:
            bulk.failed(task, "wrong data", now)
        else:
            bulk.replied(task, now, len(result) if bulk.spec.kind == "data" else 0)
            if sent is not None:
                self._legs.note(task_id, sent, now)

    def _unsent(self, frames: Frames, now: float) -> None:
        self.unsent += 1
        if self._bulk is not None and len(frames) == 3 and self._bulk.spec.tracked:
            self._sampled.pop(frames[1], None)
            self._bulk.failed(self._task(frames[1]), "unsent", now)

    def _id(self, task: int) -> bytes:
        number = self._base + task
        if self._bulk is not None and not self._bulk.spec.tracked:
            number |= UNTRACKED
        return number.to_bytes(ID, "little")

    def _task(self, task_id: bytes) -> int:
        return int.from_bytes(task_id, "little") - self._base
