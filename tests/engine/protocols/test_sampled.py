"""A run whose tasks have ids for a broker with a store has as many legs as any other, in each system that has one."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import STORED, SYSTEMS
from engine.parts.bulk import BulkSpec
from engine.parts.legs import EVERY, join, sampled
from engine.sim.world import World

TASKS = 4 * EVERY
TAG = bytes(range(1, 13))  # its first byte is that of no sampled task


@pytest.mark.parametrize("name", STORED)
def test_both_ends_note_the_same_tasks_of_a_run_with_a_tag(name: str) -> None:
    system = SYSTEMS[name]
    assert not sampled(TAG)
    wall: dict[str, Any] = {"wall_offset": 1e9} if system.wall else {}
    options = system.options(**{STORED[name]: "sqlite:"})
    world = World(1)
    world.add("broker", system.broker(options, (system.endpoint,), **wall))
    world.add("worker", system.worker(options, system.endpoint, 1, 10, **wall))
    client = system.client(options, system.endpoint, 99, **wall)
    world.add("client", client)
    assert world.run_until(lambda world: bool(world.pictures["client"].linked), 60.0)
    for tag in (b"", TAG):  # the numbers of the second run begin behind those of the first
        spec = BulkSpec("ping", TASKS + 1, in_flight=TASKS, timeout=600.0, tag=tag)
        since = world.now
        world.order("client", spec)
        world.run_for(0.01)
        assert world.run_until(lambda world: world.pictures["client"].run.state == "ended", 600.0)
        seen, broker = world.pictures["client"], world.pictures["broker"]
        legs = join(client.sockets[0].routing_id, [leg for leg in seen.legs if leg.sent >= since], broker.legs)
        assert seen.run.passed and legs is not None and legs["worker"].count >= TASKS // EVERY
