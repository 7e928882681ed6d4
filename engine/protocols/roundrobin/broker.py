"""The round robin broker: tasks from clients to the least recently used worker that has a free slot, and back.

The rules of this file (numbers are those of README.md; the state itself and its rules are in ``pool.py``):

- Link PINGs are answered, whoever sends them; a lost worker that is heard so is a worker again, and one that takes
  itself for registered and is not is told so. (R4)
- REGISTER, DEREGISTER and INCREMENT are the broker's own; any other command is a task and passes on unread. (R1)
- A reply goes to the client of a task that its sender was given, and to nobody else. Where a task was given to
  several, the first reply ends it and the others are late. (R3, R8)
- An INCREMENT frees the slot of a task that was answered, or ends the oldest that needs no answer. (R5)
- Packed, a message is many tasks or many answers; each is what it would be on the seed's wire, and an answer is a reply
  and its INCREMENT in one.
- What a peer gets wrong is counted by peer and reason, and changes nothing else. (R6)
"""

from __future__ import annotations

from engine.core import (
    MAIN,
    NEVER,
    Command,
    Connected,
    Disconnected,
    Event,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Started,
    Unsent,
    Woken,
    send,
)
from engine.parts.callers import Callers
from engine.parts.inflight import TaskKey
from engine.parts.limits import MAX_ROUTING_ID
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed, picture
from engine.protocols.roundrobin.dispatch import LATE
from engine.protocols.roundrobin.machine import If, On
from engine.protocols.roundrobin.messages import JOIN, LINK_PING, LINK_PONG, REPLY, RETURN, TASK, at_broker
from engine.protocols.roundrobin.operated import Operated
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.packed import AT_BROKER
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.presence import Presence
from engine.protocols.roundrobin.table import Worker

IN_USE = "id already in use"


