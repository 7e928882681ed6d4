"""The health of a lab: of all its threads together."""

from __future__ import annotations

from dataclasses import dataclass

from engine.labs.health import Health, health_of


@dataclass
class Thread:
    name: str = "broker"
    dead: str | None = None
    failed: int = 0
    lag: float = 0.0


def test_the_dead_are_named_and_the_worst_of_the_living_counts() -> None:
    assert health_of([], {}) == Health((), 0.0, 0)
    nodes = [Thread(lag=0.5, failed=1), Thread("pool", "OSError: x", 2, 0.2)]
    helpers = {"door": Thread(dead="ValueError: y"), "control": None}
    assert health_of(nodes, helpers) == Health(("pool: OSError: x", "door: ValueError: y"), 0.5, 3)
