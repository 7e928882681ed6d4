"""A round robin broker with a store: what it accepts is on the disk, and so is how it ended, before anybody hears it.

The rules of this file (numbers are those of README.md):

- A task is the store's first. It comes into the pool by a lease, so that what a worker gets survives this broker.
- An answer is relayed when the store has it. Until then its client hears nothing, and asks again if we die.
- A task with a global id that was kept before is not done again: who asks gets its outcome, at once or when it ends.
- The pool holds no more than HIGH tasks; the others wait in the store, however many they are.
- What the store refuses is counted as dropped, and a client of ours is told why. (R18)
- A task that was handed out in vain too often, or held too long, is dead: the store has it for an operator, who may
  have it tried again. It is another task then, in the books of this broker too.
- Of a store that brokers share, the pool takes AHEAD tasks for each slot of its workers, and the ledger counts what was
  leased. What another broker has done for our clients is told, and what we have done for its clients the store tells.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.core import (
    NEVER,
    Command,
    Ended,
    Entry,
    Event,
    Frames,
    Leased,
    Note,
    Ordered,
    Outcome,
    Started,
    Store,
    Stored,
    Told,
    Unstored,
    Woken,
)
from engine.parts.inflight import TaskKey
from engine.parts.limits import MAX_HELD
from engine.parts.plain import several
from engine.parts.store import FOUND, GLOBAL, REFUSED, Revive
from engine.parts.view import BrokerView, Kept
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.backlog import FULL
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import SHARED, Options
from engine.protocols.roundrobin.records import AGAIN
from engine.protocols.roundrobin.table import is_awaited

BROKER = b"broker"  # in place of the worker, where none answered
HIGH = 16_384  # tasks in the pool at a time
AHEAD = 2  # tasks in the pool for each slot, of a store that brokers share
RETRY = 1.0  # seconds until the store is asked again for what it could not do


class _Asked(NamedTuple):
    """What a command that is out asked for; ``clients``: of each task that has ended, under which id."""

    command: Store
    keys: list[TaskKey]


class Durable(Broker):
    """The core of the broker's role, where a store keeps its tasks. ``trouble``: why the store did not do its part."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._accept, self._relay, self._stores = self._keep, self._hold, True
        self._told = self.pool.records.keep()
        self.trouble = ""
        self.fenced = self.refused = 0
        self.found = 0  # tasks that the store kept when this broker began
        self._shared = options.backlog.startswith(SHARED)
        self._far: set[TaskKey] = set()  # of the pool's tasks: another broker has the client
        self._kept = 0  # tasks that wait in the store, as it said last
        self._number = 0
        self._asked: dict[int, _Asked] = {}
        self._tokens: dict[TaskKey, int] = {}  # of the pool's tasks
        self._putting: dict[TaskKey, Frames] = {}  # on their way into the store
        self._said: dict[TaskKey, tuple[bytes, bytes | None]] = {}  # of the event at hand: who answered what
        self._others: dict[bytes, bytes] = {}  # global id → who else asked for it, the newest one
        self._tasks: list[Entry] = []  # of the event at hand
        self._ended: list[Ended] = []
        self._keys: list[TaskKey] = []
        self._lost: list[int] = []
        self._revive: tuple[int, ...] = ()
        self.dead = 0  # tasks that the store has for an operator
        self._unclaimed = 0  # tasks that wait in the store, and no command asks for
        self._leasing = 0
        self._loaded = self._down = self._probes = False
        self._retry_at = NEVER

    # ---- the contract ------------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        match event:
            case Stored():
                self._stored(event, now, out)
                self.pool.lanes.flush(out)
            case Told(waiting, ended):
                if waiting is not None:
                    self._kept = waiting
                    self._unclaimed = max(self._unclaimed, waiting)
                for client, ident, outcome in ended:
                    self._answer((client, ident), outcome, out)
                self.pool.lanes.flush(out)
            case Unstored(number, why):
                self._unstored(self._asked.pop(number), why, now, out)
                self.pool.lanes.flush(out)
            case Ordered(Revive(numbers)):
                self._revive += numbers
            case _:
                out = super().handle(event, now)
                if type(event) is Started:
                    self._unclaimed, self._probes = HIGH, True  # nobody knows yet how many there are
                if type(event) is Woken and now >= self._retry_at:
                    self._retry_at, self._probes = NEVER, True
        self._ask(out)
        return out

    def wake_at(self) -> float:
        """The broker's next deadline, or when the store is asked again."""
        return min(super().wake_at(), self._retry_at)

    def check(self) -> None:
        """The pool's invariants, and each task in it is leased."""
        super().check()
        assert self._tokens.keys() == self.pool.tasks.keys(), "a task that nobody keeps, or a lease of none"
        assert len(set(self._tokens.values())) == len(self._tokens), "a token twice"
        assert not self._told and not self._said and not self._tasks, "the store was not told"

    def snapshot(self, now: float) -> BrokerView:
        """The same, with what the store does."""
        view = super().snapshot(now)
        kept = Kept(len(self._tokens) + self._kept, self._kept, self.trouble)
        state = self.trouble or f"{kept.tasks:,} tasks kept, {kept.waiting:,} of them not loaded"
        if self.dead and not self.trouble:
            state += f", {several(self.dead, 'dead task')}"
        counters = (
            *view.counters,
            (FOUND, self.found),
            ("fenced", self.fenced),
            ("refused", self.refused),
            ("dead tasks", self.dead),
        )
        return view._replace(terms=(("store", state), *view.terms), counters=counters, kept=kept)

    # ---- into the store --------------------------------------------------------------------------------------------

    def _keep(self, client: bytes, messages: list[Frames], now: float, out: list[Command]) -> int:
        """In place of ``Pool.accept``: see there."""
        pool, putting = self.pool, self._putting
        refused = 0
        for message in messages:
            key = (client, message[1])
            known = putting.get(key)
            if known is None and key in pool.tasks:
                known = pool.tasks[key].message
            if known is not None:
                if known == message:
                    pool.records.known()
                else:
                    refused += 1
            elif len(putting) + len(pool.backlog) >= pool.options.max_backlog:
                self._drop(key, FULL, out)
            else:
                putting[key] = message
                self._tasks.append(Entry(client, message))
        return refused

    def _drop(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """A task is not kept; a client of ours is told."""
        self.pool.records.refuse()
        self.refused += 1
        self._answer(key, Outcome(why), out)

    def _hold(self, client: bytes, ident: bytes, worker: bytes, data: bytes | None, out: list[Command]) -> None:
        """In place of ``Lanes.relay``: the answer waits until the store has it."""
        self._said[client, ident] = (worker, data)

    def _ask(self, out: list[Command]) -> None:
        """One command for all that the event at hand has for the store."""
        for task, why in self._told:
            if why is None:
                if (lost := self._tokens.get(task.key)) is not None:
                    self._lost.append(lost)
                continue
            token = self._tokens.pop(task.key)
            worker, data = self._said.pop(task.key, (b"", None))
            wanted = is_awaited(task)
            self._ended.append(Ended(token, Outcome(why, data, worker), wanted))
            near = wanted and task.key not in self._far
            self._far.discard(task.key)
            self._keys.append(task.key if near else (b"", task.key[1]))
        self._told.clear()
        if self._down and not self._tasks and not self._probes and not self._revive:
            return  # what has ended waits for the store's return
        self._unclaimed += len(self._tasks)
        lease = 0
        pool = self.pool
        if self._unclaimed and pool.records.size < MAX_HELD // 2:
            lease = max(0, min(self._unclaimed, self._most() - len(pool.tasks) - self._leasing))
        if not (self._tasks or self._ended or self._lost or lease or self._probes or self._revive):
            return
        self._probes = False
        self._number += 1
        command = Store(self._number, self._ended, self._lost, self._tasks, lease, self._revive)
        self._asked[self._number] = _Asked(command, self._keys)
        self._unclaimed -= lease
        self._leasing += lease
        self._ended, self._lost, self._tasks, self._keys, self._revive = [], [], [], [], ()
        out.append(command)

    def _most(self) -> int:
        """How many tasks the pool may hold."""
        if not self._shared:
            return HIGH
        return min(HIGH, AHEAD * sum(worker.slots for worker in self.pool.workers.values() if not worker.leaving))

    # ---- out of the store --------------------------------------------------------------------------------------------

    def _stored(self, event: Stored, now: float, out: list[Command]) -> None:
        command, keys = self._asked.pop(event.number)
        pool = self.pool
        self._leasing -= command.lease
        self._down = False
        if event.refused:
            fates = event.fates or [REFUSED] * len(command.tasks)
            refused = [entry for entry, fate in zip(command.tasks, fates, strict=True) if fate == REFUSED]
            self._refuse(refused, event.refused, now, out)
        elif self.trouble:
            self.trouble = ""
            out.append(Note("good", "the store keeps tasks again"))
        news = 0
        for entry, fate in zip(command.tasks, event.fates, strict=not event.refused):  # none where refused
            key = (entry.client, entry.message[1])
            if fate == REFUSED:
                continue
            del self._putting[key]
            if fate is None:
                news += 1
            elif isinstance(fate, Outcome):
                pool.records.known()
                self._answer(key, fate, out)
            else:
                pool.records.known()
                if key not in pool.tasks:
                    self._others[key[1]] = entry.client
        fenced = set(event.fenced)
        for ended, key in zip(command.ended, keys, strict=True):
            if ended.token in fenced:
                self.fenced += 1
            else:
                self._answer(key, ended.outcome, out)
        self.dead = event.dead
        if command.revive:
            words = f"{event.revived} of {several(len(command.revive), 'dead task')} wait again"
            out.append(Note("good" if event.revived == len(command.revive) else "warn", words))
            news += event.revived
        found = event.waiting + len(event.leased)
        self._kept = event.waiting
        if self._shared:
            pool.records.stored(len(event.leased), 0)
        else:
            pool.records.stored(news if self._loaded else found, event.waiting)
        if not self._loaded:
            self._loaded, self.found = True, max(0, found - news)
        if not self._asked:
            self._unclaimed = event.waiting
        if event.leased:
            self._load(event.leased, now, out)

    def _load(self, leased: list[Leased], now: float, out: list[Command]) -> None:
        """Leased tasks wait in the pool, or go."""
        pool = self.pool
        for one in leased:
            task = pool.records.load(one, now)
            if task is not None:
                self._tokens[task.key] = one.token
                if one.far:
                    self._far.add(task.key)
            else:
                self._ended.append(Ended(one.token, Outcome(AGAIN)))
                self._keys.append((b"", one.message[1]))
        pool.drain(now, out)

    def _answer(self, key: TaskKey, outcome: Outcome, out: list[Command]) -> None:
        """Tell who asked how a task ended, as far as its lane has a word for it."""
        client, ident = key
        unique = len(ident) == GLOBAL
        if outcome.why and not unique:
            return
        data = wire.failure(outcome.why) if outcome.why else outcome.data
        other = self._others.pop(ident, client) if unique and self._others else client
        for asker in {client: None, other: None}:
            if not asker:
                continue
            self.pool.lanes.relay(asker, ident, outcome.worker or BROKER, data, out)

    # ---- what it can not do ------------------------------------------------------------------------------------------

    def _refuse(self, tasks: list[Entry], why: str, now: float, out: list[Command]) -> None:
        self._retry_at = now + RETRY
        if why != self.trouble:
            self.trouble = why
            out.append(Note("bad", f"tasks are refused: {why}"))
        for entry in tasks:
            key = (entry.client, entry.message[1])
            del self._putting[key]
            self._drop(key, why, out)

    def _unstored(self, asked: _Asked, why: str, now: float, out: list[Command]) -> None:
        """Tasks are refused; all else is asked for again."""
        command = asked.command
        self._leasing -= command.lease
        self._unclaimed += command.lease - len(command.tasks)
        self._refuse(command.tasks, why, now, out)
        self._down = True
        self._ended = command.ended + self._ended
        self._keys = asked.keys + self._keys
        self._lost = command.lost + self._lost
        if command.revive:
            out.append(Note("bad", f"{several(len(command.revive), 'dead task')} could not be revived: {why}"))
