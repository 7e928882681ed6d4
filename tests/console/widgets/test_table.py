from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from console.pictures.rows import Listed, Shown
from console.text import fit
from console.widgets.table import Column, Table, choose
from console.widgets.workers import COLUMNS, Workers
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive

Row = tuple[str, int]


def column(name: str, width: int, need: int, stretch: int = 0) -> Column[Row]:
    return Column(name, name, width, lambda row: row, lambda row, _, w: [(fit(name, w), "text")], need, stretch=stretch)


def test_the_least_needed_columns_go_first() -> None:
    columns = [column("a", 10, 9), column("b", 5, 1), column("c", 5, 2)]
    assert [c.id for c, _ in choose(columns, 22)] == ["a", "b", "c"]
    assert [c.id for c, _ in choose(columns, 21)] == ["a", "c"]
    assert [c.id for c, _ in choose(columns, 15)] == ["a"]
    assert choose(columns, 4) == [(columns[0], 4)]


def test_a_title_is_spelled_out_where_there_is_room() -> None:
    wide = column("in flight", 4, 9)._replace(short="infl")
    assert [wide.titled(cells) for cells in (4, 8, 9, 20)] == ["infl", "infl", "in flight", "in flight"]
    assert column("rate", 2, 9).titled(2) == "rate"


def test_what_is_left_over_goes_to_who_stretches() -> None:
    columns = [column("a", 4, 9, stretch=6), column("b", 4, 8, stretch=20)]
    assert [width for _, width in choose(columns, 15)] == [6, 8]


@given(st.integers(1, 200))
def test_columns_never_take_more_than_there_is(width: int) -> None:
    chosen = choose(COLUMNS, width)
    assert sum(cells + 1 for _, cells in chosen) - 1 <= width
    assert chosen


def order(driver: Driver) -> list[str]:
    return [row.label for row in driver.main.table.shown]


