from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from console.pictures.rows import Shown, natural
from console.widgets.ink import cells
from console.widgets.workers import COLUMNS, STATES, gauge, squares
from engine.core import NEVER
from engine.parts.view import WorkerRow
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def text(parts: list[tuple[str, str]]) -> str:
    return "".join(part for part, _ in parts)


def test_slots_are_squares() -> None:
    assert text(squares(2, 4, 8)) == "■■□□    "
    assert text(squares(0, 8, 8)) == "□□□□□□□□"
    assert text(squares(1, 100, 8)) == "■□□□□□□□"
    assert text(squares(100, 100, 8)) == "■■■■■■■■"
    assert text(squares(0, 0, 3)) == "   "


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 20))
def test_squares_take_what_they_are_given(taken: int, total: int, width: int) -> None:
    assert cells(squares(taken, total, width)) == width


@given(st.floats(-10, 10), st.integers(1, 20))
def test_a_gauge_takes_what_it_is_given(left: float, width: int) -> None:
    assert cells(gauge(left, width, "good")) == width


def test_a_gauge_drains() -> None:
    assert [text(gauge(left, 4, "good")) for left in (1, 0.5, 0)] == ["━━━━", "━━──", "────"]


HOSTILE = "\x1b[2J\u202e[@click=app.quit]x[/red]"


