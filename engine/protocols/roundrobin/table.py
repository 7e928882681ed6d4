"""The worker table of a round robin broker: who is a worker, who was one, and the row that an operator sees of each.

The rules of this file (numbers are those of README.md):

- A worker that is lost is remembered for ``lost_shown``, and is a worker again when it is heard. (R3, R4)
- One that has just registered settles: it gets nothing yet. (R16)
- The table knows nothing of tasks but what each worker holds; ``pool.py`` moves those.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from engine.core import NEVER, Command, Frames, Note
from engine.parts.inflight import Task
from engine.parts.limits import MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.machine import Walk
from engine.parts.ready import Ready
from engine.parts.served import Served
from engine.parts.view import State, WorkerRow
from engine.protocols.roundrobin.machine import SEEN, If, On, Seen
from engine.protocols.roundrobin.messages import EXEC, OTHER, PLAIN
from engine.protocols.roundrobin.options import Options

LOST_KEPT = 4096  # lost workers that are remembered, the oldest forgotten first
SETTLE = 0.02  # seconds that an original takes after the answer to its REGISTER until it knows its commands
ROUNDING = 1e-6  # seconds; a sum of times may be that far from a difference
_BEFORE_LATE: tuple[State, ...] = ("ready", "busy")
_LIVING = (Seen.READY, Seen.BUSY, Seen.DRAINING)
EAGER = 0.75  # of a heartbeat of silence, after which a worker that may say nothing by itself is PINGed
PATIENT = 1.25  # the same for one of ours, which PINGs by itself every heartbeat


class Worker:
    """One worker of the table. Times: monotonic seconds."""

    __slots__ = (
        "apart",
        "done",
        "drained",
        "failed",
        "held",
        "joined",
        "key",
        "leaving",
        "lost_at",
        "name",
        "opened",
        "owed",
        "owed_at",
        "ping_at",
        "ping_id",
        "quiet",
        "row",
        "rtt",
        "served",
        "slots",
        "stands",
        "stranger",
        "until",
        "written_off",
    )

    def __init__(self, key: bytes, name: str, slots: int, now: float) -> None:
        self.key, self.name, self.slots, self.joined = key, name, slots, now
        self.stands: str = Seen.UNKNOWN  # its state in the machine
        self.held: dict[Task, None] = {}  # in the order in which they were given
        self.owed = 0  # tasks that it answered and whose INCREMENT is still to come
        self.owed_at = 0.0  # its last answer
        self.quiet: dict[Task, None] = {}  # of them, what is ended by an INCREMENT alone; oldest first
        self.written_off = 0  # tasks taken from it whose INCREMENT may still come, and frees nothing
        self.done = self.failed = 0
        self.served = Served()
        self.leaving = False
        self.drained = False  # leaving only because an operator says so: it stays, empty, and may be given tasks again
        self.apart = False  # gets nothing until it is empty: kept for a suspect, or alone with one
        self.lost_at = NEVER  # when it was lost; NEVER while it is not
        self.opened = NEVER  # when it sent the link PING after which it has done nothing else; NEVER if it has
        self.stranger = False  # whoever has its id now is no worker: only a REGISTER makes it one again
        self.ping_id = 0  # of our unanswered PING, 0 for none
        self.ping_at = 0.0
        self.rtt: float | None = None
        self.row: WorkerRow | None = None  # as shown last; None when something has changed since
        self.until = 0.0  # it changes by itself then: silence makes the worker late, or its service times are old

    @property
    def used(self) -> int:
        """Slots: one for each task that it holds and for each answer that is still owed an INCREMENT."""
        return len(self.held) + self.owed

    def opens(self, now: float) -> None:
        """It sent a link PING."""
        self.opened = now

    def acts(self) -> None:
        """It did something else."""
        self.opened = NEVER

    def asked(self, number: int, now: float) -> None:
        """We sent it a PING of this number."""
        self.ping_id, self.ping_at = number, now

    def ponged(self, ident: bytes, now: float) -> None:
        """It sent a PONG; where that answers our PING, the round trip is known."""
        if self.ping_id and ident == self.ping_id.to_bytes(8, "little"):
            self.rtt, self.ping_id, self.row = now - self.ping_at, 0, None

    def relieve(self, tasks: Collection[Task], now: float) -> None:
        """These tasks are to be another's. It works on them still: their slots are free with its INCREMENTs."""
        for task in tasks:
            del self.held[task]
            self.quiet.pop(task, None)
        self.failed += len(tasks)
        self.owed += len(tasks)
        self.owed_at, self.row = now, None

    def grace(self, seconds: float) -> None:
        """What it holds and what it owes is due so much later."""
        self.owed_at += seconds
        for task in self.held:
            task.given += seconds

    def show(self, heard: float, late_after: float, expiry: float, violations: int, now: float) -> None:
        """Make its row anew; the same object stays where nothing in it has changed. Done for thousands at a time."""
        served, row, held = self.served, self.row, len(self.held)
        free = self.slots - held - self.owed
        state: State
        if self.lost_at != NEVER:
            state = "lost"
        elif self.leaving:
            state = "drain"
        elif now - heard > late_after:
            state = "late"
        else:
            state = "ready" if free > 0 else "busy"
        self.until = served.until
        if state in _BEFORE_LATE and (late := heard + late_after - ROUNDING) < served.until:
            self.until = late
        silent = heard + expiry
        known = row is not None and row.state == state and row.violations == violations and row.heard == heard
        if row is None or not known or row.took is not served.shown:
            self.row = WorkerRow._make(
                (
                    self.key,
                    self.name,
                    state,
                    self.slots,
                    free if free > 0 else 0,
                    held,
                    self.done,
                    self.failed,
                    violations,
                    self.joined,
                    heard,
                    silent if silent < self.lost_at else self.lost_at,
                    self.rtt,
                    (),
                    served.shown,
                )
            )


