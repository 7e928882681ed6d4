"""A task that ends every worker that holds it, in a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.core import Seat
from engine.parts.orders import Slow
from engine.sim.world import World

SLOW = 0.5  # seconds a task, so that whoever holds the poison is seen with it
LOOK = 0.1  # seconds between two looks


def suffer(
    world: World, seats: Mapping[str, Callable[[], Seat]], holder: Callable[[], str | None], seconds: float
) -> list[str]:
    """Whoever is seen with the poison dies and is started anew at once; who died, in order."""
    deaths: list[str] = []
    for _ in range(int(seconds / LOOK)):
        world.run_for(LOOK)
        name = holder()
        if name is not None:
            world.restart(name, seats[name]())
            world.order(name, Slow(SLOW))
            deaths.append(name)
    return deaths
