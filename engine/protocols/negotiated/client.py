"""The client of seed 004: sends tasks to services of the broker, and repeats them where they may have been lost.

The rules of this file:

- Tasks are sent while the link is up. Whenever it comes up anew (another broker, a restarted one), every task that is
  out is sent again under its id: a broker that still knows it ignores the repetition.
- An id is a little-endian counter that goes on from run to run, so a late reply never counts for another run.
- A ``ping`` task goes to the service ``ping`` without a body, ``data`` to the service ``data`` with the size as its
  body; a reply of another size is wrong.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

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
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.orders import ClockSet, StopRun
from engine.parts.plain import clean
from engine.parts.runner import BYTES, Runner
from engine.parts.store import GLOBAL
from engine.parts.view import ClientView
from engine.protocols.negotiated import endpoints as ends
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.link import BROKER, Link
from engine.protocols.negotiated.machine import At, On
from engine.protocols.negotiated.options import Options

FIRST_ASK = 1 << 62  # requests of orders are numbered from here: no run comes near it
ANSWERS = 64  # that are kept, and requests that may wait for theirs
FAILED = {names.TOO_MANY: "refused", names.REFUSED: "withdrawn"}
"""Code → how a task that ends with it has failed; every other one: undeliverable."""

TELLING = ("refused", "undeliverable")  # of a task with a global id: a broker with a store says why
MOST_WHY = 200  # characters of that

UNOFFERED = "not offered"
"""How a task has failed where the broker names its service: nobody offers that."""


class Ask(NamedTuple):
    """Client: send one request to a service; its answer is in the snapshot's ``answers``."""

    service: str
    body: bytes


class Answered(NamedTuple):
    """What a request was answered; ``error``: why there is nothing, empty where there is."""

    service: str
    body: bytes
    error: str


