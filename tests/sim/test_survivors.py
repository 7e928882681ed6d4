"""All workers but one are killed at once, unseen, and ten tasks come: each is answered, in every system."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec

SEEDS = range(10)
BULKPING = BulkSpec("ping", 10, in_flight=10, timeout=60.0)


@pytest.mark.parametrize(("system", "crew"), [*((system, 4) for system in SYSTEMS), ("negotiated", 8)])
def test_each_task_is_answered_by_the_one_that_is_left_ten_times(system: str, crew: int) -> None:
    """13.27: ``bulkping 10`` lost a task in each of ten tries: the dead spent its deliveries."""
    for seed in SEEDS:
        with Sandbox(SYSTEMS[system], workers=crew, slots=1, seed=seed) as sandbox:
            sandbox.settle()
            sandbox.advance(seed / 7)  # between other heartbeats
            for worker in list(sandbox.workers())[1:]:
                sandbox.kill(worker)
            sandbox.run(BULKPING)
            sandbox.advance(60.0)
            run = sandbox.run_view()
            assert run is not None and (run.state, run.ledger.succeeded) == ("ended", 10), f"seed {seed}: {run}"
