"""The broker of seed 004 as a core: what comes to it, and which of a pair it is.

The rules of this file:

- ``service`` says what a message means. It is asked only while this broker serves, which a broker without a fallback
  always does.
- A broker of a pair that does not serve changes nothing for a worker or client. It says where the other one is (301),
  keeps CHECKCONFIG and NEEDBROKER waiting while it finds out its own rank, and answers anything else FORCENEGOTIATE.
- A connection of a worker or client that is known is a new link: unless its first message negotiates, it is told to,
  for what was under way on the one before is lost. Where that one has not ended, a second peer has taken its id over.
- Its dispatcher is then the copy of the other one's. When it begins to serve, it adopts what is on it.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.core import (
    MAIN,
    Command,
    Connected,
    Disconnected,
    Event,
    Frames,
    Level,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Started,
    Unsent,
)
from engine.parts.explain import show
from engine.parts.limits import MAX_ROUTING_ID
from engine.parts.orders import ClockSet, Discard, Drain, Expire, Inspect, Move, Requeue, Throttle, Undrain, Withdraw
from engine.parts.plain import several
from engine.parts.view import BrokerView
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names, orders, picture
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.machine import Rank
from engine.protocols.negotiated.operated import Operated
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.orders import (
    CONTROL,
    Answer,
    Configure,
    HandBack,
    Refusal,
    Request,
    Said,
    Serve,
    ShowPair,
)
from engine.protocols.negotiated.pair import FALLBACK_ID, PEER, ROLES, Pair
from engine.protocols.negotiated.tasks import FRONTEND

ELSEWHERE = "the configuration comes from the broker that serves"
MAX_WAITING = 1024  # peers that are kept waiting
MAX_BROKEN = 100_000  # peers whose connections ended and that were not heard of since
PEERS = (MAIN, FRONTEND)  # the sockets of workers and clients
NEGOTIATES = (names.CHECKCONFIG, names.READY, names.NEEDBROKER)


class Publish(NamedTuple):
    """Broker: serve the configuration under this version from now on; peers that run another one are told (426)."""

    version: int


class Broker:
    """``here``: where our own peers connect; ``wall_offset``: wall time less ``now``, seconds."""

    def __init__(
        self, options: Options, config: Config, here: Address, *, pair: Pair | None = None, wall_offset: float = 0.0
    ) -> None:
        self.service = Operated(options, config, here, wall_offset)
        self.pair = pair
        self.serving = pair is None
        self.inspected: bytes | None = None
        self._broken: dict[tuple[str, bytes], None] = {}  # known peers whose connection has ended, oldest first
        self._fresh: set[tuple[str, bytes]] = set()  # known peers on a new connection that said nothing so far
        self._waiting: dict[tuple[str, bytes], Frames] = {}  # who is kept waiting, and its last message
        self._rank: str | None = None  # that was noted last

    # ---- the contract -------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Takes Inspect, Drain, Withdraw, Discard, Move, ClockSet, Publish, the system's ``takes`` and ``orders``."""
        service = self.service
        out: list[Command] = []
        service.out = out
        if self.pair is not None and not isinstance(event, Started):
            self.pair.standby.tick(now)  # whoever was not run for long finds out before it serves
            self._settle(now)
        match event:
            case Received(messages, "main"):
                self._heard_someone(now)
                for frames in messages:
                    self._receive(MAIN, frames, wire.FROM_WORKERS, now)
            case Received(messages, "frontend"):
                self._heard_someone(now)
                for frames in messages:
                    self._receive(FRONTEND, frames, wire.FROM_CLIENTS, now)
            case Received(messages, "control"):
                for frames in messages:
                    self._asked(frames, now)
            case Received(messages, _):
                for frames in messages:
                    self._from_broker(frames, now)
            case Unsent(frames, _, socket):
                if socket == PEER and self.pair is not None:
                    self.pair.unsent(service.dispatcher)
                else:
                    service.unsent(frames, socket, now)
            case Connected(socket, peer) if socket in PEERS:
                self._connected(socket, peer)
            case Disconnected(socket, peer) if socket in PEERS:
                self._disconnected(socket, peer)
            case Ordered(order):
                self._ordered(order, now)
            case Started() if self.pair is not None:
                self.pair.start(now, now + service.wall_offset)
            case Paused(seconds):
                out.append(Note("warn", f"the broker was paused for {seconds:.0f} s"))
                service.grace(seconds, now)
                if self.pair is not None:
                    self.pair.standby.pause(now)
        if service.wake_at() <= now:
            service.expire(now)
        if self.pair is not None:
            self._settle(now)
            out += self.pair.flush(service.dispatcher, service.config, now)
        return out

    def wake_at(self) -> float:
        """When a peer may expire, or the other broker is to be told something."""
        at = self.service.wake_at()
        return at if self.pair is None else min(at, self.pair.standby.wake_at())

    def check(self) -> None:
        """Dispatcher, books, liveness and rank agree."""
        self.service.check(self.serving)
        assert self.pair is None or self.serving == self.pair.standby.active

    def snapshot(self, now: float) -> BrokerView:
        """What an operator sees."""
        return picture.broker(self.service, self.pair, self.inspected, now)

    # ---- messages and orders ------------------------------------------------------------------------------------

    def _receive(self, socket: str, frames: Frames, known: dict[bytes, wire.Fields], now: float) -> None:
        peer = frames[0]
        message = wire.parse(frames, 1, known)
        if isinstance(message, str):
            self.service.refuse(socket, peer, message, now)
            return
        if self._fresh and (socket, peer) in self._fresh:
            self._fresh.discard((socket, peer))
            if self.serving and message[0] not in NEGOTIATES:
                self.service.negotiate(socket, peer)
        if self.serving or self._admit(socket, frames, message[0], now):
            if socket == MAIN:
                self.service.from_worker(peer, message, now)
            else:
                self.service.from_client(peer, message, now)

    def _is_known(self, socket: str, peer: bytes) -> bool:
        if socket == FRONTEND:
            return peer in self.service.clients
        member = self.service.dispatcher.members.get(peer)
        return self.serving and member is not None and not member.away

    def _connected(self, socket: str, peer: bytes) -> None:
        ended = (socket, peer) in self._broken
        self._broken.pop((socket, peer), None)
        if not self._is_known(socket, peer):
            return
        self._fresh.add((socket, peer))
        if not ended:
            self.service.count("ids taken over")
            who = f"client {show(peer)}" if socket == FRONTEND else self.service.dispatcher.members[peer].name
            words = f"a second connection has taken over the id of {who}, and is served"
            self.service.out.append(Note("warn", f"{words} from now on", peer))

    def _disconnected(self, socket: str, peer: bytes) -> None:
        self._fresh.discard((socket, peer))
        if self._is_known(socket, peer):
            self._broken[socket, peer] = None
            if len(self._broken) > MAX_BROKEN:
                del self._broken[next(iter(self._broken))]

    def _ordered(self, order: object, now: float) -> None:
        service = self.service
        match order:
            case Inspect(worker):
                self.inspected = worker
            case Drain(worker):
                service.drain(worker, now)
            case ClockSet(offset):
                service.set_clock(offset, now)
            case Discard(client, ident) if self.serving:
                service.discard((client, ident), now)
            case Move(client, ident, first) if self.serving:
                service.reorder((client, ident), first)
            case Discard() | Move():
                service.out.append(Note("warn", "requests wait at the broker that serves", declines=True))
            case Withdraw(client):
                if self.serving:
                    service.withdraw(client, now)
                else:
                    service.out.append(Note("warn", "requests are withdrawn at the broker that serves", declines=True))
            case Undrain() | Expire() | Requeue() | Throttle() if self.serving:
                service.operate(order, now)
            case Undrain() | Expire() | Requeue() | Throttle():
                service.out.append(Note("warn", "the broker that serves takes such orders", declines=True))
            case Publish(version):
                self._publish(version)
            case ShowPair() | HandBack() | Serve() | Configure():
                answer = self._answer(0, order, now)
                words = [answer.why] if isinstance(answer, Refusal) else answer.lines
                level: Level = "warn" if isinstance(answer, Refusal) else "info"
                service.out += [Note(level, line, declines=level == "warn") for line in words]
            case _:
                raise TypeError(f"a negotiated broker takes no order {order!r}")

    def _publish(self, version: int) -> None:
        if wire.version(version) is None:
            raise ValueError(f"{version!r} is no config_version")
        if not self.serving:
            self.service.out.append(Note("warn", ELSEWHERE))
            return
        self._served(self.service.config.at(version))

    def _configure(self, ref: int, order: Configure) -> Answer:
        """Another value for a key of the configuration, under the next version."""
        if not self.serving:
            return Refusal(ref, ELSEWHERE)
        changed = self.service.config.changed(order.key, order.value, self.service.options)
        if isinstance(changed, str):
            return Refusal(ref, changed)
        self._served(changed)
        workers = len(self.service.dispatcher.members)
        fallback = "; the fallback gets it too" if self.pair is not None else ""
        told = f"{several(workers, 'worker')} and all clients are told (426) and negotiate anew{fallback}"
        return Said(ref, (f"{order.key} is {order.value} s in configuration {changed.version}: {told}",))

    def _served(self, config: Config) -> None:
        service, version = self.service, config.version
        service.config = config
        for member in service.dispatcher.members.values():
            member.row = None
        if self.pair is not None:
            self.pair.publish(service.dispatcher, service.config)
        service.out.append(Note("info", f"configuration {version} is served from now on"))

    def _asked(self, frames: Frames, now: float) -> None:
        """A request of the operator, over the socket that only this process reaches."""
        found = orders.request(frames[-1])
        if not isinstance(found, str):
            answer = orders.pack_answer(self._answer(*found, now))
            self.service.out.append(Send([frames[0], answer], CONTROL))

    def _answer(self, ref: int, request: Request, now: float) -> Answer:
        """Do what an operator asks of the pair."""
        pair, service = self.pair, self.service
        if isinstance(request, Configure):
            return self._configure(ref, request)
        if pair is None:
            return Refusal(ref, "this broker is none of a pair: negotiated.fallback is not set where it runs")
        match request:
            case HandBack():
                why = pair.hand_back(now)
                done = f"handed back: the {ROLES['primary']} at {pair.theirs.workers} serves from now on"
            case Serve():
                why = pair.serve(now)
                done = f"the fallback serves at {service.here.workers} from now on"
            case _:
                return Said(ref, pair.lines(service.dispatcher, service.here, now))
        return Refusal(ref, why) if why else Said(ref, (done,))

    # ---- the pair -----------------------------------------------------------------------------------------------

    def _heard_someone(self, now: float) -> None:
        if self.serving and self.pair is not None:
            self.pair.standby.request(now)

    def _admit(self, socket: str, frames: Frames, command: bytes, now: float) -> bool:
        """A worker or client asks a broker that does not serve: whether it does from now on."""
        pair, service, peer = self.pair, self.service, frames[0]
        assert pair is not None, "a broker without a fallback always serves"
        doubtful = pair.standby.doubtful(now)
        pair.standby.request(now)
        self._settle(now)
        if self.serving:
            return True
        asks = command in (names.CHECKCONFIG, names.NEEDBROKER)
        if pair.standby.state == Rank.PASSIVE and not doubtful:
            theirs = pair.theirs.workers if socket == MAIN else pair.theirs.clients
            if command == names.NEEDBROKER:
                service.tell(socket, peer, names.CHANGEBROKER, {"code": names.MOVED, "endpoint": theirs})
            else:
                service.move(socket, peer, theirs)
        elif not asks:
            service.negotiate(socket, peer)
        elif len(self._waiting) < MAX_WAITING or (socket, peer) in self._waiting:
            self._waiting[socket, peer] = frames
        else:
            service.count("unanswered: too many wait")
        return False

    def _from_broker(self, frames: Frames, now: float) -> None:
        pair, service = self.pair, self.service
        start = 1 if pair is not None and pair.role == "primary" else 0
        peer = frames[0] if start else b""
        message = wire.parse(frames, start, wire.BETWEEN_BROKERS)
        if pair is None or isinstance(message, str) or (start and peer != FALLBACK_ID):
            reason = message if isinstance(message, str) else "not the fallback"
            service.out += service.violations.add(peer[:MAX_ROUTING_ID], f"between brokers: {reason}", now)
            return
        command, header, body = message
        if command == names.BROKERSTATE:
            pair.state(header, service.dispatcher, now)
            return
        changed = pair.change(header["sequence"], body, service.dispatcher, now)
        if changed is None:
            service.count("replicas of no use")
            return
        service.dispatcher, config = changed
        service.config = config or service.config

    def _settle(self, now: float) -> None:
        """Begin or cease to serve, as the rank of this broker says."""
        pair, service = self.pair, self.service
        assert pair is not None
        state = pair.standby.state
        if state == self._rank:
            return
        if self._rank is not None:
            service.out.append(pair.note(self._rank))
        self._rank = state
        if pair.standby.active:
            self.serving = True
            service.adopt(now)
        elif self.serving:
            self.serving = False
            service.retire(pair.theirs if pair.standby.yielded else None)
            pair.forget(now)
        waiting, self._waiting = self._waiting, {}
        for (socket, _), frames in waiting.items():
            self._receive(socket, frames, wire.FROM_WORKERS if socket == MAIN else wire.FROM_CLIENTS, now)
