"""The first screen of disk queues: layouts, the chosen stage, orders, a frozen picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.confirm import Confirm
from console.screens.document import DocumentScreen
from console.screens.driver import DriverScreen
from console.screens.pipeline import Pipelines
from engine.labs.health import Health
from engine.protocols.diskqueue.pipeline import Counts, Holder
from tests.helpers.fake_queues import FakeQueues, QueueDriver, a_view, drive_queues

WIDE = ("╭─ start", "╭─ documents", "╭─ drivers", "╭─ events", "╭─ stages")


@pytest.mark.parametrize(
    ("size", "shown"),
    [((120, 36), WIDE), ((160, 50), WIDE), ((80, 24), WIDE[:3]), ((40, 10), ())],
)
def test_panels_of_each_layout(tmp_path: Path, size: tuple[int, int], shown: tuple[str, ...]) -> None:
    async def scenario(driver: QueueDriver) -> None:
        assert tuple(panel for panel in WIDE if driver.shows(panel)) == shown
        assert driver.shows("● RUNNING")
        assert driver.shows("fed 62")
        assert driver.shows("? help  q quit")

    drive_queues(scenario, tmp_path, size=size)


def test_resizing_never_crashes(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        for size in ((1, 1), (2, 3), (40, 10), (300, 5), (20, 100), (80, 24), (109, 29), (400, 120), (120, 36)):
            await driver.pilot.resize_terminal(*size)
            await driver.tick()
            assert len(driver.screen()) == size[1]
        assert driver.shows("╭─ stages")

    drive_queues(scenario, tmp_path)


def test_the_tables_follow_the_chosen_stage(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        assert driver.shows("documents · start → values") and driver.shows("drivers · values")
        await driver.press("right")
        assert driver.shows("documents · values → parse") and driver.shows("drivers · parse")
        assert [row.number for row in driver.app.main.drivers.shown] == ["2", "3", "4"]
        await driver.press("right", "right", "right")
        assert driver.shows("documents · parse → output")
        await driver.press("tab", "left", "left", "left")
        assert driver.shows("▸values")

    drive_queues(scenario, tmp_path)


def test_orders_mean_the_chosen_stage(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("plus", "right", "plus", "equals_sign", "minus", "h")
        assert driver.lab.orders == [
            ("set_workers", "values", 2),
            ("set_workers", "parse", 4),
            ("set_workers", "parse", 4),
            ("set_workers", "parse", 2),
            ("pause_stage", "parse"),
        ]
        view = driver.lab.picture
        for state in ("paused", "stopped"):
            stages = (view.stages[0], view.stages[1]._replace(state=state), view.stages[2])
            driver.lab.picture = view._replace(stages=stages)
            await driver.tick()
            await driver.press("h")
            assert driver.lab.orders[-1] == ("resume_stage", "parse")

    drive_queues(scenario, tmp_path)


def test_only_what_failed_twice_is_tried_again(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("R")
        assert driver.notice == "! choose a document that failed twice"
        await driver.press("right", "down", "R")
        assert driver.lab.orders == [("retry", "values", "doc-09")]
        assert driver.notice == "✓ doc-09 is tried again"
        await driver.press("down", "R")
        assert len(driver.lab.orders) == 1

    drive_queues(scenario, tmp_path)


def test_enter_drills_down(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "down", "enter")
        shown: list[type[object]] = [type(driver.app.screen)]
        await driver.press("escape", "tab", "enter")
        shown.append(type(driver.app.screen))
        await driver.press("escape")
        assert [*shown, type(driver.app.screen)] == [DocumentScreen, DriverScreen, Pipelines]

    drive_queues(scenario, tmp_path)


def test_where_nothing_is_to_be_looked_at_that_is_told(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "right", "enter")
        assert driver.notice == "! there is no document to look at"
        await driver.press("tab", "enter")
        assert driver.notice == "! there is no driver to look at"
        await driver.press("ctrl+k")
        assert driver.notice == "! no driver of output runs"
        assert driver.lab.orders == []

    view = a_view()
    drive_queues(scenario, tmp_path, FakeQueues(view._replace(drivers=(), documents=())))


def test_space_freezes_the_picture_and_nothing_else(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("space")
        driver.lab.picture = a_view(drivers=())
        await driver.tick()
        assert driver.shows("FROZEN")
        assert [row.number for row in driver.app.main.drivers.shown] == ["1"]
        assert driver.lab.orders == []
        await driver.press("space")
        assert not driver.app.main.drivers.shown

    drive_queues(scenario, tmp_path)


def test_feeding_a_pipeline_that_exists_asks_first(tmp_path: Path) -> None:
    async def demonstration(driver: QueueDriver) -> None:
        await driver.press("p")
        assert driver.lab.orders == [("feed_some",)]

    async def existing(driver: QueueDriver) -> None:
        await driver.press("p")
        assert isinstance(driver.app.screen, Confirm)
        await driver.press("enter")
        assert driver.lab.orders == []
        await driver.press("p", "y")
        assert driver.lab.orders == [("feed_some",)]
        assert driver.shows("/srv/pipeline")

    drive_queues(demonstration, tmp_path)
    drive_queues(existing, tmp_path, FakeQueues(demonstration=False))


def test_files_are_fed_by_name_and_not_where_nothing_may_be_changed(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt", "with blank"):
        (tmp_path / name).touch()

    async def scenario(driver: QueueDriver) -> None:
        await driver.command(f"feed {tmp_path}/one.txt '{tmp_path}/with blank' nosuch")
        assert driver.notice == "✓ 3 files being fed; events tell how it went"
        await driver.command(f"feed {tmp_path}/*.txt")
        await driver.command("feed 'open")
        assert driver.notice == "× feed: No closing quotation"
        named = [f"{tmp_path}/one.txt", f"{tmp_path}/with blank", "nosuch"]
        assert driver.lab.orders == [
            ("feed_files", named),
            ("feed_files", [f"{tmp_path}/{n}.txt" for n in ("one", "two")]),
        ]

    async def readonly(driver: QueueDriver) -> None:
        driver.lab.readonly = True
        await driver.command(f"feed {tmp_path}/one.txt")
        assert driver.lab.orders == [] and "read-only" in driver.notice

    drive_queues(scenario, tmp_path)
    drive_queues(readonly, tmp_path)


def test_sorting_and_going_back(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        documents = driver.app.main.documents
        await driver.press("right", "S", "s")
        assert documents.sort_column is not None and documents.sort_column.id == "document"
        assert [row.id for row in documents.shown] == sorted(row.id for row in documents.shown)
        await driver.press("S")
        assert documents.shown[0].id == max(row.id for row in documents.shown)
        await driver.press("escape")
        assert documents.shown[0].id == "doc-09"

    drive_queues(scenario, tmp_path)


def test_a_dead_thread_is_a_banner(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        driver.lab.state = Health(("watchdog: boom",), 0.0)
        await driver.tick()
        assert driver.shows("ENGINE THREAD DIED · watchdog: boom")
        assert driver.shows("FAULT")

    drive_queues(scenario, tmp_path)


def test_a_hundred_thousand_documents_are_counted_and_some_are_named(tmp_path: Path) -> None:
    view = a_view()
    named = tuple(Holder(f"doc-{n:06}", "ready", "") for n in range(100))
    full = view.queues[0]._replace(counts=Counts(ready=100_000), documents=named)

    async def scenario(driver: QueueDriver) -> None:
        assert driver.shows("100,000") and driver.shows("doc-000000")
        assert len(driver.app.main.documents.shown) == 101

    drive_queues(scenario, tmp_path, FakeQueues(view._replace(queues=(full, *view.queues[1:]))))
