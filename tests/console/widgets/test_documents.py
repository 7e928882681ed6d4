"""The documents of a stage as a table."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.fake_queues import QueueDriver, a_view, drive_queues


def test_rows_states_and_errors(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right")
        line = next(line for line in driver.screen() if "doc-09" in line)
        assert "× failed twice" in line and " 3 " in line and "410ms" in line and "7.0s" in line and "no good" in line
        assert driver.shows("▶ working") and driver.shows("◐ failed") and driver.shows("✓ published")
        assert driver.shows("said [/red]·")
        assert driver.shows("6 here · 43 gone on")

    drive_queues(scenario, tmp_path, size=(160, 40))


def test_the_cursor_stays_with_its_document(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        documents = driver.app.main.documents
        await driver.press("right", "down", "down")
        assert documents.cursor == "doc-25"
        view = a_view()
        fewer = view.queues[1]._replace(documents=view.queues[1].documents[3:])
        driver.lab.picture = view._replace(queues=(view.queues[0], fewer, *view.queues[2:]))
        await driver.tick()
        chosen = documents.chosen()
        assert chosen is not None and chosen.id == "doc-25"

    drive_queues(scenario, tmp_path)


def test_a_stage_without_documents_says_so(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "right")
        assert driver.shows("no documents here yet")

    drive_queues(scenario, tmp_path)
