from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from console.widgets.flow import lane, spark, speed
from console.widgets.ink import cells
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def text(parts: list[tuple[str, str]]) -> str:
    return "".join(part for part, _ in parts)


def test_dashes_stand_still_at_nothing_and_move_with_the_rate() -> None:
    assert [speed(rate) for rate in (0, 1, 100, 100_000)] == [0, 1, 2, 4]
    assert text(lane(0, 0, 20, True)) == text(lane(0, 7, 20, True)) == "─────── 0/s ───────▶"
    assert text(lane(50, 0, 20, True)) != text(lane(50, 2, 20, True))
    assert text(lane(8980, 0, 20, False)).startswith("◀")
    assert " 8.98k/s " in text(lane(8980, 0, 20, False))


@given(st.floats(0, 1e9), st.integers(0, 100), st.integers(1, 60), st.booleans())
def test_a_lane_takes_what_it_is_given(rate: float, phase: int, width: int, forward: bool) -> None:
    assert cells(lane(rate, phase, width, forward)) == width


def test_a_spark_keeps_its_peak() -> None:
    assert spark((0, 0), 4) == "▁▁▁▁"
    assert spark((0, 0, 8, 0, 0, 0, 4, 0), 4) == "▁█▁▄"
    assert spark((1,), 3) == "▁▁█"


def test_boxes_and_lanes(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.tick()
        lines = driver.screen()[1:5]
        assert all(word in lines[0] for word in ("─ client ─", "─ broker ─", "─ workers ─"))
        assert "bulkping window 256" in lines[1] and "backlog" in lines[1] and "● 13 ◐ 1 ○ 1 ◇ 1" in lines[1]
        assert "in flight" in lines[2] and "slots" in lines[2] and "/140" in lines[2]
        assert "▶" in lines[1] and "◀" in lines[2]
        assert all(len(line) == 120 for line in lines)

    drive(scenario, tmp_path)


def test_one_line_where_there_is_little_room(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.tick()
        line = driver.screen()[1]
        assert all(word in line for word in ("client", "k/s", "broker", "queued", "workers 16", "● 13"))

    drive(scenario, tmp_path, size=(80, 24))


def test_before_the_first_run(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.shows("idle") and driver.shows("linked") and driver.shows(" 0/s ")

    drive(scenario, tmp_path, lab=FakeLab(10, busy=False))