class Broker(Operated):
    """The core of the broker's role. Its orders are those of ``Operated``."""

    def __init__(self, options: Options) -> None:
        self.pool = Pool(options)
        self.presence = Presence(self.pool)
        self.violations = Violations()
        self.callers = Callers()
        self.late = 0  # messages about tasks or workers that have ended meanwhile
        self.unsent = 0
        self.denied = 0  # PINGs of peers that took themselves for registered
        self.inspected = None
        self._resumed = -NEVER  # when a pause of our own ended
        self._stores = False  # whether there is a store: see ``durable.py``

    # ---- the contract --------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        match event:
            case Received(messages):
                self._receive(messages, now, out)
            case Woken():
                self.pool.tick(now, out)
                self.presence.beat(now, out)
            case Unsent(frames, reason):
                self._unsent(frames, reason, now, out)
            case Ordered(order):
                self.ordered(order, now, out)
            case Paused(seconds):
                self.pool.grace(seconds)
                self._resumed = now
                out.append(Note("warn", f"the broker did not run for {seconds:.1f} s, nobody is blamed for it"))
            case Connected(_, peer):
                self.presence.connected(peer, out)
            case Disconnected(_, peer):
                self.presence.disconnected(peer, now, out)
            case Started():
                pass
            case _:
                raise TypeError(f"a round robin broker takes no {event!r}")
        self.pool.lanes.flush(out)
        return out

    def wake_at(self) -> float:
        """The pool's next deadline, or the next PING of the lost."""
        return min(self.pool.wake_at(), self.presence.wake_at())

    def check(self) -> None:
        """The pool's invariants."""
        self.pool.check()

    def snapshot(self, now: float) -> BrokerView:
        """The table, the backlog and the books."""
        return picture.of(self, now)

    # ---- messages ------------------------------------------------------------------------------------------------

    def _receive(self, messages: list[Frames], now: float, out: list[Command]) -> None:
        pool, known = self.pool, self.callers.known
        workers, heard, settling, lanes = pool.workers, pool.liveness.heard_at, pool.settling, pool.lanes
        accept = self._accept if self._stores else pool.accept
        for frames in messages:
            if len(frames) == AT_BROKER and lanes.reads:
                wrong = self._packed(frames, now, out)
                if wrong is not None:
                    out += self.violations.add(frames[0], wrong, now)
                continue
            what = at_broker(frames)
            if type(what) is str:
                out += self.violations.add(frames[0] if frames else b"", what, now)
                continue
            peer = frames[0]
            worker = workers.get(peer)
            if worker is not None:
                heard[peer] = now
                if settling and what is not JOIN and worker in settling:
                    pool.settled(worker, now, out)
            if what is REPLY:
                self._reply(worker, frames, now, out)
            elif what is RETURN:
                if why := LATE if worker is None else pool.increment(worker, now, out):
                    self._not_freed(why, peer, now, out)
            elif what is TASK:
                caller = known.get(peer)
                if caller is None:
                    self.callers.sent(peer, 1, now)
                else:  # the same without a call: this is done for every task
                    caller[0] += 1
                    caller[1] = now
                if accept(peer, [frames[3:-1]], now, out):
                    out += self.violations.add(peer, IN_USE, now)
            elif what is LINK_PING:
                self._ping(worker, frames, now, out)
            elif what is LINK_PONG:
                self._pong(worker, frames, now, out)
            elif what is JOIN:
                self._register(frames, now, out)
            else:
                pool.leave(peer, On.DEREGISTER, out)

    def _accept(self, client: bytes, messages: list[Frames], now: float, out: list[Command]) -> int:
        """Tasks of a client; with a store they go its way. Returns how many were refused."""
        return self.pool.accept(client, messages, now, out)

    def _relay(self, client: bytes, ident: bytes, worker: bytes, data: bytes | None, out: list[Command]) -> None:
        """An answer, to its client; with a store it waits there."""
        self.pool.lanes.relay(client, ident, worker, data, out)

    def _relay_run(self, worker: bytes, answers: list[packed.Answer], out: list[Command]) -> None:
        """Answers of one worker, each to its client."""
        self.pool.lanes.relay_run(worker, answers, out)

    def _reply(self, worker: Worker | None, frames: Frames, now: float, out: list[Command]) -> None:
        """000 process_round_robin_pass, "an address frame on top": relayed, once, to the client of the task."""
        peer, client, pool = frames[0], frames[1], self.pool
        key = (client, frames[5])
        task = pool.tasks.get(key)
        if task is None or (task.worker != peer and peer not in pool.former.get(key, ())):
            self._stray(worker, peer, now, out)
            return
        if task.message[0] == wire.EXEC:
            out += self.violations.add(peer, "reply to a task that wants none", now)
            return
        if not pool.succeed(task, worker, peer, now, owes=True):
            pool.drain(now, out)  # it waited, and may have kept a worker for itself
        if self._stores or client in pool.lanes.peers:
            self._relay(client, frames[5], peer, frames[6] if len(frames) == 8 else None, out)
        else:
            del frames[0]
            frames.append(peer)
            out.append(send((frames, MAIN)))

    def _stray(self, worker: Worker | None, peer: bytes, now: float, out: list[Command]) -> None:
        """A reply to no task of this peer: late where it may have had one that ended without it."""
        if worker is None or worker.written_off or worker.owed:
            self.late += 1
        else:
            out += self.violations.add(peer, "reply to a task that it does not hold", now)

    def _not_freed(self, why: str, peer: bytes, now: float, out: list[Command]) -> None:
        """An INCREMENT that frees no slot: late, or beyond what it holds."""
        if why == LATE:
            self.late += 1
        else:
            out += self.violations.add(peer, why, now)

    def _register(self, frames: Frames, now: float, out: list[Command]) -> None:
        """000 REGISTER: answered where that is wanted, and what waits is passed on."""
        key, slots = frames[0], wire.slots_of(frames)
        if slots is None:
            out += self.violations.add(key, "REGISTER with bad slots", now)
            return
        self.presence.registered(key)
        if not self.pool.join(key, slots, now, out):
            out += self.violations.add(key, "too many workers", now)
            return
        if frames[3] == wire.TRACKEXEC:
            out.append(Send([key, *wire.registered(frames[4])]))
        self.pool.drain(now, out)

    # ---- packed ------------------------------------------------------------------------------------------------------

    def _packed(self, frames: Frames, now: float, out: list[Command]) -> str | None:
        """Many tasks of a client, or many answers of a worker; what is wrong, where it is neither."""
        peer, frame = frames
        if not 0 < len(peer) <= MAX_ROUTING_ID:
            return "routing id of a wrong length"
        kind = packed.kind(frame)
        if kind == packed.ANSWERS:
            answers = packed.read_answers(frame)
            if isinstance(answers, str):
                return answers
            self._answers(peer, answers, now, out)
        elif kind == packed.TASKS:
            tasks = packed.read_tasks(frame)
            if isinstance(tasks, str):
                return tasks
            if peer in self.pool.workers:
                self.pool.liveness.heard(peer, now)
            self.callers.sent(peer, len(tasks), now)
            for _ in range(self._accept(peer, tasks, now, out)):
                out += self.violations.add(peer, IN_USE, now)
        elif kind:
            return "packed frame of a wrong kind"
        else:
            return "wrong number of frames"
        return None

    def _answers(self, peer: bytes, answers: list[packed.Answer], now: float, out: list[Command]) -> None:
        """Each is a reply and its INCREMENT; the slots come back together, when all have been read."""
        pool = self.pool
        worker = pool.workers.get(peer)
        if worker is not None:
            pool.liveness.heard(peer, now)
            worker.acts()
        at, end, freed, late = 0, len(answers), 0, False
        while at < end:
            start = at
            if worker is not None:
                at = pool.succeed_run(worker, answers, start, now)
            if at > start:
                freed += at - start
                self._relay_run(peer, answers if at - start == end else answers[start:at], out)
                continue
            client, ident, answer = answers[at]
            at += 1
            task = pool.tasks.get((client, ident))
            if task is None or task.worker != peer or worker is None:
                freed += self._answered_late(worker, peer, (client, ident), answer, now, out)
                late = True
                continue
            freed += 1
            if answer is not None:
                out += self.violations.add(peer, "reply to a task that wants none", now)
            pool.end_quietly(worker, task)
        if worker is not None and freed:
            pool.free(worker, On.INCREMENT, now, out, freed)
        if late:
            pool.drain(now, out)  # what it ended may have waited, and kept a worker for itself

    def _answered_late(
        self, worker: Worker | None, peer: bytes, key: TaskKey, answer: packed.Data, now: float, out: list[Command]
    ) -> int:
        """An answer to what its sender does not hold, or no more; returns the slots that it gives back, 0 or 1."""
        task = self.pool.tasks.get(key)
        if task is None or peer not in self.pool.former.get(key, ()):
            self._stray(worker, peer, now, out)
        elif answer is None:
            self.late += 1
        elif task.message[0] == wire.EXEC:
            out += self.violations.add(peer, "reply to a task that wants none", now)
        else:
            self.pool.succeed(task, worker, peer, now, owes=True)
            self._relay(*key, peer, None if answer is True else answer, out)
        return 0 if worker is None else self.pool.redeem(worker)

    # ---- heartbeats ----------------------------------------------------------------------------------------------

    def _ping(self, worker: Worker | None, frames: Frames, now: float, out: list[Command]) -> None:
        peer, ident = frames[0], frames[4]
        if wire.unclaimed(ident):
            self.presence.unclaimed(peer, now, out)
            worker = self.pool.workers.get(peer)
        table = self.pool.table
        if worker is not None:
            worker.opens(now)
            table.step(worker, On.PING)
        elif table.revive(peer, On.PING, now, out) is None:
            denial = wire.disowned(ident)
            if denial is not None:
                self.denied += 1
                ident = denial
                if peer not in table.lost:  # else another peer's PING under that name was counted
                    table.elsewhere(peer, On.PING, If.CLAIMS)
        ident = self.pool.lanes.pinged(peer, ident, out)
        self.pool.lanes.flush(out)  # a worker that said goodbye takes the PONG for the end of what it was given (R10)
        out.append(Send([peer, *wire.link_pong(ident)]))
        if worker is not None:
            self.presence.pinged(worker, frames[4], now, out)
        self.pool.drain(now, out)

    def _pong(self, worker: Worker | None, frames: Frames, now: float, out: list[Command]) -> None:
        if worker is not None:
            worker.ponged(frames[4], now)
            self.pool.table.step(worker, On.PONG)
        elif self.pool.table.revive(frames[0], On.PONG, now, out) is not None:
            self.pool.drain(now, out)
        else:
            self.late += 1

    def _unsent(self, frames: Frames, reason: str, now: float, out: list[Command]) -> None:
        """A peer is gone, or does not read. A task that never reached its worker was not delivered."""
        if frames[0] in self.pool.lost and frames[3:4] == [wire.PING]:
            return  # it is not back yet
        self.unsent += 1
        replies, given = _refused(frames)
        if replies:  # counted as successes when they were sent
            self.pool.records.unreachable(replies)
            return
        worker = self.pool.workers.get(frames[0])
        if worker is None:
            return
        if frames[3:4] in ([wire.PING], [wire.PONG]) and now < self._resumed + self.pool.options.heartbeat:
            return  # it took us for gone and linked anew while we did not run: the old link's end is nobody's
        self.pool.records.undelivered(worker.key, given)
        self.pool.lose(worker, reason, now, out)
        self.presence.seek(now)
        self.pool.drain(now, out)


def _refused(frames: Frames) -> tuple[int, list[TaskKey]]:
    """Of a message that a broker sent: how many replies it carried, and which tasks."""
    if len(frames) > 2:
        return (1, []) if len(frames) > 6 and frames[3] == wire.RESPONSE else (0, [(frames[-1], frames[4])])
    if packed.kind(frames[1]) == packed.RESULTS:
        results = packed.read_results(frames[1])
        assert not isinstance(results, str), results
        return len(results), []
    pairs = packed.read_deliveries(frames[1])
    assert not isinstance(pairs, str), pairs
    return 0, [(client, task[1]) for client, task in pairs]
