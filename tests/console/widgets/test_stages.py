"""Where the time of each stage goes."""

from __future__ import annotations

from pathlib import Path

from console.widgets.stages import Stages, bar
from engine.protocols.diskqueue.config import DriverTimes
from tests.helpers.fake_queues import QueueDriver, drive_queues


def test_a_bar_is_as_long_as_it_should_be_whatever_the_shares() -> None:
    for times in (
        DriverTimes(0, 0, 0, 0, 0),
        DriverTimes(1, 1, 1, 0, 3),
        DriverTimes(0.3, 99, 0, 0.2, 3),
        DriverTimes(5, 0, 0, 0, 1),
    ):
        for width in (0, 1, 7, 40):
            assert sum(len(text) for text, _ in bar(times, width)) == width
    assert "".join(text for text, _ in bar(DriverTimes(5, 3, 2, 0, 1), 10)) == "█████░░░▓▓"


def test_two_lines_for_each_stage(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        panel = driver.app.main.query_one(Stages)
        lines = [strip.text for strip in panel.draw(*panel.size)]
        assert len(lines) == 6
        assert "▸values     ● running" in lines[0] and "4/s" in lines[0] and "122ms" in lines[0]
        assert "60 %  30 %  10 %" in lines[1]
        assert "2 died" in lines[2] and "140ms" in lines[4]
        assert len(panel.draw(panel.size.width, 2)) == 2

    drive_queues(scenario, tmp_path)
