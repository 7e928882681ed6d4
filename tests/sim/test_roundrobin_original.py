"""Round robin with a worker of the original, which drops what comes before it knows its commands."""

from __future__ import annotations

import pytest

from engine.parts.bulk import BulkSpec
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin.options import Options
from engine.sim.world import World
from tests.helpers.original import OriginalWorker, original

HERE = SYSTEM.endpoint


@pytest.mark.parametrize("seed", range(4))
def test_r16_tasks_that_waited_for_an_original_worker_are_all_done(seed: int) -> None:
    """They were given right behind REGISTER's answer, dropped there, and their slots were dead for 60 s."""
    world = World(seed)
    world.add("broker", SYSTEM.broker(Options(), [HERE]))
    world.add("client", SYSTEM.client(Options(), HERE, 1))
    world.run_for(1.0)
    world.order("client", BulkSpec("ping", 12, in_flight=12, timeout=5.0))
    world.run_for(1.0)
    assert world.picture("broker").backlog == 12
    world.add("worker", original(HERE, 2))
    world.run_for(1.0)
    worker, run = world.core("worker"), world.picture("client").run
    assert isinstance(worker, OriginalWorker)
    assert (worker.dropped, worker.done) == (0, 12)
    assert run.passed and run.ledger.succeeded == 12
