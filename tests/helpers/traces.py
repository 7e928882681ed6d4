"""A broker, workers and a client of one system in a simulated world, every message of theirs in a trace."""

from __future__ import annotations

from typing import Any

from engine.core import Command, Event, Seat
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Role
from engine.sim.world import World
from engine.system import System
from engine.tracing.trace import Trace


class Watched:
    """``world`` with the seats ``broker``, ``w1`` … and ``client``; ``trace`` sees all of them but ``blind``."""

    def __init__(
        self, system: System, workers: int = 2, slots: int = 2, blind: tuple[str, ...] = (), options: Any = None
    ) -> None:
        self.system, self.trace, self.world = system, Trace(system), World()
        self.options = system.options() if options is None else options
        self.blind = blind
        self._roles: dict[str, Role] = {}
        self.world.watchers.append(self._watch)
        endpoint = f"inproc://{system.name}"
        self.add("broker", "broker", system.broker(self.options, [endpoint]))
        for number in range(1, workers + 1):
            self.add(f"w{number}", "worker", system.worker(self.options, endpoint, number, slots))
        self.add("client", "client", system.client(self.options, endpoint, 100))

    def add(self, name: str, role: Role, seat: Seat) -> None:
        """Seat a core."""
        if name not in self.blind:
            self.trace.seated(name, name, role, seat)
        self.world.add(name, seat)

    def run(self, spec: BulkSpec, seconds: float = 5.0) -> None:
        """Let everybody join, then have the client carry out a run."""
        self.world.run_for(2.0)
        self.world.order("client", spec)
        self.world.run_for(seconds)

    def _watch(self, at: float, name: str, event: Event, commands: list[Command]) -> None:
        self.trace.tap(name, name, at, event, commands)
