"""The status of disk queues: drivers as workers, files as backlog."""

from __future__ import annotations

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
