"""What each message means at a broker that serves. ``tasks`` has the tasks, ``voice`` says the rest.

The rules of this file:

- A worker enters the LRU queue of each of its services with READY, never before; a client is known from CONFIG on.
  Whoever is not known and speaks is told FORCENEGOTIATE, and begins at CHECKCONFIG.
- A READY says what the worker holds. What else was given to it goes back to the queue, so a worker that lost its
  memory, or was on its way to another broker, keeps nothing waiting. A READY without services is a goodbye.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import dropwhile, takewhile

from engine.core import MAIN, NEVER, Frames, Note
from engine.parts.inflight import Task, TaskKey
from engine.parts.legs import sampled
from engine.parts.limits import MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.plain import several
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.dispatcher import MAX_QUEUES
from engine.protocols.negotiated.machine import If, On
from engine.protocols.negotiated.member import Member
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.tasks import FRONTEND, Tasks

MAX_CLIENTS = 100_000
COMPARED = 2  # heartbeats after which a worker's PING must name what it was given


def _join_guard(member: Member) -> str:
    """Of a READY by which a worker is there, with what it holds."""
    if member.draining:
        return If.LEAVES
    if not member.services:
        return If.GOES
    return "" if member.free else If.FULL


class Service(Tasks):
    """``here``: where our own peers connect; the others as in ``Voice``."""

    def __init__(self, options: Options, config: Config, here: Address, wall_offset: float) -> None:
        super().__init__(options, config, wall_offset)
        self.here = here
        self.expiry = options.silence * options.heartbeat
        self.workers = Liveness(self.expiry)
        self._joined = 0
        self._configured: dict[bytes, None] = {}  # who was sent CONFIG and is no worker yet, oldest first
        self._unheard: set[bytes] = set()  # clients that are known from the other broker only

    def wake_at(self) -> float:
        """When somebody may have been silent, or with a task, for too long, or a request may have waited in vain."""
        return min(self.workers.wake_at(), self.clients.wake_at(), self._doubt_at, self._vain_at)

    # ---- workers ------------------------------------------------------------------------------------------------

    def from_worker(self, peer: bytes, message: wire.Message, now: float) -> None:
        """A worker said something that is well formed."""
        command, header, body = message
        member = self.dispatcher.members.get(peer)
        if member is not None:
            self.workers.heard(peer, now + member.extra)
            member.heard = now
        if command == names.WORKREPLY:
            self._reply(member, peer, header, body, now)
        elif command == names.PING:
            if member is None or member.away:
                self.dispatcher.step(member, On.PING)
                self.negotiate(MAIN, peer)
            elif self._clock(MAIN, peer, member, On.PING, header["time"], now):
                self._pinged(member, header, now)
        elif command == names.READY:
            self._ready(member, peer, header, now)
        elif command == names.CHECKCONFIG:
            right = self.configure(MAIN, peer, header, now)
            self.dispatcher.step(member, On.CHECKCONFIG, "" if right else If.FORM)
            if right and member is not None:
                member.checked = now
            elif right:
                self._configured[peer] = None
                if len(self._configured) > MAX_WORKERS:
                    del self._configured[next(iter(self._configured))]
        else:
            self.dispatcher.step(member, On.NEEDBROKER)
            self.tell(MAIN, peer, names.CHANGEBROKER, {"code": names.MOVED, "endpoint": self.here.workers})

    def _ready(self, member: Member | None, peer: bytes, header: wire.Header, now: float) -> None:
        if not self._clock(MAIN, peer, member, On.READY, header["time"], now):
            return
        if header["config_version"] != self.config.version:
            self.dispatcher.step(member, On.READY, If.VERSION)
            self.drift(MAIN, peer, now)
            return
        offered: tuple[str, ...] = header["services"]
        if member is None and offered and peer not in self._configured:
            self.dispatcher.step(member, On.READY, If.UNCHECKED)
            self.violate(MAIN, peer, names.CONFIG_VERSION, "READY before CHECKCONFIG", now)
            self.negotiate(MAIN, peer)
            return
        fresh = [
            name for name in offered if name not in self.dispatcher.queues or not self.dispatcher.queues[name].offered
        ]
        if (fresh and self.dispatcher.offered() + len(fresh) > MAX_QUEUES) or (
            member is None and len(self.dispatcher.members) >= MAX_WORKERS
        ):
            self.dispatcher.step(member, On.READY, If.BOUNDS)
            self.disconnect(MAIN, peer, names.TOO_MANY, "too many workers or services")
            return
        since = member.checked if member is not None and offered else NEVER  # what was given since then is on its way
        lost = self._lost(peer, header.get("holding", ()), since)
        again = self._take_back(peer, lost, now)
        held = self.dispatcher.in_flight.held(peer)
        if member is not None and member.draining and offered and not held:
            self.dispatcher.step(member, On.READY, If.LOST_LAST)
            self._dismiss(member, now)
            self._pump_all(again, now)
            return
        if offered or held:
            member = self._join(peer, offered, header, now)
            self.dispatcher.step(member, On.READY, _join_guard(member))
        else:
            self.dispatcher.step(member, On.READY, If.NO_SERVICE)
            if member is not None:
                self.out.append(Note("info", f"{member.name} left", peer))
                self._forget(member, now)
        interval = max(header["heartbeat_interval"], self.options.heartbeat)
        tell = self.tell_sealed if names.CHECK in header else self.tell
        tell(MAIN, peer, names.READYOK, {"time": now + self.wall_offset, "heartbeat_interval": interval})
        self._pump_all((*again, *offered), now)

    def _pinged(self, member: Member, header: wire.Header, now: float) -> None:
        before = now - COMPARED * self.options.heartbeat if "holding" in header else -NEVER
        lost = self._lost(member.key, header.get("holding", ()), before)
        again = self._take_back(member.key, lost, now) if lost else set[str]()
        self.pong(MAIN, member.key, header, now)
        last = member.draining and not self.dispatcher.in_flight.held(member.key)
        if lost:
            self.dispatcher.step(member, On.PING, If.LOST_LAST if last else If.LOST)
        else:
            self.dispatcher.step(member, On.PING, "" if header["config_version"] == self.config.version else If.VERSION)
        if lost and last:
            self._dismiss(member, now)
        self._pump_all(again, now)

    def _lost(self, peer: bytes, holding: Collection[bytes], before: float) -> list[Task]:
        """What a worker was given before that time and does not hold."""
        old = takewhile(lambda task: task.given < before, self.dispatcher.in_flight.of(peer))
        return [task for task in old if wire.task_identifier(task.key) not in holding]

    def _take_back(self, peer: bytes, lost: list[Task], now: float) -> set[str]:
        """They wait again; the services that have something to hand out now."""
        for task in lost:
            self.dispatcher.take(peer, task.key)
        return self._put_back(lost, now)

    def _join(self, peer: bytes, offered: tuple[str, ...], header: wire.Header, now: float) -> Member:
        slots = max(header.get("slots", 1), self.dispatcher.in_flight.held(peer), 1)
        self._configured.pop(peer, None)
        before = self.dispatcher.members.get(peer)
        fresh = before is None or before.away
        member = self.dispatcher.join(peer, offered, slots, now)
        self.watch(now)
        interval = max(header["heartbeat_interval"], self.options.heartbeat)
        member.extra = self.options.silence * (interval - self.options.heartbeat)
        member.version, member.skew = header["config_version"], header["time"] - now - self.wall_offset
        member.heard, member.checked = now, NEVER
        self._name(member, now)
        if fresh:
            self.out.append(Note("good", f"{member.name} joined", peer))
        self.workers.heard(peer, now + member.extra)  # expires with the usual silence after that
        return member

    def _name(self, member: Member, now: float) -> None:
        if not member.name:
            self._joined += 1
            member.name, member.joined = f"w{self._joined}", now

    def _reply(self, member: Member | None, peer: bytes, header: wire.Header, body: bytes, now: float) -> None:
        if member is None or member.away:
            self.count("unknown peers")
            self.dispatcher.step(member, On.WORKREPLY)
            self.negotiate(MAIN, peer)
            return
        key = wire.task_key(header[names.IDENTIFIER])
        task = self.dispatcher.take(peer, key) if key is not None else None
        if task is None:
            self.count("late")
            self.dispatcher.step(member, On.WORKREPLY, If.LATE)
            return
        self.dispatcher.end(task)
        member.done += 1
        if member.done >= member.served.due:
            member.served.note(now - task.given, now, member.done)
        self.ledger.succeeded += 1
        client, task_id = task.key
        self._replied(task, header.get(names.ERROR, ""), body)
        if sampled(task_id):
            self.legs.note(client, task_id, task.accepted, task.given, now, task.worker, task.attempt)
        row = self.dispatcher.replied.get(member.state)
        if row is not None:
            row.times += 1
            member.state = row.next
            self._pump_all(member.services, now)
            return
        last = member.draining and not self.dispatcher.in_flight.held(peer)
        self.dispatcher.step(member, On.WORKREPLY, If.LAST if last else "")
        if last:
            self._dismiss(member, now)

    # ---- clients ------------------------------------------------------------------------------------------------

    def from_client(self, peer: bytes, message: wire.Message, now: float) -> None:
        """A client said something that is well formed."""
        command, header, body = message
        if command == names.CHECKCONFIG:
            if peer not in self.clients and len(self.clients) >= MAX_CLIENTS:
                self.disconnect(FRONTEND, peer, names.TOO_MANY, "too many clients")
            elif self.configure(FRONTEND, peer, header, now):
                self.clients.heard(peer, now)
                self._unheard.discard(peer)
        elif command == names.NEEDBROKER:
            self.tell(FRONTEND, peer, names.CHANGEBROKER, {"code": names.MOVED, "endpoint": self.here.clients})
        elif peer not in self.clients or peer in self._unheard:
            self.negotiate(FRONTEND, peer)
        elif command == names.WORKREQUEST:
            if "time" in header and not self._clock(FRONTEND, peer, None, On.PING, header["time"], now):
                return
            self.clients.heard(peer, now)
            if header.get("config_version", self.config.version) != self.config.version:
                self.drift(FRONTEND, peer, now)
            self.request((peer, header[names.IDENTIFIER]), header["service"], body, now)
        elif self._clock(FRONTEND, peer, None, On.PING, header["time"], now):
            self.clients.heard(peer, now)
            self.pong(FRONTEND, peer, header, now)

    # ---- life and death -------------------------------------------------------------------------------------------

    def _forget(self, member: Member, now: float, unsent: TaskKey | None = None) -> None:
        """A worker is a worker no longer; what it held goes back. ``unsent``: from this task on it was given none."""
        self.workers.forget(member.key)
        tasks = self.dispatcher.leave(member.key, now)
        for task in dropwhile(lambda task: task.key != unsent, tasks):
            self.dispatcher.undelivered(task)
        self._pump_all(self._put_back(tasks, now), now)

    def _dismiss(self, member: Member, now: float) -> None:
        self.disconnect(MAIN, member.key, names.REFUSED, "an operator drained this worker")
        self._forget(member, now)

    def expire(self, now: float) -> None:
        """Whoever was silent for too long is gone; whoever has a task for too long is asked whether it holds it."""
        if now >= self._doubt_at:
            self._doubt(now)
        for key in self.workers.expired(now):
            member, held = self.dispatcher.members[key], self.dispatcher.in_flight.held(key)
            self.dispatcher.step(member, On.SILENCE)
            self.count("workers expired")
            self.out.append(Note("bad", f"{member.name} is silent: expired, {several(held, 'task')} taken back", key))
            self._forget(member, now)
        silent = self.clients.expired(now)
        if silent:
            self.counters["clients expired"] = self.counters.get("clients expired", 0) + len(silent)
            self._unheard.difference_update(silent)
            gone = self._lost_clients(silent, now)
            if gone:
                words = f"{len(gone)} requests that waited are withdrawn, for their clients are silent"
                self.out.append(Note("warn", words, gone[0].key[0]))
        if now >= self._vain_at:
            self._give_up(now)

    def _doubt(self, now: float) -> None:
        """A request or its reply may have been lost on the way; the worker's next READY tells."""
        doubt = self.options.doubt
        self._doubt_at = now + doubt / 2 if self.dispatcher.in_flight.count else NEVER
        for member in self.dispatcher.members.values():
            oldest = next(iter(self.dispatcher.in_flight.of(member.key)), None)
            if oldest is not None and max(oldest.given, member.asked) + doubt <= now and not member.away:
                member.asked = now
                self.dispatcher.step(member, On.DOUBT)
                self.negotiate(MAIN, member.key)

    def unsent(self, frames: Frames, socket: str, now: float) -> None:
        """A message that did not go. A worker that can not be given a task is gone, and was not given it."""
        self.count("unsent")
        member = self.dispatcher.members.get(frames[0]) if socket == MAIN else None
        if member is None or member.away:
            return
        message = wire.parse(frames, 1, wire.TO_WORKERS)
        if isinstance(message, str) or message[0] != names.WORKREQUEST:
            return
        key = wire.task_key(message[1][names.IDENTIFIER])
        if any(task.key == key for task in self.dispatcher.in_flight.of(member.key)):
            self.out.append(Note("bad", f"{member.name} can not be reached: its tasks go back", member.key))
            self.dispatcher.step(member, On.UNSENT)
            self._forget(member, now, key)

    def drain(self, key: bytes, now: float) -> None:
        """An operator wants a worker to leave when what it holds is done."""
        member = self.dispatcher.members.get(key)
        if member is None:
            self.out.append(Note("warn", "there is no such worker to drain", key, True))
            return
        held = self.dispatcher.in_flight.held(key)
        self.dispatcher.step(member, On.DRAIN, If.HOLDS if held else "")
        self.dispatcher.drain(key)
        if not held:
            self._dismiss(member, now)

    def grace(self, seconds: float, now: float) -> None:
        """Silence of so many seconds was our own, and nobody could come meanwhile."""
        self.dispatcher.wait_anew(now)
        self.workers.grace(seconds)
        self.clients.grace(seconds)
        for member in self.dispatcher.members.values():
            member.heard += seconds
        for task in self.dispatcher.in_flight.all():
            task.given += seconds

    def adopt(self, now: float) -> None:
        """This broker serves from now on: every task of the dispatcher is its own, every worker still to be heard."""
        self.ledger.sent += len(self.dispatcher.tasks)
        self.dispatcher.park()
        for member in self.dispatcher.members.values():
            member.heard, member.extra = now, 0.0
            self._name(member, now)
            self.workers.heard(member.key, now)
        for client in self.dispatcher.owners:  # each has as long again, for it must find this broker first
            self.clients.heard(client, now + self.expiry)
            self._unheard.add(client)
        if self.dispatcher.in_flight.count:
            self._doubt_at = now + self.options.doubt / 2
        self.dispatcher.wait_anew(now)
        self.watch(now)

    def retire(self, elsewhere: Address | None) -> None:
        """This broker serves no longer; its peers are told where the other one is, if it is known to serve."""
        if elsewhere is not None:
            for key, member in self.dispatcher.members.items():
                if not member.away:
                    self.move(MAIN, key, elsewhere.workers)
            for key in {task.key[0] for task in self.dispatcher.tasks.values()}:
                self.move(FRONTEND, key, elsewhere.clients)
        self.ledger.sent -= len(self.dispatcher.tasks)
        self.counters["handed over"] = self.counters.get("handed over", 0) + len(self.dispatcher.tasks)
        self.workers, self.clients = Liveness(self.expiry), Liveness(self.expiry)
        self._unheard.clear()
        self._configured.clear()
        self._doubt_at = self._vain_at = NEVER

    def check(self, serving: bool) -> None:
        """Dispatcher, books and liveness agree."""
        self.dispatcher.check()
        self.workers.check()
        self.clients.check()
        in_flight, queued = (self.dispatcher.in_flight.count, self.dispatcher.queued + self.kept) if serving else (0, 0)
        assert self.ledger.view(in_flight, queued).balanced, "the ledger does not balance"
        if serving:
            assert len(self.workers) == len(self.dispatcher.members)
            assert all(key in self.workers for key in self.dispatcher.members)
            assert not any(his.waiting and self._is_gone(owner) for owner, his in self.dispatcher.owners.items()), (
                "nobody's"
            )
            assert all(client in self.clients for client in self._unheard)
            for member in self.dispatcher.members.values():
                assert member.state == member.stands, f"{member.name} is {member.stands}, and not {member.state}"
            if self.valve is None or not self.valve.paused:
                self.dispatcher.check_suspects()
            assert self._vain_at < NEVER or self.dispatcher.in_vain() == NEVER, "a request waits in vain for ever"

    # ---- clocks -------------------------------------------------------------------------------------------------

    def _clock(self, socket: str, peer: bytes, member: Member | None, event: str, time: float, now: float) -> bool:
        """Whether a peer's wall clock agrees with ours; one that does not is put out."""
        if self.agrees(socket, peer, time, now):
            if member is not None:
                member.skew = self.skew(time, now)
            return True
        if socket == MAIN:
            self.dispatcher.step(member, event, If.CLOCK)
        if member is not None:
            self._forget(member, now)
        elif socket == FRONTEND:
            self.clients.forget(peer)
            self._lost_clients([peer], now)
        return False
