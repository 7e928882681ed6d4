"""The worker: READY, then PING for PONG and result for job; a silent broker makes it open its socket anew.

The rules of this file:

- *joining*: READY is sent, its PONG has not come. A job that comes before it was given before the broker saw READY,
  which has put that job back already: it is dropped.
- *ready* and *working*: a PING every so often, also while working (ruling 1). Anything that arrives shows that the
  broker lives.
- Starting over (another READY) abandons the job in hand, because a result does not say which job it belongs to. So does
  another job: whoever sends it has forgotten the first.
- A job is answered at once or ``Slow`` later. A result that is a command can not be sent: READY gives the job back.
- A connection that broke may have taken a job or a result with it: on the next one READY says that nothing is held,
  unless a job is in hand. Where another worker of this name is heard in its place, it takes another name.
- EXIT and the operator's ``Leave`` let it finish what it holds. The seed has no goodbye, so it sends none (ruling 5).
"""

from __future__ import annotations

from collections.abc import Callable

from engine.core import (
    NEVER,
    Command,
    Connected,
    Disconnected,
    Event,
    Exit,
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
from engine.parts.machine import Walk
from engine.parts.name import Name
from engine.parts.orders import Leave, Slow
from engine.parts.taken import Taken
from engine.parts.view import WorkerView
from engine.parts.violations import Violations
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.machine import WORKER, Does, If, On
from engine.protocols.pingpong.messages import EXIT, NOT_A_RESULT, PING, PONG, READY
from engine.protocols.pingpong.options import Options

BROKER = b"broker"  # whom its broker's violations are counted to


class Worker:
    """The core of a ping-pong worker. Orders: ``Leave``, ``Slow``. ``name``: its routing id at first."""

    def __init__(self, options: Options, name: str = "worker") -> None:
        self.options = options
        self._name = Name(name)
        self.state: str = Does.JOINING
        self._walk = Walk(WORKER)
        self._at_once = self._walk.tally(Does.READY, On.JOB)
        self._silence = options.n_timeouts * options.broker_timeout
        self._heard = 0.0  # the broker, or the last start
        self._taken = Taken(self._silence, options.ping_every)
        self._broken = False  # its connection is, and it has no other yet
        self._ping_at = NEVER
        self._pinged: float | None = None  # when the PING that is unanswered was sent
        self._rtt: float | None = None
        self._delay = 0.0  # seconds from a job to its result
        self._job = b""
        self._given = NEVER  # when the job in hand came
        self._leaving = ""  # the reason, once it is to leave
        self._violations = Violations()
        self.executing: Callable[[bytes], object] | None = None  # is told the id that a job names, before its result
        self.done = self.reopened = self.dropped = self.abandoned = self.unsent = 0

    # ---- the contract -------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """See ``engine.core.Core``."""
        out: list[Command] = []
        if self.state == Does.LEFT:
            return out
        match event:
            case Started():
                out += self._misfits()
                self._start(now, out)
            case Received(messages=batch):
                for frames in batch:
                    self._take(frames, now, out)
            case Woken():
                self._wake(now, out)
            case Connected():
                self._connected(now, out)
            case Disconnected():
                self._broken = True
                self._taken.disconnected()
            case Unsent():
                self.unsent += 1
            case Ordered(order=Leave()):
                self._leave(On.LEAVE, "asked to leave", out)
            case Ordered(order=Slow(seconds=seconds)):
                self._delay = max(0.0, seconds)
                self._finish_due(now, out)
            case Paused(seconds=seconds):
                self._heard = min(now, self._heard + seconds)
            case Ordered() | Finished():
                raise ValueError(f"a ping-pong worker takes no {event}")
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        if self.state == Does.LEFT:
            return NEVER
        return min(self._ping_at, self._given + self._delay, self._heard + self._silence)

    def check(self) -> None:
        """See ``engine.core.Core``."""
        assert (self._given != NEVER) == (self.state == Does.WORKING), "a job without work, or work without a job"
        assert not self._leaving or self.state in (Does.WORKING, Does.LEFT), "it stays without reason"

    def snapshot(self, now: float) -> WorkerView:
        """See ``engine.core.Core``."""
        quiet = min(int((now - self._heard) / self.options.broker_timeout), self.options.n_timeouts)
        return WorkerView(
            at=now,
            state=self.state,
            slots=1,
            running=int(self.state == Does.WORKING),
            done=self.done,
            broker_heard=self._heard,
            terms=(
                ("broker", "unknown" if self.state == Does.JOINING else "quiet" if quiet else "alive"),
                ("timeouts", f"{quiet} of {self.options.n_timeouts}"),
                ("reopens in", f"{max(0.0, self._heard + self._silence - now):.1f} s"),
                ("round trip", "unknown" if self._rtt is None else f"{self._rtt * 1e3:.2f} ms"),
                ("delay", f"{self._delay:g} s"),
                ("reopened", str(self.reopened)),
                ("dropped", str(self.dropped)),
                ("abandoned", str(self.abandoned)),
                ("violations", str(self._violations.total)),
                ("unsent", str(self.unsent)),
            ),
            joined=self.state in (Does.READY, Does.WORKING),
            walked=self._walk.walked(),
        )

    # ---- what arrives -------------------------------------------------------------------------------------------

    def _take(self, frames: Frames, now: float, out: list[Command]) -> None:
        body = messages.from_broker(frames)
        if isinstance(body, str):
            out.extend(self._violations.add(BROKER, body, now))
            return
        if self.state == Does.LEFT:
            return  # what came in one batch with EXIT
        self._heard = now
        self._taken.heard(now)
        if body == PONG:
            self._pong(now, out)
        elif body == EXIT:
            self._leave(On.EXIT, "the broker said EXIT", out)
        elif self.state == Does.JOINING:
            self.dropped += 1
            self._step(On.JOB)
        else:
            self._work(body, now, out)

    def _step(self, event: str, guard: str = "") -> None:
        self.state = self._walk.step(self.state, event, guard)

    def _pong(self, now: float, out: list[Command]) -> None:
        # 002 "Worker is ready", 3: the broker is alive
        if self._pinged is not None:
            self._rtt, self._pinged = now - self._pinged, None
        before = self.state
        self._step(On.PONG)
        if before == Does.JOINING:
            self._ping_at = now + self.options.ping_every
            out.append(Note("good", "joined"))

    def _work(self, job: bytes, now: float, out: list[Command]) -> None:
        # 002 "Broker assign job", 2: whatever is not PONG or EXIT is a job
        another = self.state == Does.WORKING
        if another:
            self._abandon(out)
        self._job, self._given = job, now
        if another:  # it works, so it is slow
            self._step(On.JOB)
        elif self._delay:
            self._step(On.JOB, If.TAKES_TIME)
        else:
            self._finish(On.JOB, now, out)

    def _finish_due(self, now: float, out: list[Command]) -> None:
        if now >= self._given + self._delay:
            self._finish(On.DONE, now, out)

    def _finish(self, event: str, now: float, out: list[Command]) -> None:
        # 002 "Broker assign job", 3: send the result
        if self.executing is not None:
            self.executing(messages.named(self._job))
        result = messages.result_of(self._job)
        self._job, self._given = b"", NEVER
        if result in NOT_A_RESULT:  # ruling 3
            self._step(event, If.LAST_COMMAND if self._leaving else If.COMMAND)
            out.extend(self._violations.add(BROKER, "a job whose result would be a command", now))
            self._ready(now, out)
        else:
            if event == On.JOB:
                self._at_once.times += 1
            else:
                self._step(event, If.LAST if self._leaving else "")
            self.done += 1
            out.append(Send([b"", result]))
        if self._leaving:
            self._exit(self._leaving, out)

    # ---- time ---------------------------------------------------------------------------------------------------

    def _misfits(self) -> list[Command]:
        """What in our own settings can not work together, with both values."""
        every, options = self.options.ping_every, self.options
        limits = [(f"WORKER_EXPIRE_SECONDS is {options.worker_expiry:g} s", options.worker_expiry)]
        words = f"N_TIMEOUTS × BROKER_TIMEOUT is {self._silence:g} s"
        limits.append((words, self._silence))
        told = "they do not fit together"
        return [Note("warn", f"a PING every {every:g} s, and {why}: {told}") for why, limit in limits if every >= limit]

    def _start(self, now: float, out: list[Command]) -> None:
        self._heard = now
        self._ready(now, out)

    def _ready(self, now: float, out: list[Command]) -> None:
        # 002 "Worker is ready", 1; PINGs follow its PONG
        self._ping_at, self._pinged = NEVER, now
        out.append(Send([b"", READY]))

    def _connected(self, now: float, out: list[Command]) -> None:
        """Ruling 16: what was under way on a connection that broke is lost."""
        if not self._broken:
            return
        self._broken = False
        self._step(On.CONNECTED)
        if self.state == Does.JOINING:
            self._ready(now, out)

    def _wake(self, now: float, out: list[Command]) -> None:
        self._finish_due(now, out)
        if self.state == Does.LEFT:
            return
        if now >= self._heard + self._silence:
            self._reopen(now, out)
        elif now >= self._ping_at:
            # 002 "Worker sends PING", 1
            self._step(On.SECOND)
            self._ping_at = now + self.options.ping_every
            if self._pinged is None:
                self._pinged = now
            out.append(Send([b"", PING]))

    def _reopen(self, now: float, out: list[Command]) -> None:
        # 002 "Broker timeout": close, initialise the socket anew, READY
        self.reopened += 1
        before = self.state
        self._step(On.SILENCE, If.LAST if self._leaving else "")
        if before == Does.WORKING:
            self._taken.disconnected()  # its broker may have given it up: that is no takeover
            self._abandon(out)
        if self.state == Does.LEFT:
            self._exit(self._leaving, out)
            return
        taken, self._broken = self._taken.silent(now), False
        if before != Does.JOINING:
            out.append(Note("warn", f"the broker is silent for {self._silence:g} s: the socket is opened anew"))
        out += self._name.reopen(taken)
        self._start(now, out)

    def _abandon(self, out: list[Command]) -> None:
        self.abandoned += 1
        self._job, self._given = b"", NEVER
        out.append(Note("warn", "the job in hand is abandoned: its broker has given it up"))

    def _leave(self, event: str, reason: str, out: list[Command]) -> None:
        self._step(event)
        if self.state == Does.LEFT:
            self._exit(reason, out)
        else:
            self._leaving = reason

    def _exit(self, reason: str, out: list[Command]) -> None:
        self._ping_at = NEVER
        out.append(Exit(reason))
