"""What each message means at a broker that serves. ``desk`` keeps the workers and tasks, ``broker`` is the core.

The rules of this file:

- A worker enters the LRU queue of each of its services with READY, never before; a client is known from CONFIG on.
  Whoever is not known and speaks is told FORCENEGOTIATE, and begins at CHECKCONFIG.
- A READY says what the worker holds. What else was given to it goes back to the queue, so a worker that lost its
  memory, or was on its way to another broker, keeps nothing waiting. A READY without services is a goodbye.
- A task is accepted once by (client, its id). A repetition of one that is still here is counted and ignored.
- Skew is measured on wall time because the protocol says so; silence never is.
- Every message that is refused is answered with its code, counted, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Collection

from engine.core import MAIN, NEVER, Command, Frames, Note, Send
from engine.parts.inflight import Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs, sampled
from engine.parts.limits import MAX_HELD, MAX_ROUTING_ID, MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.violations import Violations
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.desk import MAX_QUEUES, Desk, Member, Queue
from engine.protocols.negotiated.options import Options

FRONTEND = "frontend"
"""The clients' socket; the workers' is MAIN."""

MAX_CLIENTS = 100_000


class Service:
    """``here``: where our own peers connect; ``wall_offset``: wall time less ``now``, seconds; ``out``: what to do."""

    def __init__(self, options: Options, config: Config, here: Address, wall_offset: float) -> None:
        self.options, self.config, self.here, self.wall_offset = options, config, here, wall_offset
        self.out: list[Command] = []
        self.desk = Desk()
        self.ledger = Ledger()
        self.legs = BrokerLegs()
        self.violations = Violations()
        self.counters: dict[str, int] = {}
        self.expiry = options.silence * options.heartbeat
        self.workers = Liveness(self.expiry)
        self.clients = Liveness(self.expiry)
        self._joined = 0
        self._doubt_at = NEVER  # when tasks are looked through for old ones

    def wake_at(self) -> float:
        """When somebody may have been silent, or with a task, for too long."""
        return min(self.workers.wake_at(), self.clients.wake_at(), self._doubt_at)

    # ---- workers ------------------------------------------------------------------------------------------------

    def from_worker(self, peer: bytes, message: wire.Message, now: float) -> None:
        """A worker said something that is well formed."""
        command, header, body = message
        member = self.desk.members.get(peer)
        if member is not None:
            self.workers.heard(peer, now + member.extra)
            member.heard = now
        if command == names.WORKREPLY:
            self._reply(member, peer, header[names.IDENTIFIER], body, now)
        elif command == names.PING:
            if member is None or member.away:
                self.desk.walk(member, "PING")
                self.negotiate(MAIN, peer)
            elif self._clock(MAIN, peer, member, header["time"], now):
                self.desk.walk(member, "PING")
                self._pong(MAIN, peer, header, now)
        elif command == names.READY:
            self._ready(member, peer, header, now)
        elif command == names.CHECKCONFIG:
            self.desk.walk(member, "CHECKCONFIG")
            self._configure(MAIN, peer, header, now)
        else:
            self.tell(MAIN, peer, names.CHANGEBROKER, {"code": names.MOVED, "endpoint": self.here.workers})

    def _ready(self, member: Member | None, peer: bytes, header: wire.Header, now: float) -> None:
        if not self._clock(MAIN, peer, member, header["time"], now):
            return
        if header["config_version"] != self.config.version:
            self._drift(MAIN, peer, now)
            return
        offered: tuple[str, ...] = header["services"]
        fresh = sum(name not in self.desk.queues for name in offered)
        if len(self.desk.queues) + fresh > MAX_QUEUES or (member is None and len(self.desk.members) >= MAX_WORKERS):
            self._disconnect(MAIN, peer, names.TOO_MANY, "too many workers or services", now)
            return
        holding = header.get("holding", ())
        lost = [task for task in self.desk.in_flight.of(peer) if wire.task_identifier(task.key) not in holding]
        event = "READY without services" if not offered else "READY that holds nothing" if lost else "READY"
        self.desk.walk(member, event)
        freed = self.desk.freed
        for task in lost:
            self.desk.take(peer, task.key)
        self.desk.freed = freed  # by READY, not by a reply
        again = self._put_back(lost)
        if offered or self.desk.in_flight.held(peer):
            self._join(peer, offered, header, now)
        elif member is not None:
            self.out.append(Note("info", f"{member.name} left", peer))
            self._forget(member, now)
        interval = max(header["heartbeat_interval"], self.options.heartbeat)
        self.tell(MAIN, peer, names.READYOK, {"time": now + self.wall_offset, "heartbeat_interval": interval})
        self._pump_all((*again, *offered), now)

    def _join(self, peer: bytes, offered: tuple[str, ...], header: wire.Header, now: float) -> None:
        slots = max(header.get("slots", 1), self.desk.in_flight.held(peer), 1)
        before = self.desk.members.get(peer)
        fresh = before is None or before.away
        member = self.desk.join(peer, offered, slots)
        interval = max(header["heartbeat_interval"], self.options.heartbeat)
        member.extra = self.options.silence * (interval - self.options.heartbeat)
        member.version, member.skew = header["config_version"], header["time"] - now - self.wall_offset
        member.heard = now
        self._name(member, now)
        if fresh:
            self.out.append(Note("good", f"{member.name} joined", peer))
        self.workers.heard(peer, now + member.extra)  # expires with the usual silence after that

    def _name(self, member: Member, now: float) -> None:
        if not member.name:
            self._joined += 1
            member.name, member.joined = f"w{self._joined}", now

    def _reply(self, member: Member | None, peer: bytes, identifier: bytes, body: bytes, now: float) -> None:
        if member is None or member.away:
            self.count("unknown peers")
            self.negotiate(MAIN, peer)
            return
        key = wire.task_key(identifier)
        task = self.desk.take(peer, key) if key is not None else None
        if task is None:
            self.count("late")
            return
        self.desk.end(task)
        member.done += 1
        self.ledger.succeeded += 1
        client, task_id = task.key
        self.out.append(Send([client, *wire.build(names.WORKREPLY, {names.IDENTIFIER: task_id}, body)], FRONTEND))
        if sampled(task_id):
            self.legs.note(client, task_id, task.accepted, task.given, now)
        if member.draining:
            self._dismiss(member, "WORKREPLY", now)
        else:
            self._pump_all(member.services, now)

    # ---- clients ------------------------------------------------------------------------------------------------

    def from_client(self, peer: bytes, message: wire.Message, now: float) -> None:
        """A client said something that is well formed."""
        command, header, body = message
        if command == names.CHECKCONFIG:
            if peer not in self.clients and len(self.clients) >= MAX_CLIENTS:
                self._disconnect(FRONTEND, peer, names.TOO_MANY, "too many clients", now)
            elif self._configure(FRONTEND, peer, header, now):
                self.clients.heard(peer, now)
        elif command == names.NEEDBROKER:
            self.tell(FRONTEND, peer, names.CHANGEBROKER, {"code": names.MOVED, "endpoint": self.here.clients})
        elif peer not in self.clients:
            self.negotiate(FRONTEND, peer)
        elif command == names.WORKREQUEST:
            self.clients.heard(peer, now)
            self._request((peer, header[names.IDENTIFIER]), header["service"], body, now)
        elif self._clock(FRONTEND, peer, None, header["time"], now):
            self.clients.heard(peer, now)
            self._pong(FRONTEND, peer, header, now)

    def _request(self, key: TaskKey, service: str, body: bytes, now: float) -> None:
        if key in self.desk.tasks:
            self.count("repeated requests")
            return
        queue = self.desk.service(service)
        full = self.desk.queued >= self.options.max_backlog and (queue is None or not queue.ready)
        full = full or self.desk.size + len(body) > MAX_HELD
        if queue is None or full:
            self.count("denied")
            self._fail(key, names.TOO_MANY, "too many services" if queue is None else "the backlog is full")
            return
        self.desk.accept(Task(key, service, [body], now))
        self.ledger.sent += 1
        self._pump(queue, now)

    def _fail(self, key: TaskKey, code: int, message: str) -> None:
        self.tell(FRONTEND, key[0], names.DISCONNECTERROR, {"code": code, "message": message, names.IDENTIFIER: key[1]})

    # ---- tasks --------------------------------------------------------------------------------------------------

    def _pump_all(self, services: Collection[str], now: float) -> None:
        for task in self.desk.give_suspects(services, now) if self.desk.suspected else ():
            self._give(task, now)
        for name in services:
            queue = self.desk.queues[name]
            if queue.backlog:
                self._pump(queue, now)

    def _pump(self, queue: Queue, now: float) -> None:
        while (task := self.desk.give(queue, now)) is not None:
            self._give(task, now)

    def _give(self, task: Task, now: float) -> None:
        if self._doubt_at == NEVER:
            self._doubt_at = now + self.options.doubt / 2
        time, version, identifier = now + self.wall_offset, self.config.version, wire.task_identifier(task.key)
        header = {"time": time, "config_version": version, names.IDENTIFIER: identifier, "service": task.kind}
        self.out.append(Send([task.worker, *wire.build(names.WORKREQUEST, header, task.message[0])]))

    def _put_back(self, tasks: list[Task]) -> set[str]:
        """Tasks that are in no place: they wait again, unless they were delivered too often.

        Returns the services that have something to hand out now.
        """
        for task in reversed(tasks):
            if task.attempt < self.options.max_deliveries:
                self.count("redelivered")
                self.desk.requeue(task)
                continue
            self.desk.end(task)
            self.ledger.fail("undeliverable")
            self._fail(task.key, names.NO_BROKER, f"given to {task.attempt} workers, answered by none")
        return {task.kind for task in tasks}

    def _forget(self, member: Member, now: float) -> None:
        """A worker is a worker no longer; what it held goes back."""
        self.workers.forget(member.key)
        self._pump_all(self._put_back(self.desk.leave(member.key)), now)

    def _dismiss(self, member: Member, event: str, now: float) -> None:
        if not self.desk.in_flight.held(member.key):
            if event:
                self.desk.walk(member, event)
            self._disconnect(MAIN, member.key, names.REFUSED, "an operator drained this worker", now)
            self._forget(member, now)

    # ---- life and death -----------------------------------------------------------------------------------------

    def expire(self, now: float) -> None:
        """Whoever was silent for too long is gone; whoever has a task for too long is asked whether it holds it."""
        if now >= self._doubt_at:
            self._doubt(now)
        for key in self.workers.expired(now):
            member, held = self.desk.members[key], self.desk.in_flight.held(key)
            self.desk.walk(member, "silence")
            self.count("workers expired")
            self.out.append(Note("bad", f"{member.name} is silent: expired, {held} tasks go back", key))
            self._forget(member, now)
        for _ in self.clients.expired(now):
            self.count("clients expired")

    def _doubt(self, now: float) -> None:
        """A request or its reply may have been lost on the way; the worker's next READY tells."""
        doubt = self.options.doubt
        self._doubt_at = now + doubt / 2 if self.desk.in_flight.count else NEVER
        for member in self.desk.members.values():
            oldest = next(iter(self.desk.in_flight.of(member.key)), None)
            if oldest is not None and max(oldest.given, member.asked) + doubt <= now and not member.away:
                member.asked = now
                self.negotiate(MAIN, member.key)

    def unsent(self, frames: Frames, socket: str, now: float) -> None:
        """A message that did not go. A worker that can not be given a task is gone."""
        self.count("unsent")
        member = self.desk.members.get(frames[0]) if socket == MAIN else None
        if member is not None and not member.away and frames[1] == names.WORKREQUEST:
            self.out.append(Note("bad", f"{member.name} can not be reached: its tasks go back", member.key))
            self._forget(member, now)

    def drain(self, key: bytes, now: float) -> None:
        """An operator wants a worker to leave when what it holds is done."""
        member = self.desk.members.get(key)
        if member is None:
            self.out.append(Note("warn", "there is no such worker to drain", key))
            return
        self.desk.walk(member, "told to drain")
        self.desk.drain(key)
        self._dismiss(member, "", now)

    def grace(self, seconds: float) -> None:
        """Silence of so many seconds was our own."""
        self.workers.grace(seconds)
        self.clients.grace(seconds)
        for member in self.desk.members.values():
            member.heard += seconds

    def adopt(self, now: float) -> None:
        """This broker serves from now on: every task of the desk is its own, every worker still to be heard."""
        self.ledger.sent += len(self.desk.tasks)
        self.desk.park()
        for member in self.desk.members.values():
            member.heard, member.extra = now, 0.0
            self._name(member, now)
            self.workers.heard(member.key, now)
        if self.desk.in_flight.count:
            self._doubt_at = now + self.options.doubt / 2

    def retire(self, elsewhere: Address | None) -> None:
        """This broker serves no longer; its peers are told where the other one is, if it is known to serve."""
        if elsewhere is not None:
            for key, member in self.desk.members.items():
                if not member.away:
                    self.move(MAIN, key, elsewhere.workers)
            for key in {task.key[0] for task in self.desk.tasks.values()}:
                self.move(FRONTEND, key, elsewhere.clients)
        self.ledger.sent -= len(self.desk.tasks)
        self.counters["handed over"] = self.counters.get("handed over", 0) + len(self.desk.tasks)
        self.workers, self.clients = Liveness(self.expiry), Liveness(self.expiry)
        self._doubt_at = NEVER

    def check(self, serving: bool) -> None:
        """Desk, books and liveness agree."""
        self.desk.check()
        self.workers.check()
        self.clients.check()
        in_flight, queued = (self.desk.in_flight.count, self.desk.queued) if serving else (0, 0)
        assert self.ledger.view(in_flight, queued).balanced, "the ledger does not balance"
        if serving:
            assert len(self.workers) == len(self.desk.members)
            assert all(key in self.workers for key in self.desk.members)
            self.desk.check_suspects()

    # ---- negotiation --------------------------------------------------------------------------------------------

    def _configure(self, socket: str, peer: bytes, header: wire.Header, now: float) -> bool:
        kind = header["config_type"]
        if kind not in configs.TYPES:
            self._violate(socket, peer, names.CONFIG_TYPE, "config_type is not json, xml or zfl", now)
            return False
        config = self.config
        body = b"" if header.get("config_version") == config.version else configs.encode(config, kind)
        fields = {"config_type": kind, "config_version": config.version, "config_hash": config.hash}
        self.tell(socket, peer, names.CONFIG, fields, body)
        return True

    def _clock(self, socket: str, peer: bytes, member: Member | None, time: float, now: float) -> bool:
        """Whether a peer's wall clock agrees with ours; one that does not is put out."""
        skew = time - now - self.wall_offset
        if abs(skew) <= self.options.skew:
            if member is not None:
                member.skew = skew
            return True
        self._violate(socket, peer, names.CLOCK, "wall clock is wrong", now)
        if member is not None:
            self.desk.walk(member, "PING with a wrong clock")
            self._forget(member, now)
        elif socket == FRONTEND:
            self.clients.forget(peer)
        return False

    def _pong(self, socket: str, peer: bytes, header: wire.Header, now: float) -> None:
        version = self.config.version
        fields = {"time": now + self.wall_offset, "echo": header["time"], "config_version": version}
        self.tell(socket, peer, names.PONG, fields)
        if header["config_version"] != version:
            self._drift(socket, peer, now)

    def _drift(self, socket: str, peer: bytes, now: float) -> None:
        self._violate(socket, peer, names.CONFIG_VERSION, "config_version is another", now)
        self.negotiate(socket, peer)

    def negotiate(self, socket: str, peer: bytes) -> None:
        """A peer whose state is not certain begins at CHECKCONFIG."""
        self.count("negotiations forced")
        self.tell(socket, peer, names.FORCENEGOTIATE, {})

    def refuse(self, socket: str, peer: bytes, reason: str, now: float) -> None:
        """A message that is none of those that a peer may send."""
        code = names.UNKNOWN_COMMAND if reason == "unknown command" else names.MALFORMED
        self._violate(socket, peer, code, reason, now)

    def _violate(self, socket: str, peer: bytes, code: int, reason: str, now: float) -> None:
        self.out += self.violations.add(peer[:MAX_ROUTING_ID], f"{code} {reason}", now)
        member = self.desk.members.get(peer) if socket == MAIN else None
        if member is not None:
            member.row = None
        self._disconnect(socket, peer, code, reason, now)

    def _disconnect(self, socket: str, peer: bytes, code: int, message: str, now: float) -> None:
        self.count(f"told {code}")
        self.tell(socket, peer, names.DISCONNECTERROR, {"code": code, "message": message})

    def move(self, socket: str, peer: bytes, endpoint: str) -> None:
        """Send a peer to the other broker."""
        self.count(f"told {names.MOVED}")
        fields = {"code": names.MOVED, "message": "the other broker serves", "endpoint": endpoint}
        self.tell(socket, peer, names.DISCONNECTERROR, fields)

    def tell(self, socket: str, peer: bytes, command: bytes, header: wire.Header, body: bytes = b"") -> None:
        """Send one message to a peer."""
        self.out.append(Send([peer, *wire.build(command, header, body)], socket))

    def count(self, name: str) -> None:
        """Count one, under a name that an operator reads."""
        self.counters[name] = self.counters.get(name, 0) + 1
