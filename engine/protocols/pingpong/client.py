"""The client: asks, and measures. Its messages are ours; its PING and PONG are the seed's, on its own socket.

The rules of this file:

- While the broker answers, a PING every so often; once it is silent for as long as a worker would bear, one PING in
  that time, on a socket that is opened anew. What is out is asked for again: a request or its answer may be lost.
- A task's id is a counter, little-endian; the counter of a run starts where the last one ended. The topmost bit marks a
  task that nobody waits for. Of a run with a tag ids are nobody else's, and a job names its own.
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
from engine.parts.bulk import BulkSpec
from engine.parts.limits import MAX_FRAME
from engine.parts.machine import Walk
from engine.parts.name import Name
from engine.parts.orders import StopRun
from engine.parts.plain import clean
from engine.parts.runner import Runner
from engine.parts.store import GLOBAL
from engine.parts.taken import Taken
from engine.parts.view import ClientView
from engine.parts.violations import Violations
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.machine import LINK, Link, On
from engine.protocols.pingpong.messages import DONE, FAILED, FULL, PING, PING_JOB, REFUSED, WITHDRAWN
from engine.protocols.pingpong.options import Options

BROKER = b"broker"  # whom its broker's violations are counted to
UNTRACKED = 0x80  # in the last byte of an id
TELLING = (FULL, FAILED)  # a broker with a store says why
MOST_WHY = 200  # characters of that
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
        self._runs = Runner()
        self._job = self._result = b""
        self._violations = Violations()
        self.reopened = 0

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
                self._runs.refused(now, *map(self._runs.task, event.frames[1:-1]))
            case Ordered(order=BulkSpec() as spec):
                self._run(spec, now, out)
            case Ordered(order=StopRun()):
                self._runs.stop(now)
            case Paused(seconds=seconds):
                self._heard = min(now, self._heard + seconds)
            case Started():
                self._heard = now
                out.append(Send([b"", PING]))
            case Ordered() | Finished():
                raise ValueError(f"a ping-pong client takes no {event}")
        out += map(self._request, self._runs.due(now))
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        at = min(self._ping_at, self._heard + self._silence)
        return min(at, self._runs.wake_at())

    def check(self) -> None:
        """See ``engine.core.Core``."""
        assert (self._state == Link.LINKED) == (self._ping_at != NEVER)
        self._runs.check()

    def snapshot(self, now: float) -> ClientView:
        """See ``engine.core.Core``."""
        return ClientView(
            at=now,
            linked=self._state == Link.LINKED,
            run=self._runs.view(now),
            late=self._runs.late,
            legs=self._runs.legs.view(),
            terms=(
                ("broker", "alive" if self._state == Link.LINKED else "silent"),
                ("violations", str(self._violations.total)),
                ("unsent", str(self._runs.unsent)),
                ("reopened", str(self.reopened)),
                ("asked again", str(self._runs.again)),
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
        self._runs.expire(now)
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
        out += map(self._request, self._runs.repeat())

    # ---- a run --------------------------------------------------------------------------------------------------

    def _run(self, spec: BulkSpec, now: float, out: list[Command]) -> None:
        if self._runs.begin(spec, now, out, MAX_FRAME):
            self._job = messages.data_job(spec.size) if spec.kind == "data" else PING_JOB
            self._result = messages.result_of(self._job)

    def _request(self, task: int) -> Send:
        ident = self._runs.ident(task)
        if len(ident) == GLOBAL:
            return Send([b"", ident, messages.naming(self._job, ident)])
        if self._runs.bulk is not None and not self._runs.bulk.spec.tracked:
            ident = ident[:-1] + bytes([ident[-1] | UNTRACKED])
        return Send([b"", ident, self._job])

    def _reply(self, task_id: bytes, status: bytes, result: bytes, now: float) -> None:
        task, bulk, named = self._runs.task(task_id), self._runs.bulk, len(task_id) == GLOBAL
        untracked = bulk is not None and not bulk.spec.tracked and task >= 0 if named else task_id[-1] & UNTRACKED
        if untracked or not self._runs.awaited(task):
            return  # nobody waits for it
        if status != DONE:
            why = clean(result.decode("utf-8", "replace"), MOST_WHY) if named and status in TELLING else ""
            self._runs.failed(task, why or KINDS[status], now)
        elif result != (messages.naming(PING_JOB, task_id) if named and self._job == PING_JOB else self._result):
            self._runs.failed(task, "wrong data", now)
        else:
            self._runs.replied(task, task_id, now, len(result) if self._job != PING_JOB else 0)
