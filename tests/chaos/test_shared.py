"""A short run of brokers that share a backlog in NATS: a broker killed and started again. Long ones by command."""

from __future__ import annotations

from tests.chaos.shared import play
from tests.helpers.neednats import needed


@needed
def test_nothing_is_lost_with_a_broker_that_is_killed() -> None:
    figures = play(600, seed=1, kills=1, lease=1.0)
    assert figures.right, str(figures)
    assert len(figures.recovered["broker killed"]) == 1
