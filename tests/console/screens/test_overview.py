"""What the first screens of all sessions share."""

from __future__ import annotations

from pathlib import Path

from console.screens.overview import LAYOUTS, layout_for
from tests.helpers.fake_queues import QueueDriver, drive_queues
from tests.helpers.pilot import Driver, drive


def test_layouts() -> None:
    assert layout_for(120, 36) == "wide"
    assert layout_for(80, 24) == layout_for(200, 24) == layout_for(80, 60) == "compact"
    assert layout_for(40, 10) == layout_for(200, 10) == layout_for(1, 1) == "tiny"


def test_a_screen_has_one_layout_at_a_time_and_a_frozen_picture_says_so(tmp_path: Path) -> None:
    async def of_brokers(driver: Driver) -> None:
        await driver.press("space")
        assert driver.shows("PAUSED") and [name for name in LAYOUTS if driver.main.has_class(name)] == ["wide"]

    async def of_queues(driver: QueueDriver) -> None:
        main = driver.app.main
        await driver.press("space")
        assert driver.shows("FROZEN") and [name for name in LAYOUTS if main.has_class(name)] == ["compact"]

    drive(of_brokers, tmp_path, size=(120, 36))
    drive_queues(of_queues, tmp_path, size=(80, 24))


def test_a_large_terminal_gives_charts_and_events_room(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table, chart, events = (driver.main.query_one(f"#{name}") for name in ("workers", "backlog", "events"))
        assert chart.outer_size.width == 80 and table.outer_size.width == 120 and events.outer_size.height >= 16
        assert all(driver.shows(title) for title in (" p50 ", " rtt ", " viol"))

    drive(scenario, tmp_path, size=(200, 60))