@given(
    st.sampled_from(sorted(STATES)),
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.floats(0, 1e9),
    st.sampled_from([NEVER, 5.0, -1.0]),
)
def test_every_cell_has_exactly_its_width(state: str, n: int, slots: int, heard: float, lost_at: float) -> None:
    worker = WorkerRow(b"\xff", HOSTILE, state, slots, slots // 2, n, n, n, n, 0.0, heard, lost_at, n / 1e6)  # type: ignore[arg-type]
    row = Shown(worker, "a·b", float(n), natural("a"))
    for column in COLUMNS:
        for width in {column.width, column.stretch or column.width}:
            parts = column.draw(row, 10.0, width)
            assert cells(parts) == width, column.id
            assert text(parts).isprintable()


def test_each_state_has_its_glyph_and_its_word(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        for place, state in enumerate(STATES):
            lab.replace(place, state=state)
        lab.publish()
        lab.at += 0.1
        lab.publish()
        driver.app.tick()
        await driver.pilot.pause()
        for state, (glyph, _) in STATES.items():
            assert driver.shows(f"{glyph} {state}")

    drive(scenario, tmp_path, lab=FakeLab(6, busy=False))


def test_a_hostile_name_steers_nothing(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.replace(0, key=b"\x1b[2J", name=HOSTILE)
        await driver.tick()
        assert driver.shows("[@click=app.quit]x[/red]") or driver.shows("click=app.quit]x[/red]")
        assert all(line.isprintable() for line in driver.screen())
        await driver.pilot.click("#workers", offset=(5, 2))
        await driver.press("enter")
        assert driver.app.is_running
        assert driver.shows("1b5b324a")

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False), size=(170, 42))


def test_the_title_counts_what_is_shown(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.shows("1,000 · by worker ▴")
        await driver.type("/^tern")
        await driver.press("enter")
        assert driver.shows("63 of 1,000 · by worker ▴ · /^tern")
        await driver.press("escape")
        assert driver.shows("1,000 · by worker ▴")
        assert driver.lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(1000))


def test_a_filter_searches_names_states_and_ids_marks_what_is_wrong_and_shows_what_it_found(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.type("/zzz")
        assert driver.shows("no worker matches") and not driver.shows("no workers")
        await driver.press("escape")
        await driver.type("/7465726e")  # tern, in hexadecimal
        assert [row.label for row in table.shown] == ["tern-01"]
        await driver.press("escape")
        await driver.type("/tern(")
        assert driver.shows("missing ), unterminated subpattern") and len(table.shown) == 1
        await driver.press("backspace")
        assert not driver.shows("missing )")
        await driver.press("enter")
        (line,) = [
            strip for strip in driver.app.screen._compositor.render_strips(driver.app.size) if "tern-01" in strip.text
        ]
        assert [part.text for part in line if part.style and part.style.underline] == ["tern"]
        await driver.press("escape")
        await driver.type("/!lost")
        await driver.press("enter")
        assert {row.worker.state for row in table.shown} >= {"late", "drain"}
        assert "lost" not in {row.worker.state for row in table.shown}

    drive(scenario, tmp_path)


def test_the_table_shows_the_order_of_the_broker_and_who_is_next(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        lab = driver.lab
        keys = [worker.key for worker in lab.workers]
        lab.at += 0.1
        lab.publish()
        broker = lab.feed.pictures["broker"]
        lab.at += 0.1
        lab.feed.show("broker", broker._replace(at=lab.at, order=(keys[2], keys[0])))
        driver.app.tick()
        await driver.type(":sort order")
        await driver.press("enter")
        places = [line.split("●")[0].split()[-1] for line in driver.screen() if "● ready" in line]
        assert places[:3] == ["next", "2", "·"]

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False), size=(80, 24))


def test_workers_of_one_pool_stand_together_on_a_key(tmp_path: Path) -> None:
    pools = {}

    async def scenario(driver: Driver) -> None:
        await driver.press("o")
        rows = [line.split()[1:3] for line in driver.screen() if "● ready" in line]
        assert rows == [["tern-01", "–"], ["badger-01", "slow"], ["otter-01", "slow"], ["kestrel-01", "elsewhere"]]
        await driver.type(":sort pool")
        await driver.press("enter", "o")
        assert not driver.shows("elsewhere")
        assert [line.split()[1] for line in driver.screen() if "● ready" in line][1] == "kestrel-01"

    lab = FakeLab(4, busy=False)
    pools.update({lab.workers[0].key: "", lab.workers[2].key: "slow", lab.workers[3].key: "slow"})
    lab.pool_of = pools.get  # type: ignore[method-assign,assignment]
    drive(scenario, tmp_path, lab=lab)


def test_a_mark_stays_with_its_worker_and_goes_with_it(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table, lab = driver.main.table, driver.lab
        first, second = lab.workers[0].key, lab.workers[1].key
        assert table.picked() == [table.chosen()], "without a mark it is the chosen one"
        for key in (first, second):
            table.cursor = key
            await driver.press("m")
        await driver.press("s", "S")
        driver.main.perform_filter("kestrel")
        await driver.tick()
        assert table.marks == {first, second} and driver.shows("· 2 marked")
        assert len(table.picked()) == 2, "the filter hides one, and it is meant all the same"
        driver.main.perform_filter("")
        table.cursor = second
        await driver.press("m")
        assert table.marks == {first} and driver.shows("· 1 marked")
        await driver.press("m")
        del lab.workers[0]
        await driver.tick()
        assert table.marks == {second}
        driver.main.perform_filter("kestrel")
        await driver.press("escape")
        assert driver.shows("· /kestrel") and not driver.shows("marked")
        await driver.press("escape")
        assert not driver.shows("· /kestrel") and lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(4, busy=False))


def test_a_mark_is_seen(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        before = "\n".join(driver.screen()).count("◆")
        driver.main.table.cursor = driver.lab.workers[0].key
        await driver.press("m")
        assert any("◆tern-01" in line for line in driver.screen())
        assert "\n".join(driver.screen()).count("◆") == before + 1
        await driver.press("m")
        assert "\n".join(driver.screen()).count("◆") == before

    async def nobody(driver: Driver) -> None:
        await driver.press("m")
        assert driver.notice == "! there is no worker to mark"

    drive(scenario, tmp_path, lab=FakeLab(4, busy=False))
    drive(nobody, tmp_path, lab=FakeLab(0, busy=False))
