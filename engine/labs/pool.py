"""The workers of this process: many cores on one thread, and the seeds' words for starting and stopping them.

Many threads would compete for the interpreter; a thousand cores on one thread do not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from itertools import count
from typing import Protocol

import zmq

from engine.core import Seat
from engine.drive.sockets import descriptor_limit, descriptors_left
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.parts.limits import NONCES
from engine.parts.orders import Drain, Leave
from engine.parts.plain import called, several

BULK = 10  # workers in all after ``bulk``
SPARE = 64  # file descriptors that are left for peers, files and the screen
LIMIT = 20_000  # workers in one process


TOLD = 20  # workers whose messages are told


def passed(done: Mapping[str, int]) -> str:
    """How many messages each worker has passed, in words; of many, those that passed most."""
    most = sorted(done.items(), key=lambda one: -one[1])
    more = f", {several(len(most) - TOLD, 'more worker')} {sum(done.values()) - sum(n for _, n in most[:TOLD]):,}"
    named = ", ".join(f"{called(name)} {times:,}" for name, times in most[:TOLD])
    return f"messages that each worker passed: {named}{more if len(most) > TOLD else ''}"


class Nonces:
    """Numbers that make routing ids of peers their own, each once."""

    def __init__(self) -> None:
        self._random = random.Random()
        self._given: set[int] = set()
        self._of: dict[str, int] = {}

    def __call__(self, name: str = "") -> int:
        """One that was not given before; to a peer of this name the one that it had."""
        if name in self._of:
            return self._of[name]
        while (nonce := self._random.randint(1, NONCES)) in self._given:
            pass
        self._given.add(nonce)
        if name:
            self._of[name] = nonce
        return nonce


class Seats(Protocol):
    """Where workers run: an ``engine.drive.node.Node`` or a sandbox."""

    def names(self) -> list[str]: ...
    def seat(self, name: str, seat: Seat) -> Future[None]: ...
    def order(self, name: str, order: object) -> None: ...


class Pool:
    """Workers on one node. ``make`` builds the seat of one more, by its name."""

    def __init__(
        self,
        node: Seats,
        make: Callable[[str], Seat],
        cost: Callable[[], int] = lambda: 0,
        tell: Callable[[object], object] | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        """``cost``: file descriptors of a worker that starts now.

        ``tell``: orders the broker where workers have no goodbye.
        ``numbers``: of the workers, each once; where pools share them, no two workers have one name.
        """
        self._tell = tell
        self.node = node
        self._cost = cost
        self._make = make
        self._ids: dict[str, bytes] = {}  # seat name → routing id, oldest first
        self.seats: dict[bytes, str] = {}  # the other way round; replaced whole, so any thread may look
        self._leaving: set[str] = set()  # told to leave, and perhaps still at it
        self._main: str | None = None  # the worker that ``register`` means; the others are ``bulk``'s children
        self._numbers = count(1) if numbers is None else numbers

    def alive(self) -> list[str]:
        """The workers that run and were not told to leave, oldest first."""
        here = set(self.node.names()) - self._leaving
        return [name for name in self._ids if name in here]

    def add(self, n: int, patience: float) -> None:
        """Start n more and wait until they sit, ``patience`` seconds at most. The very first is the main one."""
        started = self._start(n, patience)
        if self._main is None:
            self._main = started[0]

    def remove(self, n: int) -> None:
        """Let the n youngest drain and leave."""
        alive = self.alive()
        if not 1 <= n <= len(alive):
            raise Refused(f"{several(n, 'worker')} can not be stopped: this process has {len(alive)}")
        self._dismiss(alive[len(alive) - n :])

    def stop(self, key: bytes) -> bool:
        """Let the worker with this routing id drain and leave; False if it is not one of ours."""
        names = [name for name in self.alive() if self._ids[name] == key]
        self._dismiss(names)
        return bool(names)

    def seat_again(self, name: str, patience: float) -> None:
        """Start a worker of this name again, under its routing id, with an empty memory."""
        wait_seated([self.node.seat(name, self._make(name))], patience)

    def register(self, patience: float) -> None:
        """The seed's ``register``: the main worker joins."""
        if self._main in self.alive():
            raise Refused("the worker is registered already; bulk starts more")
        self._main = self._start(1, patience)[0]

    def deregister(self) -> None:
        """The seed's ``deregister``: the main worker leaves; the children stay."""
        if self._main is None or self._main not in self.alive():
            children = several(len(self.alive()), "worker")
            how = f"endbulk stops the {children} of bulk" if self.alive() else "register first"
            raise Refused(f"the worker of register is not registered; {how}")
        self._dismiss([self._main])

    def bulk(self, workers: int, patience: float) -> None:
        """The seed's ``bulk``: start children until there are so many workers in all."""
        alive = len(self.alive())
        if workers <= alive:
            raise Refused(f"this process has {several(alive, 'worker')} already; endbulk stops those of bulk")
        self._start(workers - alive, patience)

    def endbulk(self) -> None:
        """The seed's ``endbulk``: the children drain, say goodbye and stop."""
        children = [name for name in self.alive() if name != self._main]
        if not children:
            raise Refused("no bulk workers run; bulk starts them")
        self._dismiss(children)

    def renew(self, patience: float) -> None:
        """Let all workers leave and start as many; the main one stays the main one."""
        alive = self.alive()
        self._dismiss(alive)
        if alive:
            started = self._start(len(alive), patience)
            self._main = started[alive.index(self._main)] if self._main in alive else self._main

    def dismiss(self) -> None:
        """Let all workers leave, for the broker ends as well."""
        self._tell = None
        self._dismiss(self.node.names())

    def close(self, patience: float) -> None:
        """Let all workers leave, within ``patience`` seconds."""
        self.dismiss()
        wait_until(lambda: not self.node.names(), patience)

    def _start(self, n: int, patience: float) -> list[str]:
        if n < 1:
            raise Refused(f"{n} workers can not be started: the least is 1")
        here = set(self.node.names())
        self._ids = {name: key for name, key in self._ids.items() if name in here}
        self._leaving &= here
        if len(self._ids) + n > LIMIT:
            raise Refused(f"{several(n, 'more worker')}: one process runs {LIMIT:,} at most, {len(self._ids):,} run")
        self.afford(n)
        made: dict[str, Seat] = {}
        for _ in range(n):
            name = f"worker-{next(self._numbers)}"
            seat = made[name] = self._make(name)
            self._ids[name] = seat.sockets[0].routing_id
        self.seats = {key: name for name, key in self._ids.items()}  # before anybody hears of them
        wait_seated([self.node.seat(name, seat) for name, seat in made.items()], patience + n * 0.01)
        return list(made)

    def afford(self, n: int) -> None:
        """Raise Refused where there are not file descriptors enough for n more workers."""
        cost = self._cost()
        left = descriptors_left() - SPARE if cost else 0
        if cost * n > left:
            enough = descriptor_limit() + cost * n - left
            raise Refused(
                f"{several(n, 'more worker')}: {cost * n:,} file descriptors are needed, {max(0, left):,} left: "
                f"{several(max(0, left) // cost, 'worker')} would do, or ulimit -n {enough}"
            )

    def _dismiss(self, names: Iterable[str]) -> None:
        for name in names:
            self._leaving.add(name)
            if self._tell is not None and name in self._ids:
                self._tell(Drain(self._ids[name]))
            self.node.order(name, Leave())


def wait_seated(seated: Iterable[Future[None]], timeout: float) -> None:
    """Wait so many seconds until peers sit. Raises Refused where one can not connect."""
    for future in wait(seated, timeout).done:
        try:
            future.result()
        except zmq.ZMQError as error:
            raise Refused(f"can not connect to {error}") from None
