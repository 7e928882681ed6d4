"""Under faults no core does what its state map does not show: every change that is seen is an edge, or two in one.

A batch may walk two for each of its messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import SYSTEMS
from engine.core import Command, Event, Exit, Received, Seat
from engine.parts.bulk import BulkSpec
from engine.parts.explain import StateMap
from engine.parts.orders import Drain, Leave, Slow
from engine.parts.view import BrokerView
from engine.sim.world import World
from tests.helpers.examples import examples
from tests.helpers.storm import FAULTS, Step, Storm, scripts

NOWHERE = {"roundrobin": "unknown", "pingpong": "unknown", "negotiated": "unknown"}


def reach(states: StateMap, steps: int) -> set[tuple[str, str]]:
    """What so many edges lead to."""
    once = {(edge.state, edge.next) for edge in states.edges}
    found = once
    for _ in range(steps - 1):
        found = found | {(one, three) for one, two in found for other, three in once if two == other}
    return found


class Witness:
    """Compares where everybody stands after each event with where it stood before."""

    def __init__(self, name: str, world: World) -> None:
        maps = self.all = SYSTEMS[name].explain.state_maps()
        self.maps = {states.role: states for states in reversed(maps)}  # the first of a role
        self.allowed: dict[tuple[str, int], set[tuple[str, str]]] = {}
        self.nowhere = NOWHERE.get(name)
        self.world, self.before = world, dict[Any, str]()
        world.watchers.append(self.watch)

    def watch(self, at: float, seat: str, event: Event, commands: list[Command]) -> None:
        core = self.world.core(seat)
        picture = core.snapshot(at)
        here = "broker" if isinstance(picture, BrokerView) else "client" if seat == "client" else "worker"
        for states in self.all:
            if states.role == here:
                self._counted(states, picture, event)
        if not isinstance(picture, BrokerView):
            role = "client" if seat == "client" else "worker"
            (state,) = self.maps[role].current(picture)
            if any(isinstance(command, Exit) for command in commands):
                state = next((end for end in ("left", "ended") if end in self.maps[role].states), state)
            self._changed(role, (id(core),), state, event)
        elif self.nowhere is not None:
            rows = {(id(core), row.key): self._row(picture, row) for row in picture.workers}
            gone = [key for key in self.before if key[0] == id(core) and len(key) == 2 and key not in rows]
            for key, state in [*rows.items(), *((key, self.nowhere) for key in gone)]:
                self.before.setdefault(key, self.nowhere)
                self._changed("broker", key, state, event)

    def _counted(self, states: StateMap, picture: Any, event: Event) -> None:
        """No edge is walked less than never: what is told by totals fits to what was counted."""
        assert states.walked is not None
        less = {edge: times for edge, times in states.walked(picture).items() if times < 0}
        assert less == {}, (states.title, event)

    def _row(self, picture: BrokerView, row: Any) -> str:
        found = self.maps["broker"].current(picture._replace(workers=(row,)))
        return str(next(iter(found)))

    def _changed(self, role: Any, key: Any, state: str, event: Event) -> None:
        before = self.before.get(key, state)
        self.before[key] = state
        steps = 2 * len(event.messages) if isinstance(event, Received) else 2  # an event may walk two
        if (role, steps) not in self.allowed:
            self.allowed[(role, steps)] = reach(self.maps[role], min(steps, 6))
        assert before == state or (before, state) in self.allowed[(role, steps)], (role, before, state, event)


@pytest.mark.parametrize("name", SYSTEMS)
@examples(8)
@given(seed=st.integers(0, 999), script=scripts((*FAULTS, "run", "drain", "leave", "slow"), 12))
def test_no_change_is_missing_from_the_maps(name: str, seed: int, script: list[Step]) -> None:
    system, world = SYSTEMS[name], World(seed)
    options, endpoint = system.options(), f"inproc://{name}"
    keep: list[Seat] = []  # no id of a core is used twice

    def kept(seat: Seat) -> Seat:
        keep.append(seat)
        return seat

    seats: dict[str, Callable[[], Seat]] = {
        "broker": lambda: kept(system.broker(options, [endpoint])),
        "w1": lambda: kept(system.worker(options, endpoint, 1, 2)),
        "w2": lambda: kept(system.worker(options, endpoint, 2, 2)),
        "client": lambda: kept(system.client(options, endpoint, 9)),
    }
    Witness(name, world)

    def drain(_name: str, amount: float) -> None:
        if "broker" in world.names:
            keys = [row.key for row in world.picture("broker").workers]
            if keys:
                world.order("broker", Drain(keys[int(amount * (len(keys) - 1))]))

    def only(role: str, order: object) -> Any:
        return lambda name, amount: world.order(name, order) if name.startswith(role) else None

    acts = {
        "run": only("client", BulkSpec("ping", 20, in_flight=10)),
        "drain": drain,
        "leave": only("w", Leave()),
        "slow": only("w", Slow(1.5)),
    }
    for seat, make in seats.items():
        world.add(seat, make())
    storm = Storm(world, "broker", seats, acts)
    storm.rage(script)
    storm.calm()
    world.run_for(20.0)
