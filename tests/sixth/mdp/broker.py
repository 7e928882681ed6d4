"""The broker: one socket for workers and clients, told apart by the header of each message.

The rules of this file:

- A worker is given one request of its service at a time, and the broker remembers whose it was.
- Whatever a worker says before READY, or says and was not asked for, is answered DISCONNECT: by the RFC it then opens a
  new socket and says READY, so both sides agree again. What it held is given to another one.
- Silence for as long as ``Options.expiry`` disconnects a worker, busy or not; so does a request past its deadline.
- What can not be accepted of a client that is ours is told to it; the RFC has no word for that, so a foreign client
  hears nothing (ruling 2).
"""

from __future__ import annotations

from collections import deque

from engine.core import (
    NEVER,
    Command,
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
from engine.parts.inflight import Task
from engine.parts.limits import MAX_ROUTING_ID, MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.orders import Drain, Inspect, Withdraw
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from tests.sixth.mdp import messages, picture
from tests.sixth.mdp.machine import On, Seen
from tests.sixth.mdp.messages import (
    DISCONNECT,
    FAILED,
    FOUND,
    FULL,
    HEARTBEAT,
    MMI,
    MMI_SERVICE,
    NAMES,
    NOT_FOUND,
    NOT_KNOWN,
    READY,
    REPLY,
    REQUEST,
    WITHDRAWN,
    WORKER,
    Asked,
    Said,
)
from tests.sixth.mdp.options import Options
from tests.sixth.mdp.services import Service, Services, Worker
from tests.sixth.mdp.tasks import Tasks

LOST_KEPT = 1024  # workers that were disconnected for their silence, and may answer late


class Broker:
    """The core of an MDP broker. Orders: ``Inspect``, ``Drain``, ``Withdraw``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.violations = Violations()
        self.services = Services()
        self.tasks = Tasks(options)
        self.inspected: bytes | None = None
        self._alive = Liveness(options.expiry)
        self._beat_at = NEVER
        self._lost: dict[bytes, None] = {}  # longest lost first
        self._unnamed = 0  # requests that name no task
        self.late = self.losses = self.unsent = self.full = self.again = self.strays = 0

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
            case Unsent():
                self._unsent(event.frames, now, out)
            case Ordered(order=Inspect(worker=key)):
                self.inspected = key
            case Ordered(order=Drain(worker=key)):
                self._drain(key, out)
            case Ordered(order=Withdraw(client=client)):
                self._withdraw(client, out)
            case Paused(seconds=seconds):
                self._grace(seconds, out)
            case Started():
                self._beat_at = now + self.options.heartbeat
            case Ordered() | Finished():
                raise ValueError(f"an MDP broker takes no {event}")
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        beat_at = self._beat_at if self.services.workers else NEVER
        return min(beat_at, self._alive.wake_at(), self.tasks.wake_at())

    def check(self) -> None:
        """See ``engine.core.Core``."""
        self.services.check()
        self.tasks.check(task for service in self.services for task in service.backlog)
        self._alive.check()
        assert len(self._alive) == len(self.services.workers)
        for key, worker in self.services.workers.items():
            assert list(self.tasks.out.of(key)) == ([] if worker.task is None else [worker.task])
            assert key in self._alive, "a worker is not watched"

    def snapshot(self, now: float) -> BrokerView:
        """See ``engine.core.Core``."""
        return picture.broker(self, now)

    # ---- what arrives -------------------------------------------------------------------------------------------

    def _take(self, frames: Frames, now: float, out: list[Command]) -> None:
        message = messages.at_broker(frames)
        key = frames[0][:MAX_ROUTING_ID] if frames else b""
        worker = self.services.workers.get(key)
        if isinstance(message, str):
            self._blame(key, message, now, out)
            if worker is not None:  # RFC: treat that peer as invalid
                self._disconnect(worker, On.INVALID, "what it said is no message", out)
        elif isinstance(message, Asked):
            self._asked(key, message, now, out)
        elif worker is not None:
            self._said(worker, message, now, out)
        else:
            self._stranger(key, message, now, out)
        if worker is not None and worker is not self.services.workers.get(key):
            self._pump(worker.service, now, out)  # it is gone: what it held waits

    def _said(self, worker: Worker, said: Said, now: float, out: list[Command]) -> None:
        key, event = worker.key, NAMES[said.command]
        self._alive.heard(key, now)
        worker.heard, worker.row = now, None
        held = worker.task
        if said.command == HEARTBEAT:
            self.services.step(worker, event)
        elif said.command == REPLY and held is not None and _answers(said, held):
            self.services.step(worker, event)
            self._done(worker, held, said.body, now, out)
        elif said.command == DISCONNECT:
            self._lose(worker, event, "left", False, out)
        else:  # RFC: valid but unexpected
            if said.command == REPLY:
                event = On.STRAY
                self._blame(key, event, now, out)
            self._disconnect(worker, event, f"said {event} and was not to", out)

    def _stranger(self, key: bytes, said: Said, now: float, out: list[Command]) -> None:
        """A command of a peer that is not registered."""
        event = NAMES[said.command]
        if said.command == READY:
            self._register(key, said.service, now, out)
            return
        self.services.walk.step(Seen.UNKNOWN, event)
        if said.command == DISCONNECT:
            return
        if said.command == REPLY and key in self._lost:
            self.late += 1
        elif said.command == REPLY:
            self._blame(key, "REPLY before READY", now, out)
        else:
            self.strays += 1
        out.append(Send(messages.to_worker(key, DISCONNECT)))

    def _register(self, key: bytes, name: bytes, now: float, out: list[Command]) -> None:
        service = self.services.make(name) if len(self.services.workers) < MAX_WORKERS else None
        if service is None:
            self._blame(key, "too many workers or services", now, out)
            return
        self._lost.pop(key, None)
        self._alive.heard(key, now)
        worker = self.services.join(key, service, now)
        self.services.step(worker, On.READY)
        # ours: the RFC answers no READY, but a heartbeat may be sent at any time
        out += [Note("good", "joined", key), Send(messages.to_worker(key, HEARTBEAT))]
        self._free(worker, now, out)

    # ---- clients ------------------------------------------------------------------------------------------------

    def _asked(self, client: bytes, asked: Asked, now: float, out: list[Command]) -> None:
        if asked.service.startswith(MMI):
            out.append(Send(messages.reply(client, asked.service, self._managed(asked))))
            return
        task_id = messages.ident(asked.body)
        if not task_id:
            self._unnamed += 1
            task_id = b"unnamed-%d" % self._unnamed
        if self.tasks.get((client, task_id)) is not None:
            self.again += 1  # its end will be told
            return
        service = self.services.make(asked.service)
        why = self._excess(client, asked, service)
        if why or service is None:
            self.full += 1
            self._tell(client, asked.service, task_id, FULL, why or "too many services", out)
            return
        service.backlog.append(self.tasks.accept((client, task_id), asked.service, asked.body, now))
        self._pump(service, now, out)

    def _managed(self, asked: Asked) -> bytes:
        """RFC 8: whether a service has a worker."""
        if asked.service != MMI_SERVICE:
            return NOT_KNOWN
        service = self.services.get(asked.body[0])
        return FOUND if service is not None and service.workers else NOT_FOUND

    def _excess(self, client: bytes, asked: Asked, service: Service | None) -> str:
        idle = service is not None and bool(service.ready)
        if not idle and self.services.waiting >= self.options.max_backlog:
            why = f"{self.services.waiting} requests wait"
        else:
            why = self.tasks.excess(client, len(asked.service) + sum(map(len, asked.body)), idle)
        if why and service is not None:
            self.services.tidy(service)
        return why

    def _tell(self, client: bytes, service: bytes, task_id: bytes, status: bytes, why: str, out: list[Command]) -> None:
        if len(task_id) == messages.ID:  # ruling 2
            out.append(Send(messages.reply(client, service, task_id, status, why.encode())))

    def _withdraw(self, client: bytes, out: list[Command]) -> None:
        withdrawn = 0
        for service in list(self.services):
            gone = [task for task in service.backlog if task.key[0] == client]
            service.backlog = deque(task for task in service.backlog if task.key[0] != client)
            for task in gone:
                self.tasks.withdraw(task)
                self._tell(client, service.name, task.key[1], WITHDRAWN, "an operator said so", out)
            self.services.tidy(service)
            withdrawn += len(gone)
        out.append(Note("info", f"{withdrawn} tasks that waited are withdrawn", client))

    # ---- tasks --------------------------------------------------------------------------------------------------

    def _free(self, worker: Worker, now: float, out: list[Command]) -> None:
        """A worker has nothing to do: it is the last of its service's ready queue."""
        worker.row = None
        if worker.idle:
            worker.service.ready.put(worker.key)
            self._pump(worker.service, now, out)

    def _pump(self, service: Service, now: float, out: list[Command]) -> None:
        """Give waiting requests, oldest first, to idle workers, least recently used first."""
        while service.backlog and (key := service.ready.first()) is not None:
            worker, task = self.services.workers[key], service.backlog.popleft()
            self.services.step(worker, On.TASK)
            service.ready.drop(key)
            self.tasks.give(task, key, now)
            worker.task, worker.row = task, None
            out.append(Send(messages.to_worker(key, REQUEST, task.key[0], b"", *task.message[1:])))

    def _done(self, worker: Worker, task: Task, body: Frames, now: float, out: list[Command]) -> None:
        self.tasks.done(task, now)
        worker.task = None
        worker.done += 1
        out.append(Send(messages.reply(task.key[0], task.message[0], *body)))
        self._free(worker, now, out)

    def _take_back(self, worker: Worker, never_left: bool, out: list[Command]) -> None:
        """A delivery came to nothing: the task is its service's next, or has failed."""
        task = worker.task
        if task is None:
            return
        worker.task, worker.row = None, None
        worker.failed += 1
        if self.tasks.retry(task, never_left):
            worker.service.backlog.appendleft(task)
            return
        out.append(Note("bad", f"a task failed after {task.attempt} deliveries", worker.key))
        self._tell(*_address(task), FAILED, f"{task.attempt} deliveries came to nothing", out)

    # ---- workers that go ----------------------------------------------------------------------------------------

    def _lose(self, worker: Worker, event: str, why: str, never_left: bool, out: list[Command]) -> None:
        """A worker is none any more; what it held waits again. Who calls sees to it that somebody gets that."""
        self.services.step(worker, event)
        self._take_back(worker, never_left, out)
        self._alive.forget(worker.key)
        self.services.remove(worker)
        out.append(Note("info" if why == "left" else "bad", why, worker.key))

    def _disconnect(self, worker: Worker, event: str, why: str, out: list[Command]) -> None:
        self._lose(worker, event, why, False, out)
        out.append(Send(messages.to_worker(worker.key, DISCONNECT)))

    def _expire(self, worker: Worker, event: str, why: str, out: list[Command]) -> None:
        """The worker may live, and answer late."""
        self.losses += 1
        self._lost[worker.key] = None
        if len(self._lost) > LOST_KEPT:
            del self._lost[next(iter(self._lost))]
        self._disconnect(worker, event, why, out)

    def _drain(self, key: bytes, out: list[Command]) -> None:
        worker = self.services.workers.get(key)
        if worker is None:
            out.append(Note("warn", "no such worker to stop", key))
        elif worker.state != Seen.DRAINING:
            self.services.step(worker, On.DRAIN)
            worker.service.ready.drop(key)

    # ---- time ---------------------------------------------------------------------------------------------------

    def _wake(self, now: float, out: list[Command]) -> None:
        workers = self.services.workers
        for key in self.tasks.overdue(now):
            self._expire(workers[key], On.DEADLINE, "lost: its request's deadline has passed", out)
        for key in self._alive.expired(now):
            self._expire(workers[key], On.SILENCE, f"lost: silent for {self.options.expiry:g} s", out)
        if now >= self._beat_at:
            self._beat_at = now + self.options.heartbeat
            for worker in workers.values():
                self.services.step(worker, On.DUE)
                out.append(Send(messages.to_worker(worker.key, HEARTBEAT)))
        for service in list(self.services):
            self._pump(service, now, out)

    def _grace(self, seconds: float, out: list[Command]) -> None:
        self._alive.grace(seconds)
        self.tasks.grace(seconds)
        for worker in self.services.workers.values():
            worker.heard, worker.row = worker.heard + seconds, None
        out.append(Note("info", f"every deadline was moved by {seconds:.1f} s"))

    # ---- refused sends ------------------------------------------------------------------------------------------

    def _unsent(self, frames: Frames, now: float, out: list[Command]) -> None:
        self.unsent += 1
        worker = self.services.workers.get(frames[0])
        if worker is not None and frames[2] == WORKER:  # else a client is gone: its task has ended all the same
            never_left = frames[3] == REQUEST
            self._lose(worker, On.GONE, "lost: its connection is gone", never_left, out)
            self._pump(worker.service, now, out)

    def _blame(self, key: bytes, reason: str, now: float, out: list[Command]) -> None:
        out.extend(self.violations.add(key, reason, now))
        if key in self.services.workers:
            self.services.workers[key].row = None


def _answers(said: Said, task: Task) -> bool:
    """Whether a reply is that of the task which its worker holds."""
    return said.client == task.key[0] and messages.ident(said.body) in (task.key[1], b"")


def _address(task: Task) -> tuple[bytes, bytes, bytes]:
    return task.key[0], task.message[0], task.key[1]
