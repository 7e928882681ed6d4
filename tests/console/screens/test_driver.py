"""One driver: process, times, output."""

from __future__ import annotations

from pathlib import Path

from console.screens.driver import driver_lines
from tests.helpers.fake_queues import EPOCH, QueueDriver, a_view, drive_queues


def text(lines: list[list[tuple[str, str]]]) -> str:
    return "\n".join("".join(part for part, _ in line) for line in lines)


def test_process_document_output_and_a_kill(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "tab", "enter")
        await driver.tick()
        for shown in ("driver 2 · parse", "4002", "18 MiB", "doc-30", "2 starts", "·[2Jsteers"):
            assert driver.shows(shown), shown
        driver.lab.picture = a_view(drivers=())
        await driver.tick()
        assert driver.shows("× ended")
        await driver.press("ctrl+k", "y")
        assert driver.lab.orders == [("kill_driver", "2")]

    drive_queues(scenario, tmp_path)


def test_times_have_shares_and_documents_outcomes() -> None:
    view = a_view()
    shown = text(driver_lines(view.drivers[1], EPOCH, False, list(view.documents[1:]), 40))
    words = [line.split() for line in shown.splitlines()]
    assert ["work", "6.0s", "60", "%"] in words and ["wait", "3.0s", "30", "%"] in words
    assert "✓ doc-29" in shown and "◐ doc-25" in shown and "× doc-09" in shown
    assert "up           60s" in shown


def test_a_driver_that_just_starts_has_no_numbers_yet() -> None:
    row = a_view().drivers[3]._replace(pid=0, memory=0, since=0.0, leaving=False)
    shown = text(driver_lines(row, EPOCH, False, [], 20))
    assert "○ idle" in shown and "pid          –" in shown and "memory       –" in shown
