"""A short run at a broker with a store: broker killed, workers killed and stopped. Long ones by command."""

from __future__ import annotations

from tests.chaos.durable import play


def test_nothing_is_lost_with_a_broker_and_workers_that_are_killed() -> None:
    figures = play(2000, seed=1, kills=3, rate=500.0)
    assert figures.right, str(figures)
    assert len(figures.serving) == 3
