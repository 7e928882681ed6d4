"""The worker of seed 004: offers services, does what it is asked, says what it holds.

The rules of this file:

- ``ping`` gives its body back and ``data`` gives as many bytes as its body says in decimal; both are answered at once.
  Any other service is run by the command that the worker's operator named for it (``Piped``); its output is the reply.
  What fails, takes too long or is run by nothing is answered too: with ``error``, which the broker passes on.
- ``Slow`` makes it answer each task so many seconds after it came.
- Work is taken in whatever state the link is, for a negotiation does not end it; but never more than ``slots`` at a
  time, and none after the worker has said goodbye.
- A worker that leaves offers nothing any more (a READY without services), finishes what it holds, says so again with
  nothing held, and is gone with the READYOK, or when there is none for an interval.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from engine.core import (
    NEVER,
    Cancel,
    Command,
    Connected,
    Disconnected,
    Event,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Piped,
    Received,
    Send,
    Start,
    Started,
    Unsent,
    Woken,
)
from engine.parts.limits import decimal
from engine.parts.machine import Walk
from engine.parts.orders import ClockSet, Leave, Slow
from engine.parts.plain import clean
from engine.parts.view import WorkerView
from engine.protocols.negotiated import endpoints as ends
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.link import BROKER, Link
from engine.protocols.negotiated.machine import WORK, At, Does, If, On
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.services import BUILT_IN, idle, offered


class Worker:
    """``identity``: its routing id as text; ``slots``: 1..1000; ``wall_offset`` and ``saved`` as in ``Link``."""

    def __init__(
        self,
        options: Options,
        endpoint: str,
        identity: str,
        slots: int,
        *,
        wall_offset: float = 0.0,
        saved: bytes | None = None,
    ) -> None:
        try:
            self._runs = offered(options.services)
        except ValueError as error:
            raise ValueError(f"negotiated.services = {options.services!r}: {error}") from None
        self.link = Link(options, endpoint, identity, self._offer, wall_offset=wall_offset, saved=saved)
        self.slots = min(slots, wire.MAX_SLOTS)
        self.services = list(self._runs)
        self.holding: dict[bytes, str] = {}  # identifier → service
        self.done = 0
        self.violations = self.link.violations
        self.refused = 0  # requests beyond the slots, repeated ones, and those that came after the goodbye
        self.executing: Callable[[bytes], object] | None = None  # is told the id of each task before it is answered
        self._delay = 0.0
        self._slow: deque[tuple[float, bytes, bytes]] = deque()  # when it came, identifier, reply
        self.state: str = Does.WORKING
        self._walk = Walk(WORK)
        self._took = self._walk.tally(Does.WORKING, On.WORKREQUEST)
        self._gone_at = NEVER
        self._limit = options.service_seconds
        self._until: dict[bytes, float] = {}  # identifier → when its command is killed, in the order of these times
        self._killed: set[bytes] = set()

    def handle(self, event: Event, now: float) -> list[Command]:
        """Takes the orders Leave, Slow and ClockSet."""
        out: list[Command] = []
        match event:
            case Received(messages, _):
                self.link.heard = now
                for frames in messages:
                    self._receive(frames, out, now)
            case Finished(key, ok, result) if isinstance(key, bytes) and key in self.holding:
                self._ended(key, ok, result, out)
                self._farewell(out, now)
            case Connected():
                out += self.link.connected(now)
            case Disconnected():
                self.link.disconnected()
            case Started():
                out += [Note("warn", f"nothing runs {name}: requests get an error") for name in idle(self._runs)]
                out += self.link.start(now)
            case Woken():
                pass
            case Ordered(Leave()):
                self._leave(out, now)
            case Ordered(Slow(seconds)):
                self._delay = max(0.0, seconds)
            case Ordered(ClockSet(offset)):
                self.link.set_clock(offset, now)
            case Ordered(order):
                raise TypeError(f"a negotiated worker takes no order {order!r}")
            case Paused(seconds):
                self.link.grace(seconds)
                out.append(Note("warn", f"the worker was paused for {seconds:.0f} s"))
            case Unsent():
                self.refused += 1
        self._answer_slow(out, now)
        self._kill(out, now)
        if now >= self._gone_at and self.link.state != At.ENDED:
            self._left(On.LATE, "left; the broker did not say READYOK", out)
        elif self.link.state != At.ENDED:
            out += self.link.tick(now)
        if self.link.state == At.ENDED and self.state != Does.LEFT:
            self._step(On.ENDED)
        return out

    def wake_at(self) -> float:
        """When the link has something to do, or the worker leaves without an answer."""
        slow = self._slow[0][0] + self._delay if self._slow else NEVER
        return min(self.link.wake_at(), self._gone_at, slow, next(iter(self._until.values()), NEVER))

    def check(self) -> None:
        """Never more held than offered, and nobody works without a link."""
        assert len(self.holding) <= self.slots
        assert (self.state == Does.LEFT) == (self.link.state == At.ENDED)

    def snapshot(self, now: float) -> WorkerView:
        """What an operator sees."""
        link = self.link
        terms = [
            *ends.whereabouts(link.first, link.endpoint),
            ("link", link.state),
            ("services", ", ".join(self.services)),
        ]
        terms.append(("config_version", str(link.config.version) if link.config is not None else "none"))
        terms.append(("skew", f"{round(link.skew, 2) + 0.0:+.2f} s"))
        if link.rtt is not None:
            terms.append(("rtt", f"{link.rtt * 1000:.1f} ms"))
        if link.told is not None:
            terms.append(("told", str(link.told)))
        state = self.state if self.state == Does.LEAVING else link.state
        held = len(self.holding)
        walked = (*link.walk.walked(), *self._walk.walked())
        return WorkerView(now, state, self.slots, held, self.done, link.heard, tuple(terms), link.linked, walked)

    # ---- work -----------------------------------------------------------------------------------------------------

    def _receive(self, frames: Frames, out: list[Command], now: float) -> None:
        if self.link.state == At.ENDED:
            return  # what came in one batch with its end
        message = wire.parse(frames, 0, wire.TO_WORKERS)
        if isinstance(message, str):
            out += self.violations.add(BROKER, message, now)
            return
        command, header, body = message
        if command == names.WORKREQUEST and not self.link.work(header, out, now):
            self.refused += 1
        elif command == names.WORKREQUEST:
            self._work(header[names.IDENTIFIER], header["service"], body, out, now)
        elif command == names.READYOK and self.state == Does.LEAVING and not self.holding:
            self._left(On.READYOK, "left", out)
        else:
            out += self.link.received(message, now)

    def _work(self, identifier: bytes, service: str, body: bytes, out: list[Command], now: float) -> None:
        if self.state != Does.WORKING or len(self.holding) >= self.slots or identifier in self.holding:
            self.refused += 1
            self._step(On.WORKREQUEST, If.NO_SLOT if self.state == Does.WORKING else "")
            return
        self._took.times += 1
        self.holding[identifier] = service
        if words := self._runs.get(service, ()):
            self._until[identifier] = now + self._limit
            out.append(Start(identifier, Piped(words, body)))
            return
        if service not in BUILT_IN:
            does = "runs nothing for" if service in self._runs else "does not offer"
            self._answer(identifier, b"", out, f"this worker {does} {service}")
            return
        reply = body if service == "ping" else b"\0" * (decimal(body, 0, wire.MAX_BODY) or 0)
        if self._delay or self._slow:
            self._slow.append((now, identifier, reply))
        else:
            self._answer(identifier, reply, out)

    def _answer_slow(self, out: list[Command], now: float) -> None:
        while self._slow and self._slow[0][0] + self._delay <= now:
            _, identifier, reply = self._slow.popleft()
            self._answer(identifier, reply, out)
            self._farewell(out, now)

    def _ended(self, identifier: bytes, ok: bool, result: bytes, out: list[Command]) -> None:
        """The command of a service has ended."""
        self._until.pop(identifier, None)
        late = identifier in self._killed
        self._killed.discard(identifier)
        if ok and len(result) <= wire.MAX_BODY:
            self._answer(identifier, result, out)
            return
        said = clean(result.decode("utf-8", "replace"), wire.MAX_TEXT) or "it failed"
        why = f"it took longer than {self._limit:g} s" if late else "its output is too large" if ok else said
        self._answer(identifier, b"", out, why)

    def _kill(self, out: list[Command], now: float) -> None:
        """End commands that take too long; their ends are still reported."""
        while self._until and next(iter(self._until.values())) <= now:
            identifier = next(iter(self._until))
            del self._until[identifier]
            self._killed.add(identifier)
            out.append(Cancel(identifier))

    def _answer(self, identifier: bytes, body: bytes, out: list[Command], error: str = "") -> None:
        del self.holding[identifier]
        if self.executing is not None and (key := wire.task_key(identifier)) is not None:
            self.executing(key[1])
        self.done += 1
        header: wire.Header = {names.IDENTIFIER: identifier}
        if error:
            header[names.ERROR] = error
        out.append(Send(wire.build(names.WORKREPLY, header, body[: wire.MAX_BODY])))

    # ---- leaving --------------------------------------------------------------------------------------------------

    def _offer(self) -> wire.Header:
        services = self.services if self.state == Does.WORKING else []
        return {"services": services, "slots": self.slots, "holding": list(self.holding)}

    def _leave(self, out: list[Command], now: float) -> None:
        if self.state == Does.WORKING and not self.link.links and not self.holding:
            self._left(On.LEAVE, "left before it had joined", out, If.NEVER_JOINED)
        elif self.state != Does.LEFT:
            before = self.state
            self._step(On.LEAVE)
            if before == Does.LEAVING:
                return
            if self.holding:
                out += self.link.rejoin(now)
            self._farewell(out, now)

    def _left(self, event: str, reason: str, out: list[Command], guard: str = "") -> None:
        self._step(event, guard)
        self._gone_at = NEVER
        out += self.link.left(reason)

    def _step(self, event: str, guard: str = "") -> None:
        self.state = self._walk.step(self.state, event, guard)

    def _farewell(self, out: list[Command], now: float) -> None:
        if self.state == Does.LEAVING and not self.holding:
            self._step(On.IDLE)
            self._gone_at = now + self.link.interval
            out += self.link.rejoin(now)
