from __future__ import annotations

from pathlib import Path

from console.widgets.pager import Pager
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def test_it_stays_at_the_end_unless_somebody_scrolled_away(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        events = driver.main.query_one("#events", Pager)
        for i in range(40):
            driver.lab.fact(f"fact {i}")
        await driver.tick()
        assert driver.shows("fact 39") and not driver.shows("fact 5 ")
        driver.main.set_focus(events)
        await driver.scroll("home")
        assert events.scroll_offset.y == 0 and driver.shows("broker listens")
        driver.lab.fact("fact 40")
        await driver.tick()
        assert events.scroll_offset.y == 0 and not driver.shows("fact 40")
        await driver.scroll("end")
        driver.lab.fact("fact 41")
        await driver.tick()
        assert driver.shows("fact 41")

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_nothing_of_the_help_is_cut_on_the_narrowest_terminal_and_it_flows_back_on_a_wider_one(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("question_mark")
        assert driver.shows("                    something would end ")
        assert driver.shows(" (OSC 52) ")
        await driver.pilot.resize_terminal(120, 36)
        assert driver.shows("copy the selected text, row or page to the clipboard of the terminal (OSC 52)")

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False), size=(80, 24))
