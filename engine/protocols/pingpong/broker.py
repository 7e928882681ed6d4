"""The broker: workers on the backend as seed 002 has it, clients on the frontend as we have it.

The rules of this file:

- A worker is given one job at a time, and the broker remembers whose it was (ruling 4).
- Silence loses an idle worker. A busy one may be silent: its job's deadline judges it (ruling 1), or a PONG that finds
  its connection gone.
- A worker whose job was taken away owes a result. Its PINGs are not answered: so, by the seed's own rule, it opens its
  socket anew and says READY, and both sides know that it is free.
- A second result of a task is late, counted and dropped (ruling 7). What clients see is the frontend's.
"""

from __future__ import annotations

from engine.core import (
    Command,
    Connected,
    Disconnected,
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
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from engine.protocols.pingpong import messages, picture
from engine.protocols.pingpong.frontend import FRONTEND, Frontend
from engine.protocols.pingpong.machine import If, On, Seen
from engine.protocols.pingpong.messages import EXIT, NOT_A_JOB, PING, PONG, READY
from engine.protocols.pingpong.operated import BACKEND as BACKEND
from engine.protocols.pingpong.operated import Operated
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.table import Table, Worker
from engine.protocols.pingpong.tasks import Tasks

MISSED = 2  # PINGs, after which an idle worker is shown as late and a busy one's connection is tried


class Broker(Operated):
    """The core of a ping-pong broker. Its orders are those of ``Operated``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.violations = Violations()
        self.table = Table()
        self._alive = Liveness(options.worker_expiry, MISSED * options.ping_every)
        self.tasks = Tasks(options)
        self.frontend = Frontend(options, self.tasks, self.violations)
        self.inspected = None
        self._stores = False  # whether there is a store, see ``durable.py``: what was given out outlives its broker
        self._resumed = float("-inf")  # when a pause of our own ended
        self.late = self.restarts = self.losses = self.taken = self.unsent = 0

    # ---- the contract -------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """See ``engine.core.Core``."""
        out: list[Command] = []
        match event:
            case Received(messages=batch, socket="backend"):
                for frames in batch:
                    self._from_worker(frames, now, out)
            case Received(messages=batch):
                for frames in batch:
                    if self.frontend.read(frames, bool(self.table.ready) and self.tasks.valve is None, now, out):
                        self._pump(now, out)
            case Woken():
                self._wake(now, out)
            case Unsent():
                self._unsent(event, now, out)
            case Connected(socket="backend", peer=key):
                self._connected(key, now, out)
            case Disconnected(socket="backend", peer=key):
                if (gone := self.table.get(key)) is not None:
                    gone.connected, gone.broken = False, gone.task is not None
            case Connected() | Disconnected():
                pass  # of clients: they ask again for what they miss
            case Ordered(order=order):
                self.ordered(order, now, out)
            case Paused(seconds=seconds):
                self._resumed = now
                self._grace(seconds, out)
            case Started():
                pass
            case Finished():
                raise ValueError(f"a ping-pong broker takes no {event}")
        return out

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        return min(self._alive.wake_at(), self.tasks.wake_at())

    def check(self) -> None:
        """See ``engine.core.Core``."""
        self.table.check()
        self.tasks.check()
        self._alive.check()
        limited = self.tasks.valve is not None
        assert limited or not self.tasks.backlog or not self.table.ready, "a task waits beside an idle worker"
        for worker in self.table:
            held = [] if worker.task is None else [worker.task]
            assert list(self.tasks.held(worker.key)) == held
            assert (worker.key in self._alive) == (worker.lost is None), "a living worker is not watched"

    def snapshot(self, now: float) -> BrokerView:
        """See ``engine.core.Core``."""
        return picture.broker(self, now)

    # ---- workers ------------------------------------------------------------------------------------------------

    def _from_worker(self, frames: Frames, now: float, out: list[Command]) -> None:
        body = messages.from_worker(frames)
        if isinstance(body, str):
            self._violation(frames, body, now, out)
            return
        worker = self.table.get(frames[0])
        if body == PING:
            self._ping(worker, frames[0], now, out)
        elif body == READY:
            self._ready(worker, frames[0], now, out)
        elif worker is not None and worker.task is not None:
            self._result(worker, worker.task, body, now, out)
        elif worker is not None and worker.owes:
            self.late += 1
            worker.owes = False
            self.table.step(worker, On.LATE, worker.kept if worker.state == Seen.LOST else "")
            self._hear(worker, now, out)
            self._free(worker, now, out)
        else:
            self._violation(frames, "result without a job", now, out)

    def _ready(self, worker: Worker | None, key: bytes, now: float, out: list[Command]) -> None:
        # 002 "Worker is ready": READY registers the worker and is answered with PONG
        if worker is None or worker.state in (Seen.LOST, Seen.TOLD):
            lost = worker is not None and worker.state == Seen.LOST
            gap = now - worker.heard if worker is not None else 0.0
            worker = self._join(worker, key, now, out)
            if worker is None:
                return
            worker.leaving, worker.mute = False, worker.mute + 1 if lost else 0
            if worker.mute > 1:  # it starts over before its first PING is due; once may be a restart
                out.append(Note("warn", f"it sent no PING in {gap:.1f} s, again, and {self._limit()}", key))
        self.table.step(worker, On.READY)
        if worker.task is not None:  # ruling 6
            self.restarts += 1
            out.append(Note("warn", "started over while it was busy", key))
            self._take_back(worker, out)
        self._hear(worker, now, out)
        worker.owes = False
        out.append(Send([key, b"", PONG], BACKEND))
        self._free(worker, now, out)

    def _ping(self, worker: Worker | None, key: bytes, now: float, out: list[Command]) -> None:
        # 002 "Worker sends PING": answered with PONG; a worker that is not busy is in the ready queue afterwards
        told = worker is not None and worker.state == Seen.TOLD
        if worker is None or worker.state == Seen.LOST:
            slow = worker is not None and worker.state == Seen.LOST
            gap = now - worker.heard if worker is not None else 0.0
            worker = self._join(worker, key, now, out)
            if worker is None:
                return
            worker.owes = worker.owes or (self._stores and not slow)  # ruling 18
            if slow:  # it did not start over: it was there all the time
                out.append(Note("warn", f"its PING came after {gap:.1f} s, and {self._limit()}", key))
            self.table.step(worker, On.PING, worker.kept)
        elif worker.task is not None and worker.broken and not worker.pings:
            self._forsaken(worker, now, out)
        else:
            worker.pings = worker.pings or (worker.task is not None and not worker.broken)
            owes = worker.owes and worker.state == Seen.LEAVING
            self.table.step(worker, On.PING, If.OWES if owes else "")
        self._hear(worker, now, out)
        worker.mute = 0
        if told:
            out.append(Send([key, b"", EXIT], BACKEND))
        elif not worker.owes:
            out.append(Send([key, b"", PONG], BACKEND))
            if worker.task is None and key not in self.table.ready:  # ruling 2
                self._free(worker, now, out)

    def _limit(self) -> str:
        return f"WORKER_EXPIRE_SECONDS is {self.options.worker_expiry:g} s: they do not fit together"

    def _forsaken(self, worker: Worker, now: float, out: list[Command]) -> None:
        """Ruling 16: who does not PING at work, but does on a connection made anew, has not got its job any more."""
        self.table.step(worker, On.PING, If.ANEW)
        out.append(Note("warn", "its connection broke, and its job with it", worker.key))
        self._take_back(worker, out)
        worker.owes = True

    def _connected(self, key: bytes, now: float, out: list[Command]) -> None:
        """A second connection of one id while the first is alive: the newest is served (ruling 17)."""
        worker = self.table.get(key)
        if worker is None:
            return
        lively = worker.state != Seen.LOST and not worker.owes and now < worker.heard + MISSED * self.options.ping_every
        if worker.connected and lively:
            self.taken += 1
            out.append(Note("warn", "its name was taken over by another connection while it was alive", key))
        worker.connected = True

    def _result(self, worker: Worker, task: Task, result: bytes, now: float, out: list[Command]) -> None:
        # 002 "Broker assign job", 3: the result goes to the client on record and frees the worker (ruling 4)
        self._hear(worker, now, out)
        if worker.leaving:
            self.table.step(worker, On.RESULT)
        else:
            answered = self.table.answered
            answered.times, worker.state = answered.times + 1, answered.next
        self.frontend.done(task, result, now, out)
        worker.task = None
        worker.done += 1
        if worker.done >= worker.served.due:
            worker.served.note(now - task.given, now, worker.done)
        self._free(worker, now, out)

    def _join(self, known: Worker | None, key: bytes, now: float, out: list[Command]) -> Worker | None:
        if len(self.table) >= MAX_WORKERS:
            out.extend(self.violations.add(key, "too many workers", now))
            return None
        out.append(Note("good", "is back" if known else "joined", key))
        return self.table.join(key, now)

    def _hear(self, worker: Worker, now: float, out: list[Command]) -> None:
        # 002 "Update worker expiration"
        self._alive.heard(worker.key, now)
        worker.heard, worker.row = now, None
        if worker.lost is not None:  # its late result
            out.append(Note("good", "is back", worker.key))
            self.table.join(worker.key, now)
        worker.late = worker.silent = False

    def _free(self, worker: Worker, now: float, out: list[Command]) -> None:
        """A worker has nothing to do: let it go, or give it the oldest waiting task, or queue it."""
        worker.row = None
        if worker.leaving:
            out.append(Send([worker.key, b"", EXIT], BACKEND))
        else:
            self.table.ready.put(worker.key)
        self._pump(now, out)

    # ---- tasks --------------------------------------------------------------------------------------------------

    def _pump(self, now: float, out: list[Command]) -> None:
        """Give waiting tasks, oldest first, to idle workers, least recently used first."""
        ready, given = self.table.ready, self.table.given
        valve = self.tasks.valve
        if valve is not None:
            valve.ask_anew()
        while self.tasks.backlog:
            key = ready.first()
            if key is None or (valve is not None and not valve.bring(self.tasks.backlog, now)):
                self.tasks.peak.mark(len(self.tasks.backlog), now)
                return
            # 002 "Broker assign job", 1: pop the worker from the queue, send the job
            ready.drop(key)
            worker, task = self.table.workers[key], self.tasks.give(key, now)
            given.times, worker.state = given.times + 1, given.next
            worker.task, worker.row, worker.broken = task, None, False
            out.append(Send([key, b"", task.message[0]], BACKEND))

    def _take_back(self, worker: Worker, out: list[Command]) -> None:
        """A delivery came to nothing: its worker holds no task any more."""
        task = worker.task
        assert task is not None
        worker.task, worker.silent, worker.row = None, False, None
        worker.failed += 1
        self.frontend.returned(task, out)

    # ---- time ---------------------------------------------------------------------------------------------------

    def _wake(self, now: float, out: list[Command]) -> None:
        for key in self.tasks.overdue(now):  # ruling 1: the job's own deadline
            worker = self.table.workers[key]
            out.append(Note("warn", "its job's deadline has passed", key))
            quiet = worker.silent
            self.table.step(worker, On.DEADLINE, If.SILENT if quiet else "")
            self._take_back(worker, out)
            worker.owes = True
            if quiet:
                self._lose(worker, "silent past its job's deadline", now, out)
        for key in self._alive.beats(now):
            worker = self.table.workers[key]
            if worker.task is not None:  # is there a connection still? An unreachable one tells
                out.append(Send([key, b"", PONG], BACKEND))
            elif not worker.late:
                worker.late, worker.row = True, None
        for key in self._alive.expired(now):
            self._silent(self.table.workers[key], now, out)
        self.frontend.expire(now, out)
        self._pump(now, out)

    def _silent(self, worker: Worker, now: float, out: list[Command]) -> None:
        # 002 "Timeout worker": WORKER_EXPIRE_SECONDS without a message
        told = worker.state == Seen.TOLD
        self.table.step(worker, On.SILENCE, If.OWES if worker.owes and worker.state == Seen.LEAVING else "")
        if worker.task is not None:
            if not worker.silent:
                out.append(Note("info", "is silent while it works", worker.key))
            worker.silent, worker.row = True, None
            self._alive.heard(worker.key, now)  # watched on, so that its connection is tried again
        elif told:
            self.table.remove(worker)
            out.append(Note("info", "left", worker.key))
        else:
            self._lose(worker, f"silent for {self.options.worker_expiry:g} s", now, out)

    def _lose(self, worker: Worker, reason: str, now: float, out: list[Command]) -> None:
        self.losses += 1
        self._alive.forget(worker.key)
        self.table.lose(worker, now)
        out.append(Note("bad", f"lost: {reason}", worker.key))

    def _grace(self, seconds: float, out: list[Command]) -> None:
        self._alive.grace(seconds)
        self.tasks.grace(seconds)
        for worker in self.table:
            worker.heard, worker.row = worker.heard + seconds, None
        out.append(Note("info", f"every deadline was moved by {seconds:.1f} s"))

    # ---- refused sends and orders -------------------------------------------------------------------------------

    def _unsent(self, event: Unsent, now: float, out: list[Command]) -> None:
        self.unsent += 1
        if event.socket == FRONTEND:
            return  # the client is gone or takes nothing: its task has ended all the same
        key, body = event.frames[0], event.frames[-1]
        worker = self.table.get(key)
        if worker is None or worker.state == Seen.LOST:
            return
        reason = "its connection is gone" if event.reason == "unreachable" else "its queue is full"
        if worker.state == Seen.TOLD:
            if event.reason == "unreachable":
                self.table.step(worker, On.GONE)
                self._alive.forget(key)
                self.table.remove(worker)
                out.append(Note("info", "left", key))
        elif worker.task is not None and body not in NOT_A_JOB:
            self.table.step(worker, On.UNSENT)
            self.frontend.undone(worker.task, out)
            worker.task = None
            self._lose(worker, reason, now, out)
        elif event.reason == "unreachable" and now >= self._resumed + self.options.ping_every:
            # (else it opened its socket anew while we did not run: the old one's end is nobody's)
            self.table.step(worker, On.GONE)
            if worker.task is not None:
                self._take_back(worker, out)
                worker.owes = True  # it may live, and answer once it is connected again
            self._lose(worker, reason, now, out)
        self._pump(now, out)

    def _violation(self, frames: Frames, reason: str, now: float, out: list[Command]) -> None:
        peer = frames[0][:MAX_ROUTING_ID] if frames else b""
        out.extend(self.violations.add(peer, reason, now))
        worker = self.table.get(peer)
        if worker is not None:
            worker.row = None
