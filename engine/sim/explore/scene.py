"""What is walked: who is there, what is asked, what may go wrong, and the bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from engine.schema import Range
from engine.system import System

Fault = Literal["lose", "duplicate", "spoil", "kill", "restart", "freeze", "cut", "clock", "leave", "drain"]
"""Kinds of what may go wrong, or be ordered, at any moment."""

Seconds = Annotated[float, Range(0.01, 3600.0, "seconds")]


@dataclass(frozen=True)
class Bounds:
    """Where a walk ends. ``rounds``: heartbeat rounds of virtual time from the moment at which all have joined."""

    rounds: Annotated[int, Range(1, 20)] = 3
    late: Annotated[int, Range(0, 20)] = 0  # wake-ups that may overtake what is under way, until all of it has arrived
    depth: Annotated[int, Range(1, 1_000_000)] = 10_000  # moves from the beginning
    states: Annotated[int, Range(1, 100_000_000)] = 5_000_000
    seconds: Annotated[float, Range(0.01, 1_000_000.0, "seconds")] = 3600.0


@dataclass(frozen=True)
class Scene:
    """A small scene of one system. ``options``: the system's own settings, None for those of its usual scene."""

    system: System
    name: str = ""
    options: Any = None
    workers: Annotated[int, Range(1, 8)] = 2
    clients: Annotated[int, Range(1, 4)] = 1
    tasks: Annotated[int, Range(1, 16)] = 2  # of each client
    slots: Annotated[int, Range(1, 16)] = 1  # of each worker
    kind: Literal["ping", "data"] = "ping"
    pair: bool = False  # a broker and its fallback
    faults: tuple[Fault, ...] = ()
    most: Annotated[int, Range(0, 3)] = 1  # faults in one course
    outage: Seconds = 4.0  # how long a freeze or a cut lasts, and how far a clock jumps
    bounds: Bounds = field(default_factory=Bounds)
    reduce: bool = True  # whether orders that make no difference are walked once
    exact: bool = False  # whether states that differ in times alone, and in none of their order, are told apart

    @property
    def settings(self) -> Any:
        """The options that all cores get."""
        if self.options is not None:
            return self.options
        known = {one.name for one in fields(self.system.options)}
        usual = {key: value for key, value in self.system.explored.options.items() if key in known}
        return self.system.options(**usual)

    @property
    def heartbeat(self) -> float:
        """Seconds of one round."""
        return self.system.explored.heartbeat(self.settings)
