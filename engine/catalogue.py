"""The systems by name: the only list of them. The first is the one that opens where none is named.

A system is imported when it is asked for; names alone cost nothing. All five take a tenth of a second, which a command
that only prints its help or a path need not wait for; what the help says of them stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from engine.system import QueueSystem, System

S = TypeVar("S", bound="System | QueueSystem")

_BROKERS = ("roundrobin", "conversation", "pingpong", "negotiated")
_QUEUES = ("diskqueue",)

TAKERS = ("conversation",)
"""Those that take jobs, among those with ``orders`` in their ``SYSTEM``."""

PAIRS = ("negotiated",)
"""Those of which one broker stands in for another, and that are operated from other processes."""

SERVERS = ("negotiated",)
"""Those whose workers offer services by name."""

STORED = dict.fromkeys(("roundrobin", "conversation", "pingpong", "negotiated"), "backlog")
"""Those that can keep what they accept in a store, and the option that names it."""

SEED_LANE = "seed"
"""The name of the lane that every system has: the seed's own messages."""

LANES = {"roundrobin": "packed"}
"""Those with a second lane, and what that is called."""


class Systems(MutableMapping[str, S], Generic[S]):
    """Systems by name, each ``SYSTEM`` of the folder of that name in ``engine.protocols``."""

    def __init__(self, names: Iterable[str]) -> None:
        self._systems: dict[str, Any] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> S:
        system: S | None = self._systems[name]
        if system is None:
            system = self._systems[name] = import_module(f"engine.protocols.{name}").SYSTEM
        return system

    def __setitem__(self, name: str, system: S) -> None:
        self._systems[name] = system

    def __delitem__(self, name: str) -> None:
        del self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in self._systems

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


CATALOGUE: Systems[System | QueueSystem] = Systems((*_BROKERS, *_QUEUES))

SYSTEMS: Systems[System] = Systems(_BROKERS)
"""Those of them that have a broker."""

QUEUES: Systems[QueueSystem] = Systems(_QUEUES)
"""Those of them that have none: documents in folders."""