class Table:
    """All workers by routing id; ``ready``: those with a free slot that may have a task, least recently used first.

    ``ours``: peers that PING by themselves.
    """

    def __init__(self, options: Options, ours: Container[bytes] = ()) -> None:
        self.workers: dict[bytes, Worker] = {}
        self.lost: dict[bytes, Worker] = {}  # oldest loss first
        self.settling: dict[Worker, float] = {}  # have just registered, get nothing before; oldest first
        self.ready: Ready[Worker] = Ready()
        self.liveness = Liveness(options.expiry, options.heartbeat * EAGER, ours, options.heartbeat * PATIENT)
        self.walk = Walk(SEEN)
        self.takes, self.fills = self.walk.tally(Seen.READY, On.TASK), self.walk.tally(Seen.READY, On.TASK, If.LAST)
        self.answers = {state: self.walk.tally(state, On.RESPONSE) for state in _LIVING}
        self.frees = {
            event: {state: self.walk.tally(state, event) for state in (Seen.READY, Seen.BUSY)}
            for event in (On.INCREMENT, On.DEADLINE)
        }
        self._lost_shown = options.lost_shown
        self._joined = 0  # workers so far, for names

    def wake_at(self) -> float:
        """The next heartbeat or expiry, the next one that has settled, or when the oldest lost worker is forgotten."""
        at = min(self.liveness.wake_at(), next(iter(self.settling.values()), NEVER))
        if self.lost:
            at = min(at, next(iter(self.lost.values())).lost_at + self._lost_shown)
        return at

    def step(self, worker: Worker, event: str, guard: str = "") -> None:
        """Something happened to a worker: its next state."""
        worker.stands = self.walk.step(worker.stands, event, guard)

    def freed(self, worker: Worker, event: str, slots: int) -> None:
        """Something happened to it so many times, and each freed a slot; what it uses now is what is left."""
        used = worker.used
        if not worker.leaving and used + slots <= worker.slots:
            first = self.frees[event][worker.stands]
            first.times += 1
            worker.stands = first.next
            self.frees[event][worker.stands].times += slots - 1
            return
        for left in range(used + slots - 1, used - 1, -1):  # slots in use after each
            if worker.leaving:
                self.step(worker, event, "" if left or worker.drained else If.OF_ALL)
            else:
                self.step(worker, event, If.FULL if left >= worker.slots else "")

    def elsewhere(self, key: bytes, event: str, guard: str = "") -> None:
        """Something was heard of one that is no worker, or not at the moment, and that changes nothing."""
        self.walk.step(Seen.LOST if key in self.lost else Seen.UNKNOWN, event, guard)

    def add(self, key: bytes, now: float, out: list[Command]) -> Worker | None:
        """A new worker without slots; None where the table is full. The caller offers its slots."""
        if len(self.workers) >= MAX_WORKERS:
            return None
        self._joined += 1
        worker = self.workers[key] = Worker(key, f"w{self._joined}", 0, now)
        self.step(worker, On.REGISTER)
        self.liveness.heard(key, now)
        out.append(Note("good", f"{worker.name} joined", key))
        return worker

    def settle(self, worker: Worker, now: float) -> None:
        """It gets nothing for SETTLE."""
        self.settling.pop(worker, None)
        self.settling[worker] = now + SETTLE

    def strike(self, worker: Worker) -> None:
        """Off every list of the living; it holds nothing any more."""
        del self.workers[worker.key]
        self.settling.pop(worker, None)
        self.ready.drop(worker)
        self.liveness.forget(worker.key)

    def lose(self, worker: Worker, now: float) -> None:
        """The same, but it is remembered, unless it was leaving."""
        self.strike(worker)
        worker.lost_at = now
        if not worker.leaving:
            self.lost[worker.key] = worker
            if len(self.lost) > LOST_KEPT:
                self.remove(next(iter(self.lost)), On.TOO_MANY)

    def estrange(self, key: bytes) -> None:
        """The peer that has the id of a lost worker now is no worker: only a REGISTER makes it one again."""
        if (worker := self.lost.get(key)) is not None:
            worker.stranger = True

    def remove(self, key: bytes, event: str) -> None:
        """A lost worker is remembered no longer; a no-op for any other."""
        worker = self.lost.pop(key, None)
        if worker is not None:
            self.step(worker, event)

    def revive(self, key: bytes, event: str, now: float, out: list[Command]) -> Worker | None:
        """A lost worker is heard again: cut off, not dead, and it may not know that it was given up.

        The caller drains: behind a REGISTER the reply has to go first.
        """
        worker = self.lost.get(key)
        if worker is not None and worker.stranger and event != On.REGISTER:
            self.step(worker, event, If.STRANGER)
            return None
        if worker is not None:
            del self.lost[key]
            worker.stranger = False
            self.step(worker, event)
            self.workers[key] = worker
            worker.lost_at, worker.row = NEVER, None
            self.liveness.heard(key, now)
            self.ready.put(worker)
            out.append(Note("good", f"{worker.name} is back", key))
        return worker

    def forget(self, now: float) -> None:
        """Those who were lost for ``lost_shown``."""
        while self.lost:
            oldest = next(iter(self.lost.values()))
            if now < oldest.lost_at + self._lost_shown:
                break
            self.remove(oldest.key, On.FORGOTTEN)


def is_empty(worker: Worker) -> bool:
    """Whether a suspect may be given to it."""
    return not worker.used


def is_quiet(task: Task) -> bool:
    """Whether an INCREMENT alone ends it: nobody waits for a reply, or its worker may not know how to make one."""
    return task.message[0] == EXEC or task.kind == OTHER


def is_awaited(task: Task) -> bool:
    """Whether its client wants a reply."""
    return task.message[0] != EXEC


def size_of(message: Frames) -> int:
    """Bytes of a task, nothing where it brings no arguments: there its id's bound is one."""
    return sum(map(len, message)) if len(message) > PLAIN else 0
