"""A short run at a broker with a store: broker killed, workers killed and stopped. Long ones by command."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.drive.stores.sqlite import Sqlite
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.runs.checker import Recorder, outcomes
from tests.chaos.children import Children
from tests.chaos.durable import PACE, play
from tests.helpers.processes import free_endpoint, until


def test_nothing_is_lost_with_a_broker_and_workers_that_are_killed() -> None:
    figures = play(2000, seed=1, kills=3, rate=500.0)
    assert figures.right, str(figures)
    assert len(figures.serving) == 3


@pytest.mark.parametrize("name", ["pingpong", "negotiated"])
def test_a_broker_that_is_killed_in_a_run_is_followed_by_one_that_goes_on(name: str, tmp_path: Path) -> None:
    """kill -9, with workers and a client in this process; each task has one end, which is what the store has."""
    system, endpoint = SYSTEMS[name], free_endpoint()
    options = PACE[name] | {system.store: f"sqlite:{tmp_path / 'tasks.sqlite'}"}
    with Children(tmp_path, {}) as children:
        broker = children.broker(name, endpoint, options)
        lab = LiveLab(system, system.options(**options), connect=endpoint, workers=3, broker=False)
        with lab, Recorder() as recorder:
            until(lambda: lab.wait_linked(0.1), "the client's link")
            lab.run(BulkSpec("ping", 300, in_flight=50, rate=200.0, timeout=300.0))
            until(lambda: (view := lab.run_view()) is not None and view.ledger.succeeded >= 50, "a part of the run")
            broker.kill()
            broker = children.broker(name, endpoint, options)
            lab.wait_run(120.0)
            run = lab.run_view()
        broker.kill()
    assert run is not None and run.passed, run
    with closing(Sqlite(tmp_path / "tasks.sqlite")) as store:
        assert store.counts()[:5] == (300, 300, (), 0, 0)
        known = outcomes(store.result, recorder.events)
    ends = [event for event in recorder.events if event.kind == "ok"]
    assert len(ends) == 300 and all(known[event.task] == "" for event in ends)
