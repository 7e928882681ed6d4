"""The broker's table of workers: who is in which state, and the row that an operator sees of it.

The rules of this file:

- A worker has one slot. It is *idle* (in the ready queue), *busy* (holds a task), *owing* (its task was taken away when
  its deadline had passed, but its result may still come), *lost* (silent or unreachable), *leaving* or *told* to exit.
  Its state changes by ``step`` alone; what it owes and that it is to leave are remembered while it is lost.
- Only an idle worker is in the ready queue. A result does not say which job it belongs to, so an owing worker is given
  nothing until it has sent that result or started over with READY.
- Lost workers stay known, the oldest forgotten first: one that owes a result must not come back as a fresh one.
- A row is built again only after its worker changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.core import NEVER
from engine.parts.inflight import Task
from engine.parts.machine import Walk
from engine.parts.ready import Ready
from engine.parts.served import Served, Took
from engine.parts.view import State, WorkerRow
from engine.protocols.pingpong.machine import SEEN, If, On, Seen

LOST_KEPT = 1024  # lost workers that are remembered
LOST_SHOWN = 30.0  # seconds in which they are still shown
NAME = 24  # characters of a routing id that is shown as it is


class Worker:
    """One worker at the broker. Times are monotonic seconds."""

    __slots__ = (
        "broken",
        "connected",
        "done",
        "failed",
        "heard",
        "joined",
        "key",
        "late",
        "leaving",
        "lost",
        "mute",
        "name",
        "owes",
        "pings",
        "row",
        "served",
        "silent",
        "state",
        "task",
    )

    def __init__(self, key: bytes, name: str, now: float) -> None:
        self.key, self.name = key, name
        self.state: str = Seen.UNKNOWN
        self.joined = self.heard = now
        self.lost: float | None = None  # since when
        self.mute = 0  # how often it started over, lost, without a PING since the last one
        self.task: Task | None = None
        self.owes = False
        self.connected = True
        self.broken = False  # its connection was, since it got its task
        self.pings = False  # it PINGs while it works
        self.late = False  # PINGs are overdue
        self.silent = False  # quiet past the expiry, but known to work
        self.leaving = False  # an operator wants it to go
        self.done = self.failed = 0
        self.served = Served()
        self.row: WorkerRow | None = None

    @property
    def idle(self) -> bool:
        """Whether it belongs into the ready queue."""
        return self.state == Seen.IDLE

    @property
    def kept(self) -> str:
        """What is remembered of a lost worker, as a guard."""
        if self.owes:
            return If.OWES_AND_LEAVES if self.leaving else If.OWES
        return If.LEAVES if self.leaving else ""

    @property
    def display(self) -> State:
        """The state in an operator's words."""
        if self.lost is not None:
            return "lost"
        if self.leaving:
            return "drain"
        if self.silent:
            return "silent"
        if self.task is not None or self.owes:
            return "busy"
        return "late" if self.late else "ready"


class Table:
    """All workers by routing id, the ready queue among them, and the lost ones."""

    def __init__(self) -> None:
        self.workers: dict[bytes, Worker] = {}
        self.ready: Ready[bytes] = Ready()
        self._lost: dict[bytes, None] = {}  # longest lost first
        self._joins = 0
        self.walk = Walk(SEEN)
        self.given, self.answered = self.walk.tally(Seen.IDLE, On.TASK), self.walk.tally(Seen.BUSY, On.RESULT)

    def __len__(self) -> int:
        return len(self.workers) - len(self._lost)

    def __iter__(self) -> Iterator[Worker]:
        return iter(self.workers.values())

    def get(self, key: bytes) -> Worker | None:
        """A worker that is known, lost or not."""
        return self.workers.get(key)

    def join(self, key: bytes, now: float) -> Worker:
        """Take in a new worker, or a lost one again; it is not put into the ready queue yet."""
        worker = self.workers.get(key)
        if worker is None:
            self._joins += 1
            worker = self.workers[key] = Worker(key, _name(key, self._joins), now)
        self._lost.pop(key, None)
        worker.lost, worker.joined, worker.row = None, now, None
        worker.connected = True
        return worker

    def step(self, worker: Worker, event: str, guard: str = "") -> None:
        """Something happened to a worker: its next state."""
        worker.state = self.walk.step(worker.state, event, guard)

    def lose(self, worker: Worker, now: float) -> None:
        """Keep a worker that holds no task, and is lost since now."""
        self.ready.drop(worker.key)
        worker.lost, worker.row = now, None
        worker.late = worker.silent = False
        self._lost[worker.key] = None
        if len(self._lost) > LOST_KEPT:
            oldest = next(iter(self._lost))
            self.step(self.workers[oldest], On.FORGOTTEN)
            del self._lost[oldest], self.workers[oldest]

    def remove(self, worker: Worker) -> None:
        """Forget a worker that holds no task."""
        self.ready.drop(worker.key)
        self._lost.pop(worker.key, None)
        del self.workers[worker.key]

    def shown(self, now: float) -> Iterator[Worker]:
        """The workers for an operator, in the order in which they first joined."""
        return (w for w in self.workers.values() if w.lost is None or now - w.lost < LOST_SHOWN)

    def check(self) -> None:
        """The ready queue holds exactly the idle workers; what is kept of a worker fits to its state."""
        assert set(self.ready) == {w.key for w in self if w.idle}, "the ready queue is not the idle workers"
        assert set(self._lost) == {w.key for w in self if w.lost is not None}
        for worker in self:
            holds, owes = worker.task is not None, worker.owes
            assert (worker.lost is not None) == (worker.state == Seen.LOST), "lost without being so"
            assert not (holds and owes), "it owes a result of a task that it holds"
            match worker.state:
                case Seen.IDLE:
                    assert not (holds or owes or worker.leaving)
                case Seen.BUSY:
                    assert holds and not worker.leaving
                case Seen.OWING:
                    assert owes and not worker.leaving
                case Seen.LEAVING:
                    assert worker.leaving and (holds or owes)
                case Seen.TOLD:
                    assert worker.leaving and not holds
                case _:
                    assert worker.state == Seen.LOST and not holds
            assert not worker.silent or worker.task is not None
            assert worker.task is None or worker.task.worker == worker.key


def row_of(worker: Worker, lost_at: float, violations: int, took: Took | None = None) -> WorkerRow:
    """The row of one worker; ``lost_at`` is when silence or its job's deadline will end its standing."""
    if worker.lost is not None:
        queue, judge = "none", "nothing"
    elif worker.task is not None:
        queue, judge = "popped", "deadline"
    else:
        queue, judge = "ready" if worker.idle else "none", "PING"
    return WorkerRow(
        key=worker.key,
        name=worker.name,
        state=worker.display,
        slots=1,
        free=int(worker.idle),
        in_flight=int(worker.task is not None),
        done=worker.done,
        failed=worker.failed,
        violations=violations,
        joined=worker.joined,
        heard=worker.heard,
        lost_at=NEVER if worker.lost is not None else lost_at,
        rtt=None,
        terms=(
            ("state", worker.state),
            ("queue", queue),
            ("judged by", judge),
            ("owes", "a result" if worker.owes else "nothing"),
        ),
        took=took,
    )


def _name(key: bytes, number: int) -> str:
    text = key.decode("ascii", "replace")
    return text if len(text) <= NAME and text.isascii() and text.isprintable() else f"w{number}"
