"""The drivers of a stage as a table."""

from __future__ import annotations

from pathlib import Path

from console.widgets.drivers import shares, state_of
from engine.protocols.diskqueue.config import DriverTimes
from tests.helpers.fake_queues import FakeQueues, QueueDriver, a_view, drive_queues


def test_states_in_words() -> None:
    busy, leaving, idle = a_view().drivers[1], a_view().drivers[3], a_view().drivers[4]
    assert [state_of(row)[2] for row in (busy, leaving, idle)] == ["working", "leaving", "idle"]


def test_shares_of_nothing_are_zeros() -> None:
    assert shares(DriverTimes(0, 0, 0, 0, 0)) == (("work", 0.0), ("wait", 0.0), ("block", 0.0), ("overhead", 0.0))
    assert [share for _, share in shares(DriverTimes(1, 2, 1, 0, 5))] == [25.0, 50.0, 25.0, 0.0]


def test_rows_and_shares(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right")
        line = next(line for line in driver.screen() if "18 MiB" in line)
        assert "▶ working doc-30" in line
        assert driver.shows("◇ leaving")
        assert driver.shows("3/3 · work 60 wait 30 block 10 %")

    drive_queues(scenario, tmp_path)


def test_a_stopped_stage_says_why_where_its_drivers_would_be(tmp_path: Path) -> None:
    view = a_view()
    stopped = view.stages[0]._replace(state="stopped", reason="no command \x1b")

    async def scenario(driver: QueueDriver) -> None:
        assert driver.shows("no command ·")

    drive_queues(scenario, tmp_path, FakeQueues(view._replace(stages=(stopped, *view.stages[1:]), drivers=())))
