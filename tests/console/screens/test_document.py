"""One document: places, attempts, history, and another try."""

from __future__ import annotations

from pathlib import Path

from console.screens.document import history_lines, place_lines, wrapped
from engine.protocols.diskqueue.pipeline import DocumentRow
from tests.helpers.fake_queues import QueueDriver, a_view, drive_queues


def test_all_that_is_known_and_another_try(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "down", "enter")
        await driver.tick()
        for text in ("document doc-09", "failed twice, was given up", "its input, kept", "attempt 1 failed · driver 2"):
            assert driver.shows(text), text
        assert driver.shows("no good at all")
        await driver.press("R", "escape")
        assert driver.lab.orders == [("inspect", "doc-09"), ("retry", "values", "doc-09"), ("inspect", "")]

    drive_queues(scenario, tmp_path)


def test_what_has_not_failed_twice_is_not_tried_again(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        await driver.press("right", "down", "down", "enter")
        await driver.tick()
        assert driver.shows("in no queue") and driver.shows("none: it has not failed")
        await driver.press("R")
        assert driver.lab.orders == [("inspect", "doc-25")]
        assert driver.shows("it has not failed twice")

    drive_queues(scenario, tmp_path, size=(80, 24))


def test_until_it_was_looked_up_that_is_told() -> None:
    assert place_lines(None, 40) == [[("looking it up …", "label")]]
    assert history_lines([], 40) == [[("nothing that is remembered", "label")]]


def test_history_is_newest_first_and_errors_are_clean() -> None:
    lines = ["".join(text for text, _ in line) for line in history_lines(a_view().documents[1:4], 60)]
    assert [line[11:].split()[0] for line in lines if line[0].isdigit()] == ["parse", "parse", "parse"]
    assert "said [/red]·" in lines[1]


def test_a_long_error_is_wrapped() -> None:
    assert wrapped("", 40, "bad") == []
    parts = [line[1][0] for line in wrapped("x" * 70, 41, "bad")]
    assert parts == ["x" * 30, "x" * 30, "x" * 10]


def test_a_line_that_is_too_long_goes_on_below_and_loses_nothing() -> None:
    row = DocumentRow(0.0, "parse", "7", "doc-1", "failed_twice", 2, 1234.0, "")
    (whole,) = history_lines([row], 80)
    first, second = ("".join(text for text, _ in line) for line in history_lines([row], 50))
    text = "".join(part for part, _ in whole)
    assert text.endswith(" · attempt 2 · driver 7 · 1.2s") and text.startswith(first)
    assert second.strip() == "attempt 2 · driver 7 · 1.2s"
