"""Snapshots → what is shown. Pure: no clock, no screen.

The rules of this file:

- A shown row is made anew only where its worker or its place changed; everything else keeps its object.
- A rate is an exponential average of the differences between pictures, so a figure does not jump four times a second.
  While nothing is done it falls by itself: a row has the rate of the moment ``at``, and says what is left of it.
- Nothing here formats a row: only the rows that are visible are drawn, by the table.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, NamedTuple

from console.text import clean, label
from engine.parts.plain import called
from engine.parts.view import BrokerView, ClientRow, LedgerView, State, WorkerRow

SMOOTH = 1.0  # seconds over which rates are averaged
STILL = 0.05  # tasks a second below which a worker counts as idle
NAMES = 50_000  # of peers that are remembered
QUIET = 8  # polls without a new picture after which nothing flows any more


class Shown(NamedTuple):
    """One worker as the table holds it."""

    worker: WorkerRow
    label: str  # clean, without the endpoint that all routing ids of one broker begin with
    speed: float  # tasks done a second, at the moment ``at``
    order: tuple[str | int, ...]  # of the label, so that w2 comes before w10
    place: int = 0  # in the broker's order, 1: it gets the next task; 0: behind those that a picture tells, or in none
    at: float = 0.0  # seconds of the broker's clock

    def rate(self, now: float) -> float:
        """Tasks done a second, at a later moment."""
        left = self.speed and self.speed * math.exp((self.at - now) / SMOOTH)
        return left if left >= STILL else 0.0

    @property
    def rank(self) -> float:
        """Orders rows as their rates do at any one moment."""
        return math.log(self.speed) + self.at / SMOOTH if self.speed else -math.inf


class Tally(NamedTuple):
    """The pool in numbers."""

    states: dict[State, int]
    slots: int
    free: int

    def of(self, *states: State) -> int:
        """How many workers are in one of these states."""
        return sum(self.states.get(state, 0) for state in states)

    @property
    def present(self) -> int:
        """Workers that have not been lost."""
        return sum(self.states.values()) - self.states.get("lost", 0)


class Rates(NamedTuple):
    """Tasks a second through the broker."""

    sent: float = 0.0  # client → broker
    given: float = 0.0  # broker → workers
    done: float = 0.0  # workers → broker → client


_ADDRESS = re.compile(r"(?:tcp://.+:\d+|(?:inproc|ipc)://[^:]+):([^:/]+)")
_NUMBER = re.compile(r"w\d+")  # what a broker calls whoever joins it, in the order in which they do


def short_name(name: str) -> str:
    """A name for people: an id that is an endpoint and a number (seed 000) is called by its number, worker-7 is w7."""
    address = _ADDRESS.fullmatch(name)
    return clean(address[1] if address else called(name))


def natural(name: str) -> tuple[str | int, ...]:
    """A key that sorts numbers within names as numbers: text and numbers by turns."""
    return tuple(int(part) if place % 2 else part for place, part in enumerate(re.split(r"([0-9]+)", name.lower())))


class Rows:
    """The rows of successive pictures of one broker. ``seat_of``: of a worker of ours, by its routing id.

    A peer has one name on all screens. Ours are called by their seats, as in traces and faults: worker-7 is w7. A
    stranger is called what its broker calls it, or where that is a number in the order of joining, which may be a seat
    of ours, by its routing id. ``numbered``: where nobody has a seat, as in another process that only has a broker,
    the broker's numbers are the names. A worker that has left keeps its name.
    """

    def __init__(self, seat_of: Callable[[bytes], str | None] = lambda key: None, numbered: bool = False) -> None:
        self._seat_of, self._numbered = seat_of, numbered
        self._names: dict[bytes, str] = {}  # of everybody who was seen, the oldest forgotten first
        self._at = -math.inf
        self._picture: BrokerView | None = None
        self._index: dict[bytes, int] = {}  # the place of each in the rows; empty when all are to be named anew
        self._states: Counter[State] = Counter()
        self._slots = self._free = 0
        self.rows: tuple[Shown, ...] = ()
        self.tally = Tally({}, 0, 0)

    def update(self, picture: BrokerView) -> None:
        """Take one picture; an older or the same one changes nothing.

        Where time stands still another picture may be of the same moment: then rates stay as they are.
        """
        before = self._picture
        if picture.at < self._at or picture is before:
            return
        known = before.workers if before is not None else ()
        same = len(known) == len(picture.workers) == len(self._index)
        changed = [*compress(count(), map(is_not, picture.workers, known))] if same else []
        if not same or any(picture.workers[at].key != known[at].key for at in changed):
            self._begin(picture)
        elif changed or before is None or picture.order != before.order:
            rows = list(self.rows)
            for at in changed:
                old, worker = rows[at], picture.workers[at]
                self._count(old.worker, -1)
                self._count(worker, 1)
                rows[at] = self._next(old, worker, picture.at)
            self._place(rows, picture.order, before.order if before is not None else ())
            self.rows = tuple(rows)
        self._picture, self._at = picture, picture.at
        self.tally = Tally({state: n for state, n in self._states.items() if n}, self._slots, self._free)

    def _begin(self, picture: BrokerView) -> None:
        """All of them: others came or left, or they stand in another order."""
        old, index = self.rows, self._index
        self._states, self._slots, self._free = Counter(), 0, 0
        rows = []
        for worker in picture.workers:
            at = index.get(worker.key)
            rows.append(self._next(old[at] if at is not None else None, worker, picture.at))
            self._count(worker, 1)
        self._index = {worker.key: at for at, worker in enumerate(picture.workers)}
        self._place(rows, picture.order, [row.worker.key for row in old if row.place])
        self.rows = tuple(rows)

    def _place(self, rows: list[Shown], order: Sequence[bytes], before: Sequence[bytes]) -> None:
        places = {**dict.fromkeys(before, 0), **{key: place for place, key in enumerate(order, 1)}}
        for key, place in places.items():
            at = self._index.get(key)
            if at is not None and rows[at].place != place:
                rows[at] = rows[at]._replace(place=place)

    def _count(self, worker: WorkerRow, times: int) -> None:
        self._states[worker.state] += times
        if worker.state != "lost":
            self._slots += times * worker.slots
            self._free += times * worker.free

    def _next(self, old: Shown | None, worker: WorkerRow, at: float) -> Shown:
        if old is None or old.worker.name != worker.name:
            name = self._called(worker.key, worker.name)
            return Shown(worker, name, 0.0, natural(name), 0 if old is None else old.place, at)
        if old.worker is worker:
            return old
        step = at - self._at
        if not step:
            return old._replace(worker=worker)
        weight, rate = 1 - math.exp(-step / SMOOTH), old.rate(self._at)
        rate += weight * (max(0, worker.done - old.worker.done) / step - rate)
        return Shown(worker, old.label, rate if rate >= STILL else 0.0, old.order, old.place, at)

    def name(self, key: bytes) -> str:
        """A peer by its routing id, for people."""
        return self._names.get(key) or self._told(key, "")

    def _called(self, key: bytes, told: str) -> str:
        name = self._told(key, told)
        self._names.pop(key, None)
        self._names[key] = name
        if len(self._names) > NAMES:
            del self._names[next(iter(self._names))]
        return name

    def _told(self, key: bytes, told: str) -> str:
        if seat := self._seat_of(key):
            if self._numbered:  # from now on a number may be a seat's
                self._numbered = False
                self._names.clear()
                self._index.clear()
            return short_name(seat)
        if self._numbered and told:
            return short_name(told)
        return short_name(label(key) if _NUMBER.fullmatch(told) else told) or short_name(label(key))


class Caller(NamedTuple):
    """One client as the table holds it."""

    client: ClientRow
    label: str
    rate: float  # tasks a second that it sends
    order: tuple[str | int, ...]


class Callers:
    """The clients of successive pictures of one broker. ``name``: of a peer, for people."""

    def __init__(self, name: Callable[[bytes], str]) -> None:
        self._name = name
        self._at = -math.inf
        self._shown: dict[bytes, Caller] = {}

    def update(self, picture: BrokerView) -> tuple[Caller, ...]:
        """Take one picture; an older one changes nothing."""
        step = picture.at - self._at
        if step < 0:
            return tuple(self._shown.values())
        weight = 1 - math.exp(-step / SMOOTH)
        fresh: dict[bytes, Caller] = {}
        for client in picture.clients:
            old = self._shown.get(client.key)
            if old is None:
                label = self._name(client.key)
                fresh[client.key] = Caller(client, label, 0.0, natural(label))
            elif not step:
                fresh[client.key] = old._replace(client=client)
            else:
                rate = old.rate + weight * (max(0, client.sent - old.client.sent) / step - old.rate)
                fresh[client.key] = Caller(client, old.label, rate if rate >= STILL else 0.0, old.order)
        self._shown, self._at = fresh, picture.at
        return tuple(fresh.values())


class Flow:
    """Rates through the broker from successive ledgers, averaged over the last second of pictures."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int, int]] = deque()
        self._unchanged = 0

    def update(self, at: float, ledger: LedgerView) -> Rates:
        """Take one ledger of monotonic time ``at``. Where pictures no longer come, everything stands still."""
        samples = self._samples
        if samples and at <= samples[-1][0]:
            self._unchanged += 1
        else:
            self._unchanged = 0
            given = ledger.sent - ledger.queued - ledger.dropped
            samples.append((at, ledger.sent, given, ledger.succeeded))
            while len(samples) > 2 and samples[1][0] <= at - SMOOTH:
                samples.popleft()
        if len(samples) < 2 or self._unchanged >= QUIET:
            return Rates()
        first, last = samples[0], samples[-1]
        step = last[0] - first[0]
        return Rates(*(max(0, last[i] - first[i]) / step for i in (1, 2, 3)))


