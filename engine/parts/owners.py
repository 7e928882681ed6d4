"""The owners of a broker's tasks: a client owns what it asked for.

The rules of this file:

- One client may have a share of the backlog waiting, and no more, so one that asks for what no worker can do leaves
  room for the others. The bytes that it wrote and the kinds of worker that it asks for are bounded too.
- A client is watched while the broker has something of it. After ``expiry`` of silence it is gone until it is heard
  again; the broker withdraws what waits of it.
- An *item* is one request of a client, under a key of its broker's: one task, or an array of them.
- ``b""`` is the broker's own operator, who has no bounds and is never gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

from engine.parts.limits import MAX_HELD
from engine.parts.liveness import Liveness

LEAST = 1_000  # tasks of one client that may wait, however short the backlog is
BYTES = MAX_HELD // 8  # that one client may have written
KINDS = 64  # of worker that one client's items may ask for

K = TypeVar("K", bound=Hashable)


def share(bound: int) -> int:
    """The places that one client may have in a table of so many: a tenth, or LEAST."""
    return min(bound, max(LEAST, bound // 10))


class Has(NamedTuple):
    """What one client has at a broker: ``waiting`` tasks of so many items, and the bytes that it wrote in them."""

    client: bytes
    waiting: int
    items: int
    size: int


class _Owner(Generic[K]):
    __slots__ = ("gone", "items", "kinds", "size", "waiting")

    def __init__(self) -> None:
        self.items: dict[K, None] = {}
        self.kinds: dict[Hashable, int] = {}  # how many items ask for it, where they ask for one
        self.size = self.waiting = 0
        self.gone = False


class Owners(Generic[K]):
    """The clients of one broker. ``backlog``: tasks that may wait in all, ``items``: the most items."""

    def __init__(self, backlog: int, items: int, expiry: float) -> None:
        self._owners: dict[bytes, _Owner[K]] = {}
        self._alive = Liveness(expiry)
        self._waiting, self._items = share(backlog), share(items)

    def __len__(self) -> int:
        return len(self._owners)

    def excess(self, client: bytes, tasks: int, size: int, kind: Hashable = None) -> str:
        """Why a client may not add an item of so many tasks and bytes; empty where it may."""
        owner = self._owners.get(client)
        if not client:
            return ""
        waiting, items, held = (owner.waiting, len(owner.items), owner.size) if owner is not None else (0, 0, 0)
        if waiting + tasks > self._waiting:
            return f"more than {self._waiting} tasks of one client may not wait"
        if items >= self._items:
            return f"one client may not have more than {self._items} jobs"
        if held + size > BYTES:
            return f"the jobs of one client may not have more than {BYTES} bytes"
        if owner is not None and kind is not None and kind not in owner.kinds and len(owner.kinds) >= KINDS:
            return f"one client may not ask for more than {KINDS} kinds of worker"
        return ""

    def add(self, client: bytes, item: K, tasks: int, size: int, now: float, kind: Hashable = None) -> None:
        """A client asked for something; all its tasks wait."""
        owner = self._owners.get(client)
        if owner is None:
            owner = self._owners[client] = _Owner()
            self._hear(client, owner, now)
        owner.items[item] = None
        if kind is not None:
            owner.kinds[kind] = owner.kinds.get(kind, 0) + 1
        owner.waiting += tasks
        owner.size += size

    def wait(self, client: bytes, change: int) -> None:
        """Change the number of a client's waiting tasks."""
        self._owners[client].waiting += change

    def end(self, client: bytes, item: K, size: int, kind: Hashable = None) -> None:
        """An item has ended: no task of it waits or is out."""
        owner = self._owners[client]
        del owner.items[item]
        owner.size -= size
        if kind is not None:
            owner.kinds[kind] -= 1
            if not owner.kinds[kind]:
                del owner.kinds[kind]
        if not owner.items:
            del self._owners[client]
            self._alive.forget(client)

    def heard(self, client: bytes, now: float) -> None:
        """A client was heard."""
        owner = self._owners.get(client)
        if owner is not None:
            self._hear(client, owner, now)

    def silent(self, now: float) -> list[bytes]:
        """The clients that have gone since the last call."""
        gone = self._alive.expired(now)
        for client in gone:
            self._owners[client].gone = True
        return gone

    def gone(self, client: bytes) -> bool:
        """Whether an owner was silent for too long and was not heard since."""
        owner = self._owners.get(client)
        return owner is not None and owner.gone

    def of(self, client: bytes) -> list[K]:
        """A client's items, oldest first."""
        owner = self._owners.get(client)
        return [] if owner is None else list(owner.items)

    def all(self) -> Iterator[Has]:
        """What each client has."""
        return (Has(client, has.waiting, len(has.items), has.size) for client, has in self._owners.items())

    def wake_at(self) -> float:
        """No later than when the next one may be gone."""
        return self._alive.wake_at()

    def grace(self, seconds: float) -> None:
        """This process was paused: move every deadline."""
        self._alive.grace(seconds)

    def check(self, waiting: Counter[bytes], size: Counter[bytes], items: Counter[bytes]) -> None:
        """The counts agree with the broker's own tables; every client that is not gone is watched."""
        self._alive.check()
        for client, owner in self._owners.items():
            assert owner.items, f"{client!r} owns nothing"
            assert len(owner.items) == items[client], f"{client!r}: items are miscounted"
            assert sum(owner.kinds.values()) in (0, len(owner.items)), f"{client!r}: kinds are miscounted"
            assert (owner.waiting, owner.size) == (waiting[client], size[client]), f"{client!r} is miscounted"
            assert (client in self._alive) == (bool(client) and not owner.gone), f"{client!r} is not watched"
        assert items.keys() == self._owners.keys(), "an item has no owner"

    def _hear(self, client: bytes, owner: _Owner[K], now: float) -> None:
        if client:
            self._alive.heard(client, now)
            owner.gone = False
