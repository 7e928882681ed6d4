"""The client: asks for its service, and measures.

The rules of this file:

- MDP has no heartbeat for clients. This one asks the broker's own service ``mmi.service`` (RFC 8) every so often: the
  answer shows that a broker is there.
- A broker that is silent for as long as ``Options.expiry`` is asked on a new socket. Then, and when a connection
  that broke stands again, what is out is asked for again: a request or its reply may be lost.
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
from engine.parts.bulk import BulkSpec
from engine.parts.limits import MAX_FRAME
from engine.parts.machine import Walk
from engine.parts.name import Name
from engine.parts.orders import StopRun
from engine.parts.runner import Runner
from engine.parts.taken import Taken
from engine.parts.view import ClientView
from engine.parts.violations import Violations
from tests.sixth.mdp import messages
from tests.sixth.mdp.machine import LINK, Link, On
from tests.sixth.mdp.messages import DONE, FAILED, FULL, MMI_SERVICE, PING_JOB, WITHDRAWN
from tests.sixth.mdp.options import Options

BROKER = b"broker"  # whom its broker's violations are counted to
UNTRACKED = 0x80  # in the last byte of an id
KINDS = {FULL: "full", FAILED: "undeliverable", WITHDRAWN: "withdrawn"}


class Client:
    """The core of an MDP client. Orders: ``BulkSpec``, ``StopRun``. ``name``: its routing id at first."""

    def __init__(self, options: Options, name: str) -> None:
        self.options = options
        self._name = Name(name)
        self._taken = Taken(options.expiry, options.heartbeat)
        self._broken = False  # its connection is, and it has no other yet
        self._service = options.service.encode()
        self._state: str = Link.SILENT
        self._walk = Walk(LINK)
        self._heard = NEVER  # the broker, or the last start
        self._ask_at = NEVER
        self._runs = Runner()
        self._job = self._expected = b""
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
                    self._step(On.ANEW)
                    self._ask_again(out)
            case Disconnected():
                self._broken = True
                self._taken.disconnected()
            case Unsent():
                self._unsent(event.frames, now)
            case Ordered(order=BulkSpec() as spec):
                self._run(spec, now, out)
            case Ordered(order=StopRun()):
                self._runs.stop(now)
            case Paused(seconds=seconds):
                self._heard = min(now, self._heard + seconds)
            case Started():
                self._start(now, out)
            case Ordered() | Finished():
                raise ValueError(f"an MDP client takes no {event}")
        out += map(self._request, self._runs.due(now))
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        at = min(self._ask_at, self._heard + self.options.expiry)
        return min(at, self._runs.wake_at())

    def check(self) -> None:
        """See ``engine.core.Core``."""
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
                ("started over", str(self.reopened)),
                ("asked again", str(self._runs.again)),
            ),
            walked=self._walk.walked(),
        )

    # ---- the link -----------------------------------------------------------------------------------------------

    def _start(self, now: float, out: list[Command]) -> None:
        self._heard = now
        self._look(now, out)

    def _look(self, now: float, out: list[Command]) -> None:
        self._ask_at = now + self.options.heartbeat
        out.append(Send(messages.ask(MMI_SERVICE, self._service)))

    def _take(self, frames: Frames, now: float, out: list[Command]) -> None:
        reply = messages.at_client(frames)
        if isinstance(reply, str):
            out.extend(self._violations.add(BROKER, reply, now))
            return
        self._heard = now
        self._taken.heard(now)
        before = self._state
        self._step(On.ANSWER)
        if before == Link.SILENT:
            out.append(Note("good", "the broker answers"))
        if task_id := messages.ident(reply.body):
            self._reply(task_id, reply.body, now, out)

    def _step(self, event: str) -> None:
        self._state = self._walk.step(self._state, event)

    def _wake(self, now: float, out: list[Command]) -> None:
        self._runs.expire(now)
        if now >= self._heard + self.options.expiry:
            before = self._state
            self._step(On.SILENCE)
            if before == Link.LINKED:
                out.append(Note("warn", f"the broker is silent for {self.options.expiry:g} s"))
            self.reopened += 1
            self._broken = False
            out += self._name.reopen(self._taken.silent(now))
            self._start(now, out)
            self._ask_again(out)
        elif now >= self._ask_at:
            self._step(On.DUE)
            self._look(now, out)

    def _ask_again(self, out: list[Command]) -> None:
        """On a connection that is new: nothing tells what became of that which went by the one before."""
        out += map(self._request, self._runs.repeat())

    # ---- a run --------------------------------------------------------------------------------------------------

    def _run(self, spec: BulkSpec, now: float, out: list[Command]) -> None:
        if self._runs.begin(spec, now, out, MAX_FRAME):
            self._job = messages.data_job(spec.size) if spec.kind == "data" else PING_JOB
            self._expected = messages.result_of(self._job)

    def _request(self, task: int) -> Send:
        ident = self._runs.ident(task)
        if self._runs.bulk is not None and not self._runs.bulk.spec.tracked:
            ident = ident[:-1] + bytes([ident[-1] | UNTRACKED])
        return Send(messages.ask(self._service, ident, self._job))

    def _reply(self, task_id: bytes, body: Frames, now: float, out: list[Command]) -> None:
        if task_id[-1] & UNTRACKED:
            return  # nobody waits for it
        if len(body) != 3:
            out.extend(self._violations.add(BROKER, "a reply without a status", now))
            return
        task, (_, status, result) = self._runs.task(task_id), body
        if not self._runs.awaited(task):
            return
        if status != DONE:
            self._runs.failed(task, KINDS[status], now)
        elif result != self._expected:
            self._runs.failed(task, "wrong data", now)
        else:
            self._runs.replied(task, task_id, now, len(result) if self._job != PING_JOB else 0)

    def _unsent(self, frames: Frames, now: float) -> None:
        asked = messages.at_client(frames)
        task_id = b"" if isinstance(asked, str) else messages.ident(asked.body)
        self._runs.refused(now, *([self._runs.task(task_id)] if task_id else ()))