class RowFilter(NamedTuple):
    """``/`` in the table: a regular expression on each column's text; ``!`` in front turns it round.

    A column's text is the name, the state, the routing id (as text and in hexadecimal) or one of the protocol's own.
    """

    text: str
    pattern: re.Pattern[str]
    inverse: bool

    @classmethod
    def parse(cls, text: str) -> RowFilter | None:
        """None for the empty filter. Raises ValueError with words for the operator."""
        inverse = text.startswith("!")
        expression = text[1:] if inverse else text
        if not expression:
            return None
        try:
            return cls(text, re.compile(expression, re.IGNORECASE), inverse)
        except re.error as error:
            raise ValueError(f"filter {clean(text)!r}: {error}") from None

    def __call__(self, row: Shown) -> bool:
        """Whether the row is shown."""
        worker = row.worker
        texts = (row.label, worker.state, label(worker.key), worker.key.hex())
        found = any(map(self.pattern.search, (*texts, *(value for _, value in worker.terms))))
        return found is not self.inverse


def figure(run: Mapping[str, Any], *path: str) -> float:
    """A number of a kept run by its path of keys; 0 where it is not there, for files come from outside."""
    value: Any = run
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def failed_of(run: Mapping[str, Any]) -> int:
    """Tasks of a kept run that failed, of every kind."""
    kinds = run.get("failed")
    return sum(int(figure(kinds, kind)) for kind in kinds) if isinstance(kinds, Mapping) else 0


def failures(ledger: LedgerView) -> int:
    """Tasks that ended wrongly, of every kind."""
    return sum(n for _, n in ledger.failed)
