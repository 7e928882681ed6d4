from __future__ import annotations

from pathlib import Path

from engine.core import NEVER
from engine.parts.view import WorkerView
from tests.helpers.fake_lab import FakeLab, FakeLabs
from tests.helpers.pilot import Driver, drive


def labs() -> FakeLabs:
    lab = FakeLab(4, busy=False, system="pingpong")
    for place, (state, judge) in enumerate(
        (("ready", "PING"), ("busy", "deadline"), ("silent", "deadline"), ("lost", "nothing"))
    ):
        lost_at = NEVER if state == "lost" else lab.at + 2.75
        lab.replace(place, state=state, lost_at=lost_at, heard=lab.at - 0.25, terms=(("judged by", judge),))
    terms = (("broker", "quiet"), ("timeouts", "1 of 3"), ("reopens in", "1.7 s"))
    lab.seats = {lab.workers[0].key: "tern-01"}
    lab.feed.show("pool", {"tern-01": WorkerView(lab.at, "ready", 1, 0, 0, lab.at - 1.3, terms, True)})
    lab.publish()
    return FakeLabs(lab)


def test_both_views_of_each_other(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick(0.0)
        lines = [line for line in driver.screen() if "-0" in line]
        assert "● ready" in lines[0] and "by PING" in lines[0]
        assert "⇄ 1.7s" in lines[0] and "─╺━" in lines[0] and "◌ quiet" in lines[0]
        assert "heard 1.3s ago · timeouts 1 of 3" in lines[0]
        assert "● busy" in lines[1] and "by deadline" in lines[1] and "elsewhere" in lines[1]
        assert "◌ silent" in lines[2] and "○ lost" in lines[3]
        assert driver.lab.orders == []

    drive(scenario, tmp_path, labs=labs())


def test_a_worker_is_one_line_on_the_narrowest_terminal_too(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick(0.0)
        lines = [line for line in driver.screen() if "-0" in line]
        assert driver.shows("as it sees the broker · timeouts")
        assert "● ready" in lines[0] and "◌ quiet" in lines[0] and "1 of 3 · reopens in 1.7 s" in lines[0]
        assert "kestrel" in lines[1] and "heard" not in lines[0] and "by PING" not in lines[0]

    drive(scenario, tmp_path, labs=labs(), size=(80, 24))


def test_the_table_counts_down_and_says_by_what_a_worker_is_judged(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        (head,) = [line for line in driver.screen() if "worker▴" in line]
        assert "lost in" in head and "judged by" in head and "rtt" not in head
        assert driver.shows("deadline  ● busy") and driver.shows("◌ silent") and driver.shows("○ lost")

    drive(scenario, tmp_path, labs=labs())


def test_the_ready_queue_is_a_list_in_its_order(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        lab.at += 0.1
        broker = lab.feed.pictures["broker"]
        order = (lab.workers[2].key, lab.workers[0].key)
        lab.feed.show("broker", broker._replace(at=lab.at, order=order))
        await driver.press("v")
        driver.app.tick()
        await driver.pilot.pause()
        names = [driver.main.name_of(key) for key in order]
        assert driver.shows("ready queue  the first gets the next task")
        assert driver.shows(f"1 {names[0]}  next") and driver.shows(f"2 {names[1]}")

    drive(scenario, tmp_path, labs=labs())
