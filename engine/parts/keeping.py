"""What a broker with a store keeps: the half of its core that is the same in every protocol.

The rules of this file:

- A task goes into the store first. The broker leases it from there, so a task that a worker has survives this broker.
- A client is told how its task ended once the store has the outcome. If the broker dies before that, it asks again.
- A task with a global id that was kept before is not done again: its client gets the outcome, at once or when it ends.
- The broker holds no more than HIGH tasks; the others wait in the store, however many they are.
- A task that the store refuses is not accepted, and its client is told why. Outcomes wait until the store takes them.
- A dead task that an operator has tried again counts as another task in this broker's ledger.
- Of a store that brokers share, the broker takes AHEAD tasks for each slot of its workers, and the ledger counts what
  was leased. ``Told`` brings the outcomes that other brokers have for our clients; the store takes ours to theirs.

The core calls ``handle`` with each event, and ``ask`` at the end of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

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
    Shared,
    Started,
    Store,
    Stored,
    Told,
    Unstored,
    Woken,
)
from engine.parts.inflight import TaskKey
from engine.parts.plain import clean, several
from engine.parts.store import AGAIN, FOUND, REFUSED, SHARED, Revive
from engine.parts.view import BrokerView, Kept

BROKER = b"broker"  # in place of the worker, where none answered
HIGH = 16_384  # tasks that the broker holds at a time
AHEAD = 2  # tasks for each slot, of a store that brokers share
RETRY = 1.0  # seconds until the store is asked again for what it could not do


class Holder(Protocol):
    """What the core of a broker does for this part. ``out``: collects the commands of the event at hand."""

    def holds(self, key: TaskKey) -> bool:
        """Whether a task with this key waits here, or is with a worker."""

    def is_full(self) -> bool:
        """Whether the tasks that are here have so many bytes that no more are to be leased."""

    def slots(self) -> int:
        """The slots of all workers that are to be given tasks."""

    def load(self, one: Leased, now: float) -> TaskKey | None:
        """A leased task waits here from now on. None where its client asked for it twice, and it is here already."""

    def pump(self, now: float, out: list[Command]) -> None:
        """Give what was loaded to workers."""

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        """Tell a client how a task has ended, as far as its protocol has a word for it."""

    def known(self) -> None:
        """Count a task that was asked for again."""

    def refuse(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """A task is not kept: count it as sent and dropped, and tell its client why."""

    def stored(self, news: int, waiting: int) -> None:
        """Count so many tasks as sent, and so many as waiting in the store alone."""


class _Asked(NamedTuple):
    """A command that is not answered yet. ``keys``: for each task that ended, the client to tell and the id."""

    command: Store
    keys: list[TaskKey]


class Keeping:
    """``trouble``: why the store fails, empty where it works; ``putting``: tasks on their way into it."""

    def __init__(self, holder: Holder, place: str, most: int = HIGH, workers: Callable[[], int] = lambda: 0) -> None:
        """``place``: the store's name; ``most``: tasks that are here at a time.

        ``workers``: how many can be given tasks; brokers that share the store are told.
        """
        self._holder, self._workers = holder, workers
        self.shared: Shared | None = None
        self._crew = (0, 0)  # as it was said last
        self._shared = place.startswith(SHARED)
        self._high = most
        self.trouble = ""
        self.fenced = self.refused = 0
        self.found = 0  # tasks that the store kept when this broker began
        self.dead = 0  # tasks that the store has for an operator
        self.putting: dict[TaskKey, Frames] = {}
        self._tokens: dict[TaskKey, int] = {}  # of the tasks that are here
        self._far: set[TaskKey] = set()  # those of them whose client is another broker's
        self._kept = 0  # tasks that wait in the store, as it said last
        self._number = 0
        self._asked: dict[int, _Asked] = {}
        self._others: dict[bytes, bytes] = {}  # global id → who else asked for it, the newest one
        self._tasks: list[Entry] = []  # of the event at hand
        self._ended: list[Ended] = []
        self._keys: list[TaskKey] = []
        self._lost: list[int] = []
        self._revive: tuple[int, ...] = ()
        self._unclaimed = 0  # tasks that wait in the store, and no command asks for
        self._leasing = 0
        self._loaded = self._down = self._probes = False
        self._retry_at = NEVER

    # ---- the core ----------------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float, out: list[Command]) -> bool:
        """Take one event. True where it was for the store alone, so that the core does not handle it."""
        match event:
            case Stored():
                self._stored(event, now, out)
            case Told(waiting, ended, shared):
                if shared is not None:
                    self._told(shared)
                if waiting is not None:
                    self._kept = waiting
                    self._unclaimed = max(self._unclaimed, waiting)
                for client, ident, outcome in ended:
                    self._tell((client, ident), outcome, out)
            case Unstored(number, why):
                self._unstored(self._asked.pop(number), why, now, out)
            case Ordered(Revive(numbers)):
                self._revive += numbers
            case _:
                if type(event) is Started:
                    self._unclaimed, self._probes = HIGH, True  # how many there are is not known yet
                elif type(event) is Woken and now >= self._retry_at:
                    self._retry_at, self._probes = NEVER, True
                return False
        return True

    def wake_at(self) -> float:
        """When the store is asked again."""
        return self._retry_at

    def check(self) -> None:
        """Each task that is here is leased, and the store was told of all that happened."""
        assert all(map(self._holder.holds, self._tokens)), "a lease of no task"
        assert len(set(self._tokens.values())) == len(self._tokens), "a token twice"
        assert self._far <= self._tokens.keys() and not self._tasks, "the store was not told"

    def is_leased(self, key: TaskKey) -> bool:
        """Whether this broker has leased the task: for ``check``."""
        return key in self._tokens

    def shown(self, view: BrokerView) -> BrokerView:
        """The core's picture, with the state of the store."""
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
        terms = (("store", state), *_words(self.shared), *view.terms)
        return view._replace(terms=terms, counters=counters, kept=kept, shared=self.shared)

    # ---- into the store --------------------------------------------------------------------------------------------

    def put(self, key: TaskKey, message: Frames) -> None:
        """A client asks for a task that is neither here nor in ``putting``; its id is ``message[1]``."""
        self.putting[key] = message
        self._tasks.append(Entry(key[0], message))

    def drop(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """A task is not kept; its client is told."""
        self.refused += 1
        self._holder.refuse(key, why, out)

    def lose(self, key: TaskKey) -> None:
        """The worker that had this task is lost; the task waits again."""
        token = self._tokens.get(key)
        if token is not None:
            self._lost.append(token)

    def end(self, key: TaskKey, outcome: Outcome, wanted: bool = True) -> None:
        """A task that was here has ended. ``wanted``: its client is to be told when the store has it."""
        self._ended.append(Ended(self._tokens.pop(key), outcome, wanted))
        if key in self._far:
            self._far.discard(key)
            wanted = False
        self._keys.append(key if wanted else (b"", key[1]))

    def ask(self, out: list[Command]) -> None:
        """One command for all that the event at hand has for the store."""
        if self._down and not self._tasks and not self._probes and not self._revive:
            return  # what has ended waits for the store's return
        self._unclaimed += len(self._tasks)
        lease = 0
        if self._unclaimed and not self._holder.is_full():
            lease = max(0, min(self._unclaimed, self._most() - len(self._tokens) - self._leasing))
        if not (self._tasks or self._ended or self._lost or lease or self._probes or self._revive):
            return
        self._probes = False
        self._number += 1
        if self._shared:
            self._crew = self._workers(), self._holder.slots()
        command = Store(self._number, self._ended, self._lost, self._tasks, lease, self._revive, self._crew)
        self._asked[self._number] = _Asked(command, self._keys)
        self._unclaimed -= lease
        self._leasing += lease
        self._ended, self._lost, self._tasks, self._keys, self._revive = [], [], [], [], ()
        out.append(command)

    def _told(self, shared: Shared) -> None:
        """Note the state of the shared store, once a second. It hears of our workers even where no task moves."""
        self.shared, self.dead = shared, shared.dead
        self._probes |= self._crew != (self._workers(), self._holder.slots())

    def _most(self) -> int:
        """How many tasks the broker may hold."""
        return min(self._high, AHEAD * self._holder.slots()) if self._shared else self._high

    # ---- out of the store --------------------------------------------------------------------------------------------

    def _stored(self, event: Stored, now: float, out: list[Command]) -> None:
        command, keys = self._asked.pop(event.number)
        self._leasing -= command.lease
        self._down = False
        if event.refused:
            fates = event.fates or [REFUSED] * len(command.tasks)
            refused = [entry for entry, fate in zip(command.tasks, fates, strict=True) if fate == REFUSED]
            self._refuse(refused, event.refused, now, out)
        elif self.trouble:
            self.trouble = ""
            out.append(Note("good", "the store keeps tasks again"))
        news = self._put(command.tasks, event, out)
        fenced = set(event.fenced)
        for ended, key in zip(command.ended, keys, strict=True):
            if ended.token in fenced:
                self.fenced += 1
            else:
                self._tell(key, ended.outcome, out)
        self.dead = event.dead
        if command.revive:
            words = f"{event.revived} of {several(len(command.revive), 'dead task')} wait again"
            out.append(Note("good" if event.revived == len(command.revive) else "warn", words))
            news += event.revived
        found = event.waiting + len(event.leased)
        self._kept = event.waiting
        if self._shared:
            self._holder.stored(len(event.leased), 0)
        else:
            self._holder.stored(news if self._loaded else found, event.waiting)
        if not self._loaded:
            self._loaded, self.found = True, max(0, found - news)
        if not self._asked:
            self._unclaimed = event.waiting
        if event.leased:
            self._load(event.leased, now, out)

    def _put(self, tasks: list[Entry], event: Stored, out: list[Command]) -> int:
        """Handle the fates of tasks that were to be kept; returns how many are new."""
        news = 0
        for entry, fate in zip(tasks, event.fates, strict=not event.refused):  # none where refused
            key = (entry.client, entry.message[1])
            if fate == REFUSED:
                continue
            del self.putting[key]
            if fate is None:
                news += 1
                continue
            self._holder.known()
            if isinstance(fate, Outcome):
                self._tell(key, fate, out)
            elif not self._holder.holds(key):
                self._others[key[1]] = entry.client
        return news

    def _load(self, leased: list[Leased], now: float, out: list[Command]) -> None:
        """Take leased tasks in; one that is here already ends as ``AGAIN``."""
        for one in leased:
            key = self._holder.load(one, now)
            if key is not None:
                self._tokens[key] = one.token
                if one.far:
                    self._far.add(key)
            else:
                self._ended.append(Ended(one.token, Outcome(AGAIN)))
                self._keys.append((b"", one.message[1]))
        self._holder.pump(now, out)

    def _tell(self, key: TaskKey, outcome: Outcome, out: list[Command]) -> None:
        """Tell the clients that asked for a task."""
        client, ident = key
        if client:
            self._holder.tell(client, ident, outcome, out)
        if self._others and (other := self._others.pop(ident, client)) != client:
            self._holder.tell(other, ident, outcome, out)

    # ---- what it can not do ------------------------------------------------------------------------------------------

    def _refuse(self, tasks: list[Entry], why: str, now: float, out: list[Command]) -> None:
        self._retry_at = now + RETRY
        if why != self.trouble:
            self.trouble = why
            out.append(Note("bad", f"tasks are refused: {why}"))
        for entry in tasks:
            key = (entry.client, entry.message[1])
            del self.putting[key]
            self.drop(key, why, out)

    def _unstored(self, asked: _Asked, why: str, now: float, out: list[Command]) -> None:
        """Refuse the tasks; ask for all else again."""
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


def _words(shared: Shared | None) -> tuple[tuple[str, str], ...]:
    """In words, for an operator."""
    if shared is None:
        return ()
    leads = f"led by {clean(shared.leader)}" if shared.leader else "without a leader"
    behind = f", behind: {clean(' '.join(shared.behind))}" if shared.behind else ""
    full = f", {shared.used * 100 // shared.room} % of {shared.room // 2**20:,} MiB used" if shared.room else ""
    queue = (
        f"{shared.waiting:,} wait, {shared.leased:,} leased, {shared.redelivered:,} of them again; "
        f"{leads}, {several(shared.copies, 'copy', 'copies')}{behind}{full}"
    )
    brokers = [
        f"{clean(one.name)}: {several(one.workers, 'worker')}, {several(one.slots, 'slot')}, {one.leased:,} leased"
        for one in shared.brokers
    ]
    return ("queue", queue), ("brokers", "; ".join(brokers))
