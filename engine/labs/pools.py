"""Several pools of workers of one process, each on a thread of its own.

The rules of this file:

- One pool has no name: the seeds' words mean it. Others are there once workers of theirs were asked for.
- Workers are numbered over all pools, so that each has a name of its own.
- What all workers have in common (lane, slowness, goodbye) is ordered of all pools together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.pool import Pool
from engine.settings.pools import NAME

POOL = "pool"  # the node of the pool without a name; "pool.slow" is that of another
MOST = 16  # pools of one process: each is a thread
TRANSPORTS = ("inproc", "tcp")


class Kind(NamedTuple):
    """What the workers of a pool have in common. ``transport``: empty for the lab's own."""

    slots: int
    transport: str = ""


class Pools:
    """``make``: the pool of this name, on the node of that. ``kinds``: of each, by name; its next workers are so."""

    def __init__(self, make: Callable[[str, str, Kind], Pool], first: Kind) -> None:
        self._make = make
        self.kinds = {"": first}
        main = make("", POOL, first)
        self._pools = {"": main}
        self.register, self.deregister, self.add, self.remove = main.register, main.deregister, main.add, main.remove

    @property
    def node(self) -> Pools:
        """Where the workers run: all nodes as one."""
        return self

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes."""
        return [node_of(name) for name in self._pools]

    @property
    def seats(self) -> dict[bytes, str]:
        """Routing id → seat, of all workers. Any thread."""
        return {key: seat for pool in list(self._pools.values()) for key, seat in pool.seats.items()}

    def seat_of(self, key: bytes) -> str | None:
        """The seat of the worker with this routing id. Any thread."""
        for pool in list(self._pools.values()):
            if (seat := pool.seats.get(key)) is not None:
                return seat
        return None

    def name_of(self, key: bytes) -> str | None:
        """The pool of the worker with this routing id; None where it is in none. Any thread."""
        return next((name for name, pool in list(self._pools.items()) if key in pool.seats), None)

    def names(self) -> list[str]:
        """The seats that are taken, pool by pool."""
        return [seat for pool in self._pools.values() for seat in pool.node.names()]

    def alive(self) -> list[str]:
        """The workers that run and were not told to leave, pool by pool."""
        return [seat for pool in self._pools.values() for seat in pool.alive()]

    def order(self, seat: str, order: object) -> None:
        """Hand an order to one worker; of no effect if it is gone."""
        for pool in self._pools.values():
            pool.node.order(seat, order)

    def where(self) -> dict[str, str]:
        """Seat → the name of its node."""
        return {seat: node_of(name) for name, pool in self._pools.items() for seat in pool.node.names()}

    def seat_again(self, seat: str, patience: float) -> None:
        """Start a worker of this name again, where it was."""
        next(pool for pool in self._pools.values() if seat in pool.seats.values()).seat_again(seat, patience)

    def stop(self, key: bytes) -> bool:
        """Let the worker with this routing id drain and leave; False if it is not one of ours."""
        return any(pool.stop(key) for pool in self._pools.values())

    def bulk(self, workers: int, patience: float, name: str = "", kind: Kind | None = None) -> None:
        """Start workers of a pool until it has so many. ``kind``: of a pool that is new, or has no workers.

        Raises Refused for a name that is none, and where workers of another kind run in that pool.
        """
        pool, known = self._pools.get(name), self.kinds.get(name)
        if known is not None and kind is not None and kind != known and self._pools[name].alive():
            over = f" over {known.transport}" if known.transport else ""
            raise Refused(f"workers of {shown(name)} have {known.slots} slots{over}: endbulk stops them first")
        if pool is None:
            if not NAME.fullmatch(name):
                raise Refused(f"no pool can have the name {name!r}: small letters, digits and -, 16 at most")
            if len(self._pools) >= MOST:
                raise Refused(f"one process has {MOST} pools at most")
            self.kinds[name] = kind or self.kinds[""]
            pool = self._pools[name] = self._make(name, node_of(name), self.kinds[name])
        self.kinds[name] = kind or self.kinds[name]
        pool.bulk(workers, patience)

    def endbulk(self, name: str = "") -> None:
        """Let the workers of a pool drain and leave; of the one without a name, those that ``bulk`` started."""
        if name not in self._pools:
            raise Refused(f"no pool {name!r}; there are {', '.join(filter(None, self._pools)) or 'none with a name'}")
        self._pools[name].endbulk()

    def afford(self, n: int) -> None:
        """Raise Refused where there are not file descriptors enough for n more workers of the pool without a name."""
        self._pools[""].afford(n)

    def afford_move(self) -> None:
        """Raise Refused where there are not file descriptors enough for ``move``: the old workers go only then."""
        movers = self._movers()
        if movers:
            movers[0].afford(sum(len(pool.alive()) for pool in movers))

    def move(self, patience: float) -> None:
        """Let all workers that go where the lab goes leave, and start as many anew."""
        for pool in self._movers():
            pool.renew(patience)

    def _movers(self) -> list[Pool]:
        return [pool for name, pool in self._pools.items() if not self.kinds[name].transport]

    def close(self, patience: float) -> None:
        """Let all workers leave, within ``patience`` seconds."""
        for pool in self._pools.values():
            pool.dismiss()
        wait_until(lambda: not self.names(), patience)


def node_of(name: str) -> str:
    """The node of the pool of this name."""
    return f"{POOL}.{name}" if name else POOL


def shown(name: str) -> str:
    """A pool for people."""
    return f"the pool {name}" if name else "the pool"
