"""Health of a lab's threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol


class Health(NamedTuple):
    """Health of the engine's threads."""

    dead: tuple[str, ...]  # "broker: ZMQError: …" for every thread that died
    loop_lag: float  # seconds that the slowest loop is late for its timers
    failed: int = 0  # cores that left because of an error


class Workers(NamedTuple):
    """The workers of this process."""

    here: int
    joined: int  # that a broker has taken in, as far as they know


class Helper(Protocol):
    """A thread beside the nodes. ``dead``: the error that ended it, None while it lives."""

    @property
    def dead(self) -> str | None: ...


class Loop(Helper, Protocol):
    """A node, as far as its health goes."""

    name: str
    failed: int

    @property
    def lag(self) -> float: ...


def health_of(nodes: Iterable[Loop], helpers: Mapping[str, Helper | None]) -> Health:
    """That of these nodes, and of the threads beside them by their names."""
    loops = list(nodes)
    named = [(loop.name, loop.dead) for loop in loops]
    named += [(name, helper.dead) for name, helper in helpers.items() if helper is not None]
    dead = tuple(f"{name}: {why}" for name, why in named if why is not None)
    return Health(dead, max((loop.lag for loop in loops), default=0.0), sum(loop.failed for loop in loops))
