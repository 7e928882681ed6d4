"""The tasks of a broker that serves: accepted, given, put back, and each of them ended once, in the books.

The rules of this file:

- A task is accepted once by (client, its id). A repetition of one that is still here is counted and ignored.
- What a client asked for is withdrawn with it: when it is silent, is put out, or an operator says so. What a worker
  has of it is done all the same; its reply is sent, and counted as ``unsent`` where the client can not be reached.
- A request waits for a worker that is busy for as long as it takes. Where nobody offers its service it waits for
  ``patience`` intervals, in which a worker that is about to come has come; then its client is told 503.
- A delivery that the socket handed back is none.
"""

from __future__ import annotations

from collections.abc import Collection

from engine.core import NEVER, Note, Send
from engine.parts.callers import MOVED, Callers
from engine.parts.inflight import Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs
from engine.parts.liveness import Liveness
from engine.parts.plain import several
from engine.parts.valve import Valve
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.config import Config
from engine.protocols.negotiated.dispatcher import Dispatcher
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.queue import Queue
from engine.protocols.negotiated.voice import Voice

FRONTEND = "frontend"
"""The clients' socket; the workers' is MAIN."""

UNOFFERED = "not offered"
"""How a task has failed that waited for a service that nobody offers."""

WITHDRAWN = "withdrawn"

LOOKS = 8  # in an interval at most


