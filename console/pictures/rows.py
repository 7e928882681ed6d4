"""Snapshots → what is shown. Pure: no clock, no screen.

The rules of this file:

- A row is made when somebody asks for it: of ten thousand workers those that are on the screen. One whose worker and
  place have not changed, and which does nothing, keeps its object.
- A rate is what was done within the last second of pictures, so a figure does not jump four times a second.
- Nothing here formats a row: only the rows that are visible are drawn, by the table.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, count
from operator import attrgetter, is_not, ne
from typing import Any, NamedTuple, overload

from console.text import clean, label
from engine.parts.plain import called
from engine.parts.view import BrokerView, ClientRow, LedgerView, State, WorkerRow

SMOOTH = 1.0  # seconds over which rates are averaged
STILL = 0.05  # tasks a second below which a worker counts as idle
NAMES = 50_000  # of peers that are remembered
QUIET = 8  # polls without a new picture after which nothing flows any more

_WHO = attrgetter("key", "name")
_COUNTED = attrgetter("state", "slots", "free")


class Shown(NamedTuple):
    """One worker as the table holds it."""

    worker: WorkerRow
    label: str  # clean, without the endpoint that all routing ids of one broker begin with
    rate: float  # tasks done a second
    order: tuple[str | int, ...]  # of the label, so that w2 comes before w10
    place: int = 0  # in the broker's order, 1: it gets the next task; 0: behind those that a picture tells, or in none


class _Seen(NamedTuple):
    """What one picture told of the workers."""

    at: float
    workers: Sequence[WorkerRow]
    places: Mapping[bytes, int]  # of each; pictures of the same workers have the same one


class Listed(Sequence[Shown]):
    """The rows of one picture, in its order. Each is made when it is asked for first."""

    def __init__(
        self,
        seen: Sequence[_Seen],
        names: Sequence[tuple[str, tuple[str | int, ...]]],
        places: Mapping[bytes, int],
        made: list[Shown | None],
    ) -> None:
        """``seen``: the pictures of the last second, this one last. ``names``: label and order of each row.

        ``places``: in the broker's order. ``made``: the rows that are known already.
        """
        self.workers = seen[-1].workers
        self.names, self.places, self.made = names, places, made
        self.moving: list[int] = []  # places of rows with a rate, which falls though their workers rest
        self._seen = seen

    def alike(self, other: object) -> bool:
        """Whether the other has the same workers at the same places."""
        return isinstance(other, Listed) and self.names is other.names

    def __len__(self) -> int:
        return len(self.made)

    @overload
    def __getitem__(self, at: int) -> Shown: ...
    @overload
    def __getitem__(self, at: slice) -> list[Shown]: ...
    def __getitem__(self, at: int | slice) -> Shown | list[Shown]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self.made)))]
        return self.made[at] or self._make(at % len(self.made))

    def __iter__(self) -> Iterator[Shown]:
        return (row or self._make(at) for at, row in enumerate(self.made))

    def _make(self, at: int) -> Shown:
        worker, (name, order) = self.workers[at], self.names[at]
        rate = self._rate(worker, at)
        if rate:
            self.moving.append(at)
        row = self.made[at] = Shown(worker, name, rate, order, self.places.get(worker.key, 0))
        return row

    def _rate(self, worker: WorkerRow, at: int) -> float:
        """Tasks a second since the oldest of the pictures that knows the worker."""
        last = self._seen[-1]
        for seen in self._seen[:-1]:
            place = at if seen.places is last.places else seen.places.get(worker.key)
            if place is not None:
                rate = max(0, worker.done - seen.workers[place].done) / (last.at - seen.at)
                return rate if rate >= STILL else 0.0
        return 0.0


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


def tally_of(workers: Sequence[WorkerRow]) -> Tally:
    """These workers in numbers."""
    states: Counter[State] = Counter()
    slots = free = 0
    for (state, has, left), times in Counter(map(_COUNTED, workers)).items():
        states[state] += times
        if state != "lost":
            slots += times * has
            free += times * left
    return Tally(dict(states), slots, free)


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
        self._picture: BrokerView | None = None
        self._seen: tuple[_Seen, ...] = ()  # as many as the last second needs, the newest last
        self._index: dict[bytes, int] = {}  # the place of each in the rows; empty when all are to be named anew
        self.rows = Listed((_Seen(-math.inf, (), {}),), (), {}, [])
        self.tally = Tally({}, 0, 0)

    def update(self, picture: BrokerView) -> None:
        """Take one picture; an older or the same one changes nothing.

        Where time stands still another picture may be of the same moment: it takes the place of the one before.
        """
        before, old, seen = self._picture, self.rows, self._seen
        if picture is before or (before is not None and picture.at < before.at):
            return
        places = {key: place for place, key in enumerate(picture.order, 1)}
        made: list[Shown | None] = [None] * len(picture.workers)
        names = old.names
        if (changed := self._changed(picture.workers)) is None:
            names = self._begin(picture.workers)
        else:
            made[:] = old.made
            for at in (*changed, *old.moving):
                made[at] = None
            for key in {**old.places, **places}:
                at = self._index.get(key, -1)
                if at >= 0 and (row := made[at]) is not None and row.place != places.get(key, 0):
                    made[at] = None
        if before is not None and picture.at == before.at:
            seen = seen[:-1]
        while len(seen) > 1 and seen[1].at <= picture.at - SMOOTH:
            seen = seen[1:]
        self._seen = (*seen, _Seen(picture.at, picture.workers, self._index))
        self._picture, self.rows = picture, Listed(self._seen, names, places, made)
        if changed is None or changed:
            self.tally = tally_of(picture.workers)

    def _changed(self, workers: Sequence[WorkerRow]) -> list[int] | None:
        """The places of workers that are others than before; None where somebody came, left or has another name."""
        known = self.rows.workers
        if not len(known) == len(workers) == len(self._index):
            return None
        changed = [*compress(count(), map(is_not, workers, known))]
        fresh, old = map(workers.__getitem__, changed), map(known.__getitem__, changed)
        return None if any(map(ne, map(_WHO, fresh), map(_WHO, old))) else changed

    def _begin(self, workers: Sequence[WorkerRow]) -> list[tuple[str, tuple[str | int, ...]]]:
        """Others came or left, or they stand in another order: the label and the order of each."""
        old, index = self.rows, self._index
        names = []
        for worker in workers:
            at = index.get(worker.key)
            if at is None or old.workers[at].name != worker.name:
                name = self._called(worker.key, worker.name)
                names.append((name, natural(name)))
            else:
                names.append(old.names[at])
        self._index = {worker.key: at for at, worker in enumerate(workers)}
        return names

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
