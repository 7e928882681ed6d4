"""The round robin broker: tasks from clients to the least recently used worker that has a free slot, and back.

The rules of this file (numbers are those of README.md):

- A task is accepted once, under (client, id); it is queued, or held by one worker, or it has ended. (R1, R2)
- A slot is taken by a delivery and given back by an INCREMENT, and only for a task that this worker had. (R5)
- What is queued goes first, and goes as soon as there is a slot: freed, joined, or found by the tick. So while the
  backlog holds anything, nobody is ready. (R3)
- A reply goes to the client that the record of the task names, and to nobody else. (R8)
- A worker is lost when it is silent for ``expiry`` or its queue refuses a message. What it held goes back to the head
  of the backlog, at most ``max_deliveries`` times. Whoever answers such a task first, of those that it was given to,
  has answered it. (R3b, R9)
- What a peer gets wrong is counted by peer and reason, and changes nothing else. (R6)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from engine.core import (
    NEVER,
    Command,
    Drain,
    Event,
    Frames,
    Inspect,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.inflight import InFlight, Task, TaskKey
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs, sampled
from engine.parts.limits import MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.ready import Ready
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import picture
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import Worker

LOST_KEPT = 4096  # lost workers that are remembered, the oldest forgotten first


class Broker:
    """The core of the broker's role. Orders: ``Inspect``, ``Drain``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.workers: dict[bytes, Worker] = {}
        self.lost: dict[bytes, Worker] = {}  # oldest first
        self.tasks: dict[TaskKey, Task] = {}  # every task that is queued or held
        self.former: dict[TaskKey, list[bytes]] = {}  # of tasks handed out again: who else may answer
        self.backlog: deque[Task] = deque()
        self.in_flight = InFlight()
        self.ready: Ready[bytes] = Ready()
        self.liveness = Liveness(options.expiry, options.heartbeat)
        self.ledger = Ledger()
        self.violations = Violations()
        self.legs = BrokerLegs()
        self.late = 0  # messages about tasks or workers that are no longer ours to settle
        self.redelivered = self.unsent = self.unpaid = 0
        self.inspected: bytes | None = None
        self._joined = 0  # workers so far, for names
        self._pings = 0
        self._overdue_at = NEVER  # no task or INCREMENT is overdue before; NEVER until the first delivery

    # ---- the contract --------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        match event:
            case Received(messages):
                for frames in messages:
                    self._receive(frames, now, out)
            case Woken():
                self._tick(now, out)
            case Unsent(frames, reason):
                self._unsent(frames, reason, now, out)
            case Ordered(Inspect(worker)):
                self.inspected = worker
            case Ordered(Drain(worker)):
                self._leave(worker, now, out)
            case Paused(seconds):
                self._grace(seconds)
                out.append(Note("warn", f"the broker did not run for {seconds:.1f} s: nobody is blamed for it"))
            case Started():
                pass
            case _:
                raise TypeError(f"a round robin broker takes no {event!r}")
        return out

    def wake_at(self) -> float:
        """The next heartbeat, expiry or deadline, or the moment when the oldest lost worker is forgotten."""
        at = min(self.liveness.wake_at(), self._overdue_at)
        for worker in self.lost.values():
            return min(at, worker.lost_at + self.options.lost_shown)
        return at

    def check(self) -> None:
        """The books balance, slots add up, and every task is in one place."""
        self.in_flight.check()
        self.liveness.check()
        view = self.ledger.view(self.in_flight.count, len(self.backlog))
        assert view.balanced, f"the ledger does not balance: {view}"
        queued = [task.key for task in self.backlog]
        held = [task.key for task in self.in_flight.all()]
        assert sorted(queued + held) == sorted(self.tasks), "a task is lost, or in two places"
        assert all(task.worker in self.workers for task in self.in_flight.all()), "a task is held by nobody"
        assert self.former.keys() <= self.tasks.keys(), "an ended task is remembered"
        assert not (self.backlog and self.ready), "a task waits beside a free slot"
        assert not self.workers.keys() & self.lost.keys()
        for key, worker in self.workers.items():
            assert key in self.liveness and worker.owed >= 0 and worker.written_off >= 0
            assert worker.used == self.in_flight.held(key) + worker.owed, "slots in use do not add up"
            assert (key in self.ready) == (worker.used < worker.slots and not worker.leaving), "not in its place"
            assert worker.used or not worker.leaving, "a drained worker stays"
            silent = [task.key for task in self.in_flight.of(key) if _ends_by_increment(task)]
            assert silent == list(worker.silent_tasks)
        assert self._overdue_at != NEVER or not self.in_flight.count, "nobody looks at deadlines"

    def snapshot(self, now: float) -> BrokerView:
        """The table, the backlog and the books."""
        return picture.of(self, now)

    # ---- messages ------------------------------------------------------------------------------------------------

    def _receive(self, frames: Frames, now: float, out: list[Command]) -> None:
        what = wire.at_broker(frames)
        peer = frames[0] if frames else b""
        worker = self.workers.get(peer)
        if worker is not None and what.__class__ is wire.Is:
            self.liveness.heard(peer, now)
        if what is wire.TASK:
            self._accept(frames, now, out)
        elif what is wire.REPLY:
            self._settle(worker, frames, now, out)
        elif what is wire.RETURN:
            self._returned(worker, peer, now, out)
        elif what is wire.LINK_PING:
            out.append(Send([peer, *wire.link_pong(frames[4])]))
            if worker is not None:
                worker.opened = now
            elif self._revive(peer, now, out) is not None:
                self._drain(now, out)
        elif what is wire.LINK_PONG:
            self._ponged(worker, frames, now, out)
        elif what is wire.JOIN:
            self._join(worker, frames, now, out)
        elif what is wire.LEAVE:
            self._leave(peer, now, out)
        else:
            out += self.violations.add(peer, str(what), now)

    def _accept(self, frames: Frames, now: float, out: list[Command]) -> None:
        """000 process_round_robin_pass: the first worker with a free slot, else the processing queue."""
        key = (frames[0], frames[4])
        if key in self.tasks:
            out += self.violations.add(frames[0], "id already in use", now)
            return
        self.ledger.sent += 1
        worker = self.ready.first()
        if worker is None and len(self.backlog) >= self.options.max_backlog:
            self.ledger.dropped += 1
            if self.ledger.dropped == 1:
                out.append(Note("bad", "the backlog is full: tasks are dropped", frames[0]))
            return
        task = self.tasks[key] = Task(key, wire.KINDS.get(frames[5], wire.OTHER), frames, now)
        if worker is None:
            self.backlog.append(task)
        else:
            self._give(task, worker, now, out)

    def _give(self, task: Task, key: bytes, now: float, out: list[Command]) -> None:
        """000 Worker Table, 1 to 3: pass it on, take a slot, to the bottom of the table."""
        worker = self.workers[key]
        self.in_flight.give(task, key, now)
        if _ends_by_increment(task):
            worker.silent_tasks[task.key] = None
        worker.used += 1
        worker.row = None
        if worker.used < worker.slots:
            self.ready.put(key)
        else:
            self.ready.drop(key)
        if self._overdue_at == NEVER:
            self._overdue_at = now + self.options.task_deadline
        out.append(Send([key, *wire.delivery(task.message)]))

    def _drain(self, now: float, out: list[Command]) -> None:
        """000 Processing Queue: as many as can go, oldest first."""
        while self.backlog:
            worker = self.ready.first()
            if worker is None:
                return
            self._give(self.backlog.popleft(), worker, now, out)

    def _settle(self, worker: Worker | None, frames: Frames, now: float, out: list[Command]) -> None:
        """A reply: relayed if this worker was given the task and nobody has answered it yet."""
        key = (frames[1], frames[5])
        task = self.tasks.get(key)
        if task is None or (task.worker != frames[0] and frames[0] not in self.former.get(key, ())):
            self._stray(worker, frames[0], now, out)
            return
        if task.message[3] != wire.TRACKEXEC:
            out += self.violations.add(frames[0], "response to a task that wants none", now)
            return
        if worker is not None:
            worker.opened = NEVER
        holder = self._end(task)
        if holder is not None:
            holder.owed += 1
            holder.owed_at = now
            holder.row = None
        if worker is not None:
            worker.done += 1
            worker.row = None
        self.ledger.succeeded += 1
        if sampled(frames[5]):
            self.legs.note(frames[1], frames[5], task.accepted, task.given, now)
        frames.append(frames.pop(0))
        out.append(Send(frames))

    def _stray(self, worker: Worker | None, peer: bytes, now: float, out: list[Command]) -> None:
        """A reply to no task of this peer: late where it may have had one that ended without it."""
        if worker is None or worker.written_off or worker.owed:
            self.late += 1
        else:
            out += self.violations.add(peer, "response to a task that it does not hold", now)

    def _end(self, task: Task) -> Worker | None:
        """Take a task out of the books wherever it is; the worker that held it, whose slot is still in use."""
        del self.tasks[task.key]
        if self.former:
            self.former.pop(task.key, None)
        if not task.worker:
            self.backlog.remove(task)
            return None
        holder = self.workers[task.worker]
        self.in_flight.take(task.worker, task.key)
        holder.silent_tasks.pop(task.key, None)
        return holder

    def _returned(self, worker: Worker | None, peer: bytes, now: float, out: list[Command]) -> None:
        """000 INCREMENT, with the bound that the seed lacks: only what was taken can come back."""
        if worker is None:
            self.late += 1
            return
        worker.opened = NEVER
        if worker.owed:
            worker.owed -= 1
        elif worker.silent_tasks:
            task = self.tasks[next(iter(worker.silent_tasks))]
            self._end(task)
            if task.message[3] == wire.EXEC:
                worker.done += 1
                self.ledger.succeeded += 1
            else:
                worker.failed += 1
                self.ledger.fail("unanswered")
        elif worker.written_off:
            worker.written_off -= 1
            self.late += 1
            return
        else:
            out += self.violations.add(peer, "INCREMENT beyond what it holds", now)
            return
        worker.used -= 1
        self._freed(worker, now, out)

    def _freed(self, worker: Worker, now: float, out: list[Command]) -> None:
        """Slots came back: to the bottom of the table and on with the backlog, or away if that was the last."""
        worker.row = None
        if worker.leaving:
            if not worker.used:
                self._remove(worker, out)
        elif worker.used < worker.slots:
            self.ready.put(worker.key)
            if self.backlog:
                self._drain(now, out)

    # ---- workers come and go -------------------------------------------------------------------------------------

    def _join(self, worker: Worker | None, frames: Frames, now: float, out: list[Command]) -> None:
        """000 REGISTER: a new row, or new slots for a known one; behind a new link what it held is not with it."""
        key, slots = frames[0], wire.slots_of(frames)
        if slots is None:
            out += self.violations.add(key, "REGISTER with bad slots", now)
            return
        if worker is None:
            worker = self._revive(key, now, out) or self._add(key, now, out)
            if worker is None:
                return
        elif worker.opened != NEVER:
            old = [task for task in self.in_flight.of(key) if task.given <= worker.opened]
            self._take_back(worker, old, out)
        worker.slots, worker.leaving, worker.opened, worker.row = slots, False, NEVER, None
        if frames[3] == wire.TRACKEXEC:
            out.append(Send([key, *wire.registered(frames[4])]))
        if worker.used < slots:
            self.ready.put(key)
        else:
            self.ready.drop(key)
        self._drain(now, out)

    def _add(self, key: bytes, now: float, out: list[Command]) -> Worker | None:
        if len(self.workers) >= MAX_WORKERS:
            out += self.violations.add(key, "too many workers", now)
            return None
        self._joined += 1
        worker = self.workers[key] = Worker(key, f"w{self._joined}", 0, now)
        self.liveness.heard(key, now)
        out.append(Note("good", f"{worker.name} joined", key))
        return worker

    def _revive(self, key: bytes, now: float, out: list[Command]) -> Worker | None:
        """A lost worker is heard again: it was cut off, not dead, and may not know that it was given up.

        The caller drains: behind a REGISTER the reply has to go first.
        """
        worker = self.lost.pop(key, None)
        if worker is not None:
            self.workers[key] = worker
            worker.lost_at, worker.row = NEVER, None
            self.liveness.heard(key, now)
            self.ready.put(key)
            out.append(Note("good", f"{worker.name} is back", key))
        return worker

    def _ponged(self, worker: Worker | None, frames: Frames, now: float, out: list[Command]) -> None:
        if worker is None:
            if self._revive(frames[0], now, out) is None:
                self.late += 1
            self._drain(now, out)
        elif worker.ping_id and frames[4] == worker.ping_id.to_bytes(8, "little"):
            worker.rtt, worker.ping_id, worker.row = now - worker.ping_at, 0, None

    def _leave(self, key: bytes, now: float, out: list[Command]) -> None:
        """000 DEREGISTER: nothing new for it, and gone when what it holds is done. Unknown: ignored."""
        self.lost.pop(key, None)
        worker = self.workers.get(key)
        if worker is None or worker.leaving:
            return
        worker.leaving, worker.row = True, None
        self.ready.drop(key)
        if worker.used:
            out.append(Note("info", f"{worker.name} drains: {worker.used} slots in use", key))
        else:
            self._remove(worker, out)

    def _remove(self, worker: Worker, out: list[Command]) -> None:
        del self.workers[worker.key]
        self.liveness.forget(worker.key)
        out.append(Note("info", f"{worker.name} left", worker.key))

    def _lose(self, worker: Worker, why: str, now: float, out: list[Command]) -> None:
        """It is out of the table, and what it held goes to others; ``lost`` remembers it for a while."""
        key, held = worker.key, list(self.in_flight.of(worker.key))
        del self.workers[key]
        self.ready.drop(key)
        self.liveness.forget(key)
        if not worker.leaving:
            self.lost[key] = worker
        if len(self.lost) > LOST_KEPT:
            del self.lost[next(iter(self.lost))]
        out.append(Note("bad", f"{worker.name} lost ({why}): {len(held)} tasks taken back", key))
        self._take_back(worker, held, out)
        worker.lost_at = now

    def _take_back(self, worker: Worker, tasks: Iterable[Task], out: list[Command]) -> None:
        """To the head of the backlog in their old order, or to the end of their road. Owed INCREMENTs are void."""
        again = []
        for task in tasks:
            self.in_flight.take(worker.key, task.key)
            worker.silent_tasks.pop(task.key, None)
            worker.used -= 1
            worker.written_off += 1
            worker.failed += 1
            task.worker = b""
            if task.attempt < self.options.max_deliveries:
                again.append(task)
                self.former.setdefault(task.key, []).append(worker.key)
            else:
                del self.tasks[task.key]
                self.former.pop(task.key, None)
                self.ledger.fail("undeliverable")
        self.backlog.extendleft(reversed(again))
        self.redelivered += len(again)
        worker.used -= worker.owed
        worker.written_off += worker.owed
        worker.owed, worker.row = 0, None

    # ---- time, and the socket's refusals -------------------------------------------------------------------------

    def _tick(self, now: float, out: list[Command]) -> None:
        """000 queue_checker, and what the seed leaves to nobody: silence, deadlines, memory."""
        for key in self.liveness.expired(now):
            self._lose(self.workers[key], "silent", now, out)
        for key in self.liveness.beats(now):
            worker = self.workers[key]
            self._pings += 1
            worker.ping_id, worker.ping_at = self._pings, now
            out.append(Send([key, *wire.link_ping(self._pings.to_bytes(8, "little"))]))
        if now >= self._overdue_at:
            self._write_off(now, out)
        while self.lost:
            oldest = next(iter(self.lost.values()))
            if now < oldest.lost_at + self.options.lost_shown:
                break
            del self.lost[oldest.key]
        self._drain(now, out)

    def _write_off(self, now: float, out: list[Command]) -> None:
        """What a worker held for ``task_deadline`` has failed, an INCREMENT that is due so long will not come."""
        allowed, first = self.options.task_deadline, now
        for worker in list(self.workers.values()):
            used = worker.used
            for task in list(self.in_flight.of(worker.key)):
                if task.given + allowed > now:
                    first = min(first, task.given)
                    break
                self._end(task)
                self.ledger.fail("deadline")
                worker.failed += 1
                worker.used -= 1
            if worker.owed and worker.owed_at + allowed <= now:
                self.unpaid += worker.owed
                worker.used -= worker.owed
                worker.owed = 0
            elif worker.owed:
                first = min(first, worker.owed_at)
            if worker.used < used:
                worker.written_off += used - worker.used
                out.append(Note("bad", f"{worker.name} let {used - worker.used} slots pass their deadline", worker.key))
                self._freed(worker, now, out)
        self._overdue_at = first + allowed

    def _unsent(self, frames: Frames, reason: str, now: float, out: list[Command]) -> None:
        """A peer is gone, or does not read. A worker's task never reached it, so that delivery does not count."""
        self.unsent += 1
        if len(frames) > 6 and frames[3] == wire.RESPONSE:
            self.ledger.succeeded -= 1
            self.ledger.fail("client gone")
            return
        worker = self.workers.get(frames[0])
        if worker is None:
            return
        task = self.tasks.get((frames[-1], frames[4]))
        if task is not None and task.worker == worker.key:
            task.attempt -= 1
        self._lose(worker, reason, now, out)
        self._drain(now, out)

    def _grace(self, seconds: float) -> None:
        self.liveness.grace(seconds)
        for task in self.in_flight.all():
            task.given += seconds
        for worker in self.workers.values():
            worker.owed_at += seconds


def _ends_by_increment(task: Task) -> bool:
    """Whether an INCREMENT alone ends it: nobody waits for a reply, or nobody may know how to make one."""
    return task.message[3] == wire.EXEC or task.kind == wire.OTHER