class Tasks(Voice):
    """The arguments are those of ``Voice``. ``clients``: who is there; nothing waits of anybody else."""

    def __init__(self, options: Options, config: Config, wall_offset: float) -> None:
        super().__init__(options, config, wall_offset)
        self.dispatcher = Dispatcher()
        self.callers = Callers()
        self.ledger = Ledger()
        self.legs = BrokerLegs()
        self.valve: Valve | None = None  # None while nothing is limited
        self.clients = Liveness(options.silence * options.heartbeat)
        self.kept = 0  # requests that wait in a store, and stand in no other place
        self._patience = options.patience * options.heartbeat
        self._doubt_at = NEVER  # when tasks are looked through for old ones
        self._vain_at = NEVER  # when requests that nobody may ever take are looked through

    # ---- requests -------------------------------------------------------------------------------------------------

    def request(self, key: TaskKey, service: str, body: bytes, now: float) -> None:
        """A client that is known asks for something."""
        self.callers.sent(key[0], 1, now)
        if key in self.dispatcher.tasks:
            self.count("repeated requests")
            return
        limited = self.valve is not None
        excess = self.dispatcher.excess(key[0], service, len(body), self.options.max_backlog, limited)
        if excess:
            self.count("denied")
            self._fail(key, names.TOO_MANY, excess)
            return
        self.dispatcher.accept(Task(key, service, [body], now))
        self.ledger.sent += 1
        queue = self.dispatcher.queues[service]
        if queue.offered:
            self._pump(queue, now)
        else:
            self.dispatcher.peak.mark(self.dispatcher.queued, now)
            self.watch(now)

    def withdraw(self, client: bytes, now: float) -> None:
        """An operator ends what waits of a client."""
        gone = self._withdraw([client], now, "an operator withdrew this request")
        if not gone:
            self.out.append(Note("warn", "no request of this client waits", client, True))
            return
        self.out.append(Note("info", f"{len(gone)} requests that waited are withdrawn", client))

    def discard(self, key: TaskKey, now: float) -> None:
        """An operator ends one task that waits."""
        task = self._waiting(key)
        if task is None:
            return
        service = task.kind
        self.dispatcher.pull(task)
        self.dispatcher.end(task)
        self._failed(task, WITHDRAWN, names.REFUSED, "an operator withdrew this request")
        self._pump_all([service], now)  # whoever was kept for a suspect is free
        self.out.append(Note("info", f"request {key[1].hex()}, which waited, is withdrawn", key[0]))

    def reorder(self, key: TaskKey, first: bool) -> None:
        """An operator has one task that waits given before the others of its service, or after them."""
        task = self._waiting(key)
        if task is not None:
            self.dispatcher.queues[task.kind].move(task, first)
            self.out.append(Note("info", f"request {key[1].hex()} {MOVED[first]}", key[0]))

    def _waiting(self, key: TaskKey) -> Task | None:
        """A task that waits; where it does not, the operator is told."""
        task = self.dispatcher.tasks.get(key)
        if task is None or task.worker:
            self.out.append(Note("warn", f"request {key[1].hex()} does not wait any more", key[0], True))
            return None
        return task

    def _withdraw(self, clients: Collection[bytes], now: float, message: str = "") -> list[Task]:
        """What waits of these clients is over, and they are told so where there is a message."""
        gone = self.dispatcher.withdraw(clients)
        if gone:
            self._pump_all(list(self.dispatcher.queues), now)  # whoever was kept for a suspect is free
            for task in gone:
                self._failed(task, WITHDRAWN, names.REFUSED, message)
        return gone

    def _lost_clients(self, clients: Collection[bytes], now: float) -> list[Task]:
        """What waits of clients that are gone is over."""
        return self._withdraw([client for client in clients if self._is_gone(client)], now)

    # ---- how they end, and what a store does otherwise ---------------------------------------------------------------

    def _failed(self, task: Task, why: str, code: int, message: str) -> None:
        """A task that is over has failed; its client is told where there is a message."""
        self.ledger.fail(why)
        if message:
            self._fail(task.key, code, message, **({"service": task.kind} if why == UNOFFERED else {}))

    def _replied(self, task: Task, error: str, body: bytes) -> None:
        """A worker's reply to a task that is over, with its error, which is the client's to manage."""
        header = {names.IDENTIFIER: task.key[1]} | ({names.ERROR: error} if error else {})
        self.out.append(Send([task.key[0], *wire.build(names.WORKREPLY, header, body)], FRONTEND))

    def _is_gone(self, client: bytes) -> bool:
        """Whether a client is not there, and nothing is to be done for it."""
        return client not in self.clients

    def _again(self, task: Task) -> None:
        """A task that was given, and is not done, waits again."""

    def _fail(self, key: TaskKey, code: int, message: str, **more: str) -> None:
        header = {"code": code, "message": message, names.IDENTIFIER: key[1], **more}
        self.tell(FRONTEND, key[0], names.DISCONNECTERROR, header)

    # ---- services that nobody offers --------------------------------------------------------------------------------

    def watch(self, now: float) -> None:
        """Look after ``patience`` intervals whether requests still wait for services that nobody offers."""
        if self._vain_at == NEVER and self.dispatcher.unoffered:
            self._vain_at = now + self._patience

    def _give_up(self, now: float) -> None:
        """End the requests that have waited long enough for somebody to offer their service."""
        self._vain_at = NEVER
        for name in list(self.dispatcher.unoffered):
            gone = self.dispatcher.give_up(name, now - self._patience)
            for task in gone:
                self._failed(task, UNOFFERED, names.NO_BROKER, f"nobody offers {name}")
            if gone:
                self.counters[UNOFFERED] = self.counters.get(UNOFFERED, 0) + len(gone)
                self.out.append(Note("warn", f"nobody offers {name}: {_requests(gone)}", gone[0].key[0]))
        self._vain_at = max(self.dispatcher.in_vain() + self._patience, now + self.options.heartbeat / LOOKS)

    # ---- to workers -------------------------------------------------------------------------------------------------

    def _pump_all(self, services: Collection[str], now: float) -> None:
        paused = self.valve is not None and self.valve.paused
        for task in self.dispatcher.give_suspects(services, now) if self.dispatcher.suspected and not paused else ():
            self._give(task, now)
        for name in services:
            queue = self.dispatcher.queues.get(name)
            if queue is not None and queue.backlog:
                self._pump(queue, now)

    def _pump(self, queue: Queue, now: float) -> None:
        while (self.valve is None or self._flows(queue, now)) and (
            task := self.dispatcher.give(queue, now)
        ) is not None:
            self._give(task, now)

    def _flows(self, queue: Queue, now: float) -> bool:
        """Whether a task of this service may go, under the limits that an operator has set."""
        if self.valve is not None and queue.ready and self.valve.bring(queue.backlog, now):
            return True
        self.dispatcher.peak.mark(self.dispatcher.queued, now)
        return False

    def _give(self, task: Task, now: float) -> None:
        if self._doubt_at == NEVER:
            self._doubt_at = now + self.options.doubt / 2
        time, version, identifier = now + self.wall_offset, self.config.version, wire.task_identifier(task.key)
        header = {"time": time, "config_version": version, names.IDENTIFIER: identifier, "service": task.kind}
        self.out.append(Send([task.worker, *wire.build(names.WORKREQUEST, header, task.message[0])]))

    def _put_back(self, tasks: list[Task], now: float) -> set[str]:
        """Tasks that are in no place: they wait again, unless they were delivered too often.

        Returns the services that have something to hand out now.
        """
        for task in reversed(tasks):
            if self._is_gone(task.key[0]):
                self.dispatcher.end(task)
                self._failed(task, WITHDRAWN, names.REFUSED, "")
                continue
            if task.attempt < self.options.max_deliveries:
                if task.attempt:
                    self.count("redelivered")
                    self._again(task)
                self.dispatcher.requeue(task)
                continue
            self.dispatcher.end(task)
            words = f"given to {several(task.attempt, 'worker')}, answered by none"
            self._failed(task, "undeliverable", names.NO_BROKER, words)
        self.watch(now)
        return {task.kind for task in tasks}


def _requests(tasks: Collection[Task]) -> str:
    clients = len({task.key[0] for task in tasks})
    return f"{several(len(tasks), 'request')} of {several(clients, 'client')} told {names.NO_BROKER}"