def test_sorting_by_key_and_by_header(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        assert order(driver) == sorted(order(driver))
        await driver.press("s", "s", "s")
        assert table.sort_column is not None and table.sort_column.id == "done" and table.reverse
        done = [row.worker.done for row in table.shown]
        assert done == sorted(done, reverse=True)
        await driver.press("S")
        assert [row.worker.done for row in table.shown] == sorted(done)
        await driver.pilot.click("#workers", offset=(4, 1))
        assert order(driver) == sorted(order(driver))
        await driver.pilot.click("#workers", offset=(4, 1))
        assert order(driver) == sorted(order(driver), reverse=True)
        assert driver.shows("worker▾")

    drive(scenario, tmp_path)


def test_the_cursor_stays_with_its_row_through_sorting_joining_and_leaving(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table, lab = driver.main.table, driver.lab
        await driver.press("down", "down", "down")
        chosen = table.chosen()
        assert chosen is not None
        for key in ("s", "s", "S", "s", "s"):
            await driver.press(key)
            assert table.cursor == chosen.worker.key
        lab.workers.insert(0, lab.workers[0]._replace(key=b"new", name="aaa-00"))
        await driver.tick()
        assert "aaa-00" in order(driver)
        assert table.cursor == chosen.worker.key
        gone = [worker for worker in lab.workers if worker.key != chosen.worker.key]
        lab.workers[:] = gone
        await driver.tick()
        assert table.cursor is not None and table.cursor != chosen.worker.key
        lab.workers.clear()
        await driver.tick()
        assert table.cursor is None
        assert driver.shows("no workers")
        assert lab.orders == []

    drive(scenario, tmp_path)


def test_before_anybody_chose_the_view_shows_the_top(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.press("s", "s", "s", "s")
        for _ in range(5):
            await driver.tick()
        assert table.cursor is None
        assert table.scroll_offset.y == 0

    drive(scenario, tmp_path, lab=FakeLab(1000))


def test_the_view_stays_with_a_chosen_row_that_moves(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.press("pagedown", "pagedown", "down")
        chosen = table.chosen()
        assert chosen is not None
        line = table.shown.index(chosen) - table.scroll_offset.y
        await driver.press("s", "s", "s", "s")
        for _ in range(5):
            await driver.tick()
            place = next(i for i, row in enumerate(table.shown) if row.worker.key == chosen.worker.key)
            height = table.size.height - 1
            top = table.scroll_offset.y
            assert top <= place < top + height
            assert place - top == line or top in (0, len(table.shown) - height)
        await driver.press("escape")
        assert table.cursor is None
        assert table.scroll_offset.y == 0

    drive(scenario, tmp_path, lab=FakeLab(1000))


def test_ends_and_pages(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.press("G")
        assert table.cursor == table.shown[-1].worker.key
        assert driver.shows(table.shown[-1].label)
        await driver.press("pageup")
        assert table.cursor != table.shown[-1].worker.key
        await driver.press("g")
        assert table.cursor == table.shown[0].worker.key

    drive(scenario, tmp_path, lab=FakeLab(100))


def test_equal_rows_do_not_swap(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("s", "s", "s", "s", "s")
        before = order(driver)
        for _ in range(3):
            await driver.tick()
        assert order(driver) == before
        assert driver.main.table.sort_column is not None and driver.main.table.sort_column.id == "fail"

    drive(scenario, tmp_path, lab=FakeLab(40, busy=False))


def test_a_double_click_opens_the_row_under_the_mouse(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.pilot.click("#workers", offset=(4, 4), times=2)
        await driver.pilot.pause()
        wanted = driver.main.table.shown[2].worker.key
        assert driver.lab.orders == [("inspect", wanted)]

    drive(scenario, tmp_path)


@pytest.mark.parametrize("n", [1000, 10_000])
def test_only_visible_rows_are_drawn(tmp_path: Path, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    made: list[int] = []
    name, make = COLUMNS[0], Listed._make

    def making(rows: Listed, at: int) -> Shown:
        made.append(at)
        return make(rows, at)

    monkeypatch.setattr(Listed, "_make", making)

    def counting(row: object, now: float, cells: int) -> list[tuple[str, str]]:
        drawn.append(row)
        return [(" " * cells, "text")]

    async def scenario(driver: Driver) -> None:
        table = driver.main.query_one(Workers)
        table.columns = (name._replace(draw=counting), *COLUMNS[1:])
        for place, worker in enumerate(driver.lab.workers):
            driver.lab.replace(place, done=worker.done + 1)
        drawn.clear()
        made.clear()
        driver.lab.advance(0.25)
        driver.app.tick()
        driver.screen()
        assert 0 < len(drawn) <= table.size.height
        assert 0 < len(made) <= table.size.height, "nor is another row made, whatever the workers did"

    drive(scenario, tmp_path, lab=FakeLab(n))


def test_the_wheel_scrolls_and_leaves_the_cursor_where_it_is(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.press("down")
        chosen, top = table.cursor, table.scroll_offset.y
        for _ in range(5):
            await driver.pilot._post_mouse_events([events.MouseScrollDown], "#workers", offset=(5, 5))
        await driver.pilot.pause()
        assert table.scroll_offset.y > top and table.cursor == chosen
        for _ in range(9):
            await driver.pilot._post_mouse_events([events.MouseScrollUp], "#workers", offset=(5, 5))
        await driver.pilot.pause()
        assert table.scroll_offset.y == top

    drive(scenario, tmp_path, lab=FakeLab(200))


@pytest.mark.parametrize("sorts", [True, False])
def test_rows_that_are_replaced_stand_where_sorting_them_all_puts_them(sorts: bool) -> None:
    table: Table[tuple[int, int]] = Table([], lambda row: row[0])
    if sorts:
        table.sort_by(Column("value", "value", 5, lambda row: row[1], lambda row, _, w: []))
    pick, keys, last, rows = random.Random(3), [0, 1, 2, 3], list[int](), list[tuple[int, int]]()
    for _ in range(300):
        if pick.random() < 0.2:
            keys = pick.sample(range(6), pick.randrange(7))
            rows = []
        rows = [
            row if pick.random() < 0.5 else (row[0], pick.randrange(4)) for row in rows or [(key, 0) for key in keys]
        ]
        table.set_rows(tuple(rows))
        fresh = dict(rows)
        order = [(key, fresh.pop(key)) for key in last if key in fresh]
        expected = sorted([*order, *fresh.items()], key=lambda row: row[1]) if sorts else rows
        assert list(table.shown) == expected
        last = [key for key, _ in expected]
