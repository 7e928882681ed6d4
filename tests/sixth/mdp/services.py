"""The broker's tables: workers, the services that they offer, and what waits for each of those.

The rules of this file:

- A worker offers one service and holds one request at most. It is *idle* (in its service's ready queue), *busy*, or
  *draining* (it gets nothing new; the RFC has no command that ends a worker, ruling 5).
- A service stands for as long as it has a worker or a waiting request.
- A row is built again only after its worker changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain

from engine.parts.explain import show
from engine.parts.inflight import Task
from engine.parts.machine import Walk
from engine.parts.ready import Ready
from engine.parts.view import State, WorkerRow
from tests.sixth.mdp.machine import SEEN, Seen

MAX_SERVICES = 1024


class Worker:
    """One registered worker. Times are monotonic seconds."""

    __slots__ = ("done", "failed", "heard", "joined", "key", "row", "service", "state", "task")

    def __init__(self, key: bytes, service: Service, now: float) -> None:
        self.key, self.service = key, service
        self.state: str = Seen.UNKNOWN
        self.joined = self.heard = now
        self.task: Task | None = None
        self.done = self.failed = 0
        self.row: WorkerRow | None = None

    @property
    def idle(self) -> bool:
        """Whether it belongs into its service's ready queue."""
        return self.state == Seen.IDLE


class Service:
    """One service: its workers, and the requests that wait for them."""

    __slots__ = ("backlog", "name", "ready", "workers")

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.workers = 0
        self.ready: Ready[bytes] = Ready()
        self.backlog: deque[Task] = deque()


class Services:
    """All workers by routing id, all services by name."""

    def __init__(self) -> None:
        self.workers: dict[bytes, Worker] = {}
        self.walk = Walk(SEEN)
        self._services: dict[bytes, Service] = {}

    def __iter__(self) -> Iterator[Service]:
        return iter(self._services.values())

    def get(self, name: bytes) -> Service | None:
        """A service that has a worker or a waiting request."""
        return self._services.get(name)

    def make(self, name: bytes) -> Service | None:
        """A service, new or not; None where there are too many."""
        service = self._services.get(name)
        if service is None and len(self._services) < MAX_SERVICES:
            service = self._services[name] = Service(name)
        return service

    def tidy(self, service: Service) -> None:
        """Forget a service that has nothing any more."""
        if not service.workers and not service.backlog:
            self._services.pop(service.name, None)

    def join(self, key: bytes, service: Service, now: float) -> Worker:
        """Register a worker, which is not in the ready queue yet."""
        worker = self.workers[key] = Worker(key, service, now)
        service.workers += 1
        return worker

    def step(self, worker: Worker, event: str) -> None:
        """Something happened to a worker: its next state."""
        worker.state, worker.row = self.walk.step(worker.state, event), None

    def remove(self, worker: Worker) -> None:
        """Forget a worker that holds no request."""
        del self.workers[worker.key]
        worker.service.workers -= 1
        worker.service.ready.drop(worker.key)
        self.tidy(worker.service)

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return sum(len(service.backlog) for service in self)

    def ready(self) -> Iterator[bytes]:
        """The idle workers, service by service, each in the order in which its next requests go out."""
        return chain.from_iterable(service.ready for service in self)

    def check(self) -> None:
        """Every ready queue holds exactly its idle workers, and no request waits beside one."""
        for service in self:
            mine = [worker for worker in self.workers.values() if worker.service is service]
            assert set(service.ready) == {worker.key for worker in mine if worker.idle}, "ready is not the idle workers"
            assert service.workers == len(mine) and (mine or service.backlog), "a service of nothing"
            assert not service.backlog or not service.ready, "a request waits beside an idle worker"
        for worker in self.workers.values():
            assert worker.service is self._services[worker.service.name]
            assert (worker.task is not None) == (worker.state == Seen.BUSY) or worker.state == Seen.DRAINING


def row_of(worker: Worker, expiry: float, late: bool, violations: int) -> WorkerRow:
    """The row of one worker."""
    state: State = "drain" if worker.state == Seen.DRAINING else "busy" if worker.task else "late" if late else "ready"
    return WorkerRow(
        key=worker.key,
        name=show(worker.key, 24),
        state=state,
        slots=1,
        free=int(worker.idle),
        in_flight=int(worker.task is not None),
        done=worker.done,
        failed=worker.failed,
        violations=violations,
        joined=worker.joined,
        heard=worker.heard,
        lost_at=worker.heard + expiry,
        rtt=None,
        terms=(
            ("service", show(worker.service.name, 24)),
            ("queue", "ready" if worker.idle else "none"),
            ("state", worker.state),
        ),
    )
