"""The worker: READY, then REPLY for REQUEST and a HEARTBEAT every so often; it starts over when it is disconnected.

The rules of this file:

- *registering*: READY is sent and nothing has come. The RFC answers no READY, so a request may come in this state.
- *ready* and *working*: a HEARTBEAT every so often. Whatever arrives shows that the broker lives.
- DISCONNECT, or silence for as long as ``Options.expiry``: what is in hand is abandoned, for the broker has given it to
  another worker; READY goes out on a new socket.
- A connection that broke may have taken a request with it: on the next one it says READY, unless it has one in hand.
  Where another worker of its name is heard in its place, it takes another name.
- One request at a time. Another one in between means that the broker has forgotten the first.
- ``Leave`` lets it finish what it holds; then it says DISCONNECT and goes.
"""

from __future__ import annotations

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
from tests.sixth.mdp import messages
from tests.sixth.mdp.machine import LAST, WORKER, Does, On
from tests.sixth.mdp.messages import DISCONNECT, HEARTBEAT, READY, REPLY, Said
from tests.sixth.mdp.options import Options

BROKER = b"broker"  # whom its broker's violations are counted to


class Worker:
    """The core of an MDP worker. Orders: ``Leave``, ``Slow``. ``name``: its routing id at first."""

    def __init__(self, options: Options, name: str) -> None:
        self.options = options
        self._name = Name(name)
        self._taken = Taken(options.expiry, options.heartbeat)
        self._broken = False  # its connection is, and it has no other yet
        self.state: str = Does.REGISTERING
        self._walk = Walk(WORKER)
        self._heard = NEVER  # the broker, or the last start
        self._beat_at = NEVER
        self._delay = 0.0  # seconds from a request to its reply
        self._held: Said | None = None
        self._given = NEVER  # when the request in hand came
        self._leaving = False
        self._violations = Violations()
        self.done = self.reopened = self.abandoned = self.unsent = 0

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
                self._connected(now, out)
            case Disconnected():
                self._broken = True
                self._taken.disconnected()
            case Unsent():
                self.unsent += 1
            case Ordered(order=Leave()):
                self._leave(now, out)
            case Ordered(order=Slow(seconds=seconds)):
                self._delay = seconds
            case Paused(seconds=seconds):
                self._heard = min(now, self._heard + seconds)
            case Started():
                self._register(now, out)
            case Ordered() | Finished():
                raise ValueError(f"an MDP worker takes no {event}")
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        if self.state == Does.LEFT:
            return NEVER
        return min(self._heard + self.options.expiry, self._beat_at, self._given + self._delay)

    def check(self) -> None:
        """See ``engine.core.Core``."""
        assert (self.state == Does.WORKING) == (self._held is not None) == (self._given != NEVER)
        assert self.state == Does.WORKING or not self._leaving or self.state == Does.LEFT

    def snapshot(self, now: float) -> WorkerView:
        """See ``engine.core.Core``."""
        return WorkerView(
            at=now,
            state=self.state,
            slots=1,
            running=int(self.state == Does.WORKING),
            done=self.done,
            broker_heard=self._heard,
            terms=(
                ("service", self.options.service),
                ("starts over in", f"{max(0.0, self._heard + self.options.expiry - now):.1f} s"),
                ("delay", f"{self._delay:g} s"),
                ("started over", str(self.reopened)),
                ("abandoned", str(self.abandoned)),
                ("violations", str(self._violations.total)),
                ("unsent", str(self.unsent)),
            ),
            joined=self.state in (Does.READY, Does.WORKING),
            walked=self._walk.walked(),
        )

    # ---- what arrives -------------------------------------------------------------------------------------------

    def _take(self, frames: Frames, now: float, out: list[Command]) -> None:
        said = messages.at_worker(frames)
        if isinstance(said, str):
            out.extend(self._violations.add(BROKER, said, now))
            return
        if self.state == Does.LEFT:
            return  # what came in one batch with the last reply
        before = self.state
        self._step(messages.NAMES[said.command])
        if said.command == DISCONNECT:
            self._start_over(before, "the broker said DISCONNECT", False, now, out)
            return
        self._heard = now
        self._taken.heard(now)
        if before == Does.REGISTERING:
            out.append(Note("good", "joined"))
        if said.command != HEARTBEAT:
            self._work(said, now, out)

    def _step(self, event: str) -> None:
        last = self._leaving and event in (On.DONE, On.DISCONNECT, On.SILENCE)
        self.state = self._walk.step(self.state, event, LAST if last else "")

    def _work(self, said: Said, now: float, out: list[Command]) -> None:
        if self._held is not None:
            self._abandon(out)
        self._held, self._given = said, now
        self._finish(now, out)

    def _finish(self, now: float, out: list[Command]) -> None:
        if self._held is None or now < self._given + self._delay:
            return
        body = messages.answer_to(self._held.body)
        self._step(On.DONE)
        out.append(Send(messages.to_broker(REPLY, self._held.client, b"", *body)))
        self.done += 1
        self._held, self._given = None, NEVER
        if self.state == Does.LEFT:
            self._go(out)

    # ---- time and orders ----------------------------------------------------------------------------------------

    def _wake(self, now: float, out: list[Command]) -> None:
        self._finish(now, out)
        if self.state == Does.LEFT:
            return
        if now >= self._heard + self.options.expiry:
            before = self.state
            self._step(On.SILENCE)
            taken = self._taken.silent(now)
            self._start_over(before, f"the broker is silent for {self.options.expiry:g} s", taken, now, out)
        elif now >= self._beat_at:
            self._step(On.DUE)
            self._beat_at = now + self.options.heartbeat
            out.append(Send(messages.to_broker(HEARTBEAT)))

    def _start_over(self, before: str, why: str, taken: bool, now: float, out: list[Command]) -> None:
        if self._held is not None:
            self._abandon(out)
        if self.state == Does.LEFT:
            self._go(out)
            return
        if before != Does.REGISTERING:
            out.append(Note("warn", f"{why}: READY on a new socket"))
        self.reopened += 1
        self._broken = False
        out += self._name.reopen(taken)
        self._register(now, out)

    def _register(self, now: float, out: list[Command]) -> None:
        self._heard, self._beat_at = now, now + self.options.heartbeat
        out.append(Send(messages.to_broker(READY, self.options.service.encode())))

    def _connected(self, now: float, out: list[Command]) -> None:
        """What was under way on a connection that broke is lost; what is in hand goes on, and the broker judges it."""
        if self._broken and self.state != Does.LEFT:
            self._step(On.ANEW)
            if self.state == Does.REGISTERING:
                self._register(now, out)
        self._broken = False

    def _abandon(self, out: list[Command]) -> None:
        self.abandoned += 1
        self._held, self._given = None, NEVER
        out.append(Note("warn", "the request in hand is abandoned: its broker has given it up"))

    def _leave(self, now: float, out: list[Command]) -> None:
        if self.state == Does.LEFT:
            return
        self._step(On.LEAVE)
        if self.state == Does.LEFT:
            self._go(out)
        else:
            self._leaving = True

    def _go(self, out: list[Command]) -> None:
        self._leaving = False
        out += [Send(messages.to_broker(DISCONNECT)), Exit("it was told to leave")]
