"""The status of disk queues: drivers as workers, files as backlog."""

from __future__ import annotations

import pytest

from engine.labs.queuestatus import of_pipeline
from engine.protocols.diskqueue.pipeline import CAME_SINCE, ENDED, NEVER_RUN
from tests.helpers.fake_queues import a_view
from tests.helpers.statuses import a_queue_status


def test_drivers_are_workers_and_files_are_the_backlog() -> None:
    status = a_queue_status()
    assert [worker["name"] for worker in status["workers"]] == ["1", "2", "3", "4", "5", "6"]
    assert [worker["state"] for worker in status["workers"][2:5]] == ["busy", "drain", "ready"]
    assert status["workers"][0]["stage"] == "values"
    assert status["backlog"] == 12 + 2 + 1 and status["in_flight"] == 3
    assert status["ledger"] == {
        "sent": 62, "succeeded": 43, "failed": {"failed_twice": 1}, "in_flight": 3, "queued": 15, "dropped": 0,
        "balanced": None,
    }  # fmt: skip
    assert [queue["name"] for queue in status["queues"]] == ["start", "values", "parse", "output"]
    assert status["counters"]["wanted_drivers"] == 6 and status["counters"]["restarts"] == 2


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [("3 drivers died in a row", 1), (NEVER_RUN, 0), (CAME_SINCE, 0), (f"{ENDED}told to stop", 0)],
)
def test_a_stage_counts_as_stopped_only_by_errors_of_its_own(reason: str, stopped: int) -> None:
    """A run looks at its alerts before its watchdog begins: that none has run is no error."""
    view = a_view()
    first = view.stages[0]._replace(state="stopped", reason=reason)
    counters = of_pipeline(view._replace(stages=(first, *view.stages[1:]))).counters
    assert counters["stopped_stages"] == stopped
