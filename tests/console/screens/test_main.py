from __future__ import annotations

from pathlib import Path

import pytest

from engine.parts.bulk import BulkSpec
from tests.helpers.fake_lab import FakeLab, FakeRun, FakeSettings
from tests.helpers.pilot import Driver, drive

PING = BulkSpec("ping", 100, 0, 10, None, 5.0)
DATA = BulkSpec("data", 100, 1024, 100, None, 5.0)


PANELS = ("workers", "backlog", "latency", "events", "bulk runs")


@pytest.mark.parametrize(
    ("size", "shown"),
    [((120, 36), PANELS), ((150, 42), PANELS), ((80, 24), ("workers", "backlog", "bulk runs")), ((40, 10), ())],
)
def test_panels_of_each_layout(tmp_path: Path, size: tuple[int, int], shown: tuple[str, ...]) -> None:
    async def scenario(driver: Driver) -> None:
        titles = [panel for panel in PANELS if driver.shows(f"╭─ {panel} ")]
        assert titles == list(shown)
        assert driver.shows("osprey-01") or size[1] < 30
        assert driver.shows("● ready")

    drive(scenario, tmp_path, size=size)


def test_resizing_never_crashes(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for size in ((1, 1), (2, 3), (40, 10), (300, 5), (20, 100), (80, 24), (109, 29), (400, 120), (120, 36)):
            await driver.pilot.resize_terminal(*size)
            await driver.tick()
            assert len(driver.screen()) == size[1]
        assert driver.shows("bulk runs")

    drive(scenario, tmp_path)


def test_one_key_is_one_order(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for key, order in (
            ("p", ("run", PING)),
            ("d", ("run", DATA._replace(n=2000, in_flight=2000))),
            ("x", ("stop_run",)),
            ("plus", ("add_workers", 1)),
            ("equals_sign", ("add_workers", 1)),
            ("minus", ("remove_workers", 1)),
            ("P", ("choose_lane", "packed")),
        ):
            await driver.press(key)
            assert driver.lab.orders == [order]
            driver.lab.orders.clear()

    drive(scenario, tmp_path)


def test_one_word_is_one_order(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for line, order in (
            ("register", ("register",)),
            ("deregister", ("deregister",)),
            ("bulk", ("bulk",)),
            ("endbulk", ("endbulk",)),
            ("ping", ("ping", False)),
            ("pingt", ("ping", True)),
            ("data", ("run", BulkSpec("data", 1, 1024, timeout=5.0))),
            ("bulkping 100", ("run", PING)),
            ("bulkdata 100", ("run", DATA)),
            ("bulkping 1,000", ("run", PING._replace(n=1000))),
            ("bulkping 9 3 2.5 --timeout 1", ("run", BulkSpec("ping", 9, 0, 3, 2.5, 1.0))),
            ("bulkdata 5 --bytes 64", ("run", BulkSpec("data", 5, 64, 5, None, 5.0))),
            ("lane packed", ("choose_lane", "packed")),
            ("lane seed", ("choose_lane", "seed")),
            ("stop", ("stop_run",)),
        ):
            await driver.command(line)
            assert driver.lab.orders == [order]
            driver.lab.orders.clear()

    drive(scenario, tmp_path)


def test_runs_are_as_the_configuration_says(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("d")
        assert driver.lab.orders == [("run", BulkSpec("data", 7, 99, 3, None, 1.5))]

    drive(
        scenario,
        tmp_path,
        settings=FakeSettings(tmp_path, run=FakeRun(data_count=7, data_in_flight=3, timeout=1.5, bytes=99)),
    )


def test_an_unknown_word_is_named_and_nothing_is_ordered(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("bulkpong 100")
        assert driver.notice == "× unknown command 'bulkpong' · did you mean bulkping or bulk or endbulk?"
        await driver.command("sort nonsense")
        assert driver.notice.startswith("× no column 'nonsense' · there are worker, slots")
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_the_words_of_the_console(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        await driver.command("sort rate")
        assert table.sort_column is not None and (table.sort_column.id, table.reverse) == ("rate", True)
        await driver.command("sort rate")
        assert not table.reverse
        await driver.command("filter !tern")
        assert len(table.shown) == 15
        await driver.command("filter (")
        assert driver.notice.startswith("× filter '('") and len(table.shown) == 15
        await driver.command("filter")
        assert len(table.shown) == 16
        await driver.command("theme paper")
        assert driver.app.theme == "paper"
        await driver.command("theme nonsense")
        assert driver.notice.startswith("× no theme 'nonsense' · there are contrast")
        assert driver.app.theme == "paper"
        await driver.command("quit")
        await driver.press("y")
        assert not driver.app.is_running
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_a_filter_works_while_it_is_typed_and_half_an_expression_changes_nothing(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.type("/tern")
        assert len(driver.main.table.shown) == 1
        await driver.type("(")
        assert len(driver.main.table.shown) == 1
        await driver.press("enter")
        assert driver.notice.startswith("× filter 'tern('")
        await driver.press("escape")
        assert len(driver.main.table.shown) == 16
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_pause_freezes_the_picture_and_scrolling_goes_on(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("space")
        before = driver.screen()
        for _ in range(3):
            await driver.tick()
        assert driver.screen() == before
        assert driver.shows("● PAUSED")
        await driver.press("G")
        assert driver.screen() != before
        assert driver.main.table.cursor == driver.main.table.shown[-1].worker.key
        await driver.press("space")
        await driver.tick()
        assert not driver.shows("PAUSED")
        assert driver.lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(100))


def test_read_only_refuses_what_destroys(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for keys in (["x"], ["minus"], ["down", "ctrl+k"]):
            await driver.press(*keys)
            assert driver.notice == "× refused: this console is read-only (--readonly)"
            assert driver.app.screen is driver.main
            await driver.press("escape")
        for line in ("endbulk", "deregister", "stop"):
            await driver.command(line)
            assert driver.notice.startswith("× refused")
        assert driver.lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(16, readonly=True))


def test_what_the_lab_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.refusal = "a run is going on: stop it first [/b]"
        await driver.press("p")
        assert driver.notice == "× a run is going on: stop it first [/b]"
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_without_workers_there_is_nothing_to_stop_or_to_look_at(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("ctrl+k")
        assert driver.notice == "! there is no worker to stop"
        await driver.press("enter")
        assert driver.notice == "! there is no worker to look at"
        assert driver.lab.orders == []

    drive(scenario, tmp_path, lab=FakeLab(0, busy=False))
