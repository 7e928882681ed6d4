"""Fault scripts for simulations: drawn by hypothesis, carried out on a world, and calmed at the end.

A test names its seats and how each is made anew, adds acts of its own, and states what must hold in the storm (as
invariants and watchers of the world) and what must hold in the calm after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

from engine.core import Seat
from engine.sim.wire import Link
from engine.sim.world import World

GOOD = Link()
BAD = (
    Link(loss=0.1),
    Link(loss=0.5),
    Link(duplicate=0.3),
    Link(delay=(0.1, 2.0)),
    Link(delay=(0.0, 0.5), loss=0.1, duplicate=0.1),
)
FAULTS = ("crash", "restart", "freeze", "cut", "heal", "reset", "bad link", "good link")


class Step(NamedTuple):
    """After ``wait`` seconds do ``act`` to seat number ``who`` (modulo their number); ``amount`` 0..1 says how much."""

    wait: float
    act: str
    who: int
    amount: float


def scripts(acts: Sequence[str], longest: int = 20) -> st.SearchStrategy[list[Step]]:
    """Scripts of the given acts, equally likely."""
    step = st.builds(
        Step,
        wait=st.sampled_from((0.0, 0.01, 0.3, 1.0, 4.0, 9.0)),
        act=st.sampled_from(acts),
        who=st.integers(0, 7),
        amount=st.sampled_from((0.0, 0.1, 0.25, 0.5, 0.75, 1.0)),
    )
    return st.lists(step, min_size=1, max_size=longest)


class Storm:
    """``seats``: how each seat is made anew, by name; all but ``broker`` are linked to it.

    ``acts`` are the test's own, done to living seats; one by the name of a fault stands in its place.
    """

    def __init__(
        self,
        world: World,
        broker: str,
        seats: Mapping[str, Callable[[], Seat]],
        acts: Mapping[str, Callable[[str, float], None]],
    ) -> None:
        self.world, self.broker, self.seats, self.acts = world, broker, seats, acts
        self._cuts: set[str] = set()

    def rage(self, script: Sequence[Step]) -> None:
        """Carry out a script."""
        names = list(self.seats)
        for wait, act, who, amount in script:
            self.world.run_for(wait)
            self._do(act, names[who % len(names)], amount)

    def calm(self) -> None:
        """End every fault; what has crashed or left stays so."""
        self.world.link(GOOD)
        for name in sorted(self._cuts):
            self.world.heal(name, self.broker)
        self._cuts.clear()

    def _do(self, act: str, name: str, amount: float) -> None:
        world = self.world
        alive, peer = name in world.names, name != self.broker
        match act:
            case _ if act in self.acts:
                if alive:
                    self.acts[act](name, amount)
            case "crash" if alive:
                world.crash(name)
            case "restart":
                world.restart(name, self.seats[name]())
            case "freeze" if alive:
                world.freeze(name, 0.5 + 20.0 * amount)
            case "cut" if peer:
                world.cut(name, self.broker)
                self._cuts.add(name)
            case "heal" if name in self._cuts:
                world.heal(name, self.broker)
                self._cuts.discard(name)
            case "reset" if peer:
                world.reset(name, self.broker)
            case "bad link":
                world.link(BAD[int(amount * (len(BAD) - 1))])
            case "good link":
                world.link(GOOD)