class Client:
    """``endpoint``: the broker's frontend; ``identity``: our routing id as text; the others as in ``Link``."""

    def __init__(
        self, options: Options, endpoint: str, identity: str, *, wall_offset: float = 0.0, saved: bytes | None = None
    ) -> None:
        self.link = Link(options, endpoint, identity, None, wall_offset=wall_offset, saved=saved)
        self.runs = Runner()
        self.violations = self.link.violations
        self._answered = self.link.walk.tally(At.LINKED, On.WORKREPLY)
        self.undelivered = 0
        self._asked: dict[int, Ask] = {}  # number → a request that is not answered yet
        self._numbers = 0
        self._answers: deque[Answered] = deque(maxlen=ANSWERS)

    def handle(self, event: Event, now: float) -> list[Command]:
        """Takes the orders BulkSpec, Ask, StopRun and ClockSet."""
        out: list[Command] = []
        links = self.link.links
        match event:
            case Received(messages, _):
                self.link.heard = now
                for frames in messages:
                    self._receive(frames, out, now)
            case Connected():
                out += self.link.connected(now)
            case Disconnected():
                self.link.disconnected()
            case Started():
                out += self.link.start(now)
            case Woken():
                pass
            case Ordered(BulkSpec() as spec):
                self.runs.begin(spec, now, out, wire.MAX_BODY)
            case Ordered(Ask() as ask):
                self._ask(ask, out)
            case Ordered(StopRun()):
                self.runs.stop(now)
            case Ordered(ClockSet(offset)):
                self.link.set_clock(offset, now)
            case Ordered(order):
                raise TypeError(f"a negotiated client takes no order {order!r}")
            case Paused(seconds):
                self.link.grace(seconds)
                out.append(Note("warn", f"the client was paused for {seconds:.0f} s"))
            case Unsent():
                self.undelivered += 1  # what it was is sent again when the link comes up anew, or times out
        out += self.link.tick(now)
        if self.link.linked and self.link.links != links:
            out += [_asking(number, ask) for number, ask in self._asked.items()]
        self.runs.expire(now)
        if self.link.linked:
            again = self.runs.repeat() if self.link.links != links else []
            out += map(self._request, (*again, *self.runs.due(now)))
        return out

    def wake_at(self) -> float:
        """When the link or the run has something to do; a run waits for the link."""
        at = self.link.wake_at()
        return min(at, self.runs.wake_at()) if self.link.linked or self.link.state == At.ENDED else at

    def check(self) -> None:
        """The books of the run balance."""
        self.runs.check()

    def snapshot(self, now: float) -> ClientView:
        """What an operator sees."""
        link = self.link
        terms = [*ends.whereabouts(link.first, link.endpoint), ("link", link.state)]
        terms.append(("config_version", str(link.config.version) if link.config is not None else "none"))
        terms.append(("skew", f"{round(link.skew, 2) + 0.0:+.2f} s"))
        terms.append(("repeated", str(self.runs.again)))
        if link.told is not None:
            terms.append(("told", str(link.told)))
        run, late, legs, walked = self.runs.view(now), self.runs.late, self.runs.legs.view(), link.walk.walked()
        return ClientView(now, link.linked, run, late, legs, tuple(terms), tuple(self._answers), walked)

    # ---- requests -------------------------------------------------------------------------------------------------

    def _request(self, task: int) -> Send:
        assert self.runs.bulk is not None
        spec = self.runs.bulk.spec
        body = b"%d" % spec.size if spec.kind == "data" else b""
        header = {names.IDENTIFIER: self.runs.ident(task), "service": spec.kind}
        return Send(wire.build(names.WORKREQUEST, header, body))

    def _ask(self, ask: Ask, out: list[Command]) -> None:
        if len(self._asked) >= ANSWERS or wire.service(ask.service) is None or len(ask.body) > wire.MAX_BODY:
            self._answers.append(Answered(ask.service, b"", "no such request can be sent"))
            return
        self._numbers += 1
        self._asked[self._numbers] = ask
        if self.link.linked:
            out.append(_asking(self._numbers, ask))

    def _ends_ask(self, identifier: bytes, body: bytes, error: str) -> bool:
        """Whether a reply is one to ``Ask``."""
        ask = self._asked.pop(int.from_bytes(identifier, "little") - FIRST_ASK, None)
        if ask is not None:
            self._answers.append(Answered(ask.service, body, error))
        return ask is not None

    # ---- replies --------------------------------------------------------------------------------------------------

    def _receive(self, frames: Frames, out: list[Command], now: float) -> None:
        message = wire.parse(frames, 0, wire.TO_CLIENTS)
        if isinstance(message, str):
            out += self.violations.add(BROKER, message, now)
            return
        command, header, body = message
        if self.link.state == At.ENDED:
            return  # what came in one batch with its end
        if command == names.WORKREPLY:
            if self.link.linked:
                self._answered.times += 1
            else:
                self.link.step(On.WORKREPLY)
            self._replied(header, body, now)
        elif command == names.DISCONNECTERROR and names.IDENTIFIER in header:
            self.link.step(On.REFUSAL)
            self._failed(header, out, now)
        else:
            out += self.link.received(message, now)

    def _replied(self, header: wire.Header, body: bytes, now: float) -> None:
        identifier, error = header[names.IDENTIFIER], header.get(names.ERROR, "")
        if (self._asked and self._ends_ask(identifier, body, error)) or not self._awaited(identifier):
            return
        task, run = self.runs.task(identifier), self.runs.bulk
        if error:
            self.runs.failed(task, "error reply", now)
        elif run is not None and len(body) != (run.spec.size if run.spec.kind == "data" else 0):
            self.runs.failed(task, "wrong data", now)
        else:
            self.runs.replied(task, identifier, now, len(body))

    def _failed(self, header: wire.Header, out: list[Command], now: float) -> None:
        identifier = header[names.IDENTIFIER]
        if (self._asked and self._ends_ask(identifier, b"", header["message"])) or not self._awaited(identifier):
            return
        kind = UNOFFERED if "service" in header else FAILED.get(header["code"], "undeliverable")
        if len(identifier) == GLOBAL and kind in TELLING:
            kind = clean(header["message"], MOST_WHY) or kind
        self.runs.failed(self.runs.task(identifier), kind, now)
        if kind == UNOFFERED and self.runs.bulk is not None and self.runs.bulk.ledger.failed[kind] == 1:
            out.append(Note("bad", f"the broker says {header['code']}: {header['message']}"))

    def _awaited(self, identifier: bytes) -> bool:
        """See ``Runner.awaited``; nobody waits for answers to a run that is not tracked."""
        tracked = self.runs.bulk is None or self.runs.bulk.spec.tracked
        return tracked and self.runs.awaited(self.runs.task(identifier))


def _asking(number: int, ask: Ask) -> Send:
    header = {names.IDENTIFIER: (FIRST_ASK + number).to_bytes(BYTES, "little"), "service": ask.service}
    return Send(wire.build(names.WORKREQUEST, header, ask.body))
