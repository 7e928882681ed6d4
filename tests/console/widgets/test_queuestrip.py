"""The pipeline as one picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.widgets.queuestrip import QueueStrip, arrow, brief
from engine.protocols.diskqueue.pipeline import Counts, PipelineView, QueueRow, StageRow, StageState
from tests.helpers.fake_queues import TIMES, FakeQueues, QueueDriver, a_view, drive_queues


def drawn(driver: QueueDriver) -> list[str]:
    strip = driver.app.main.query_one(QueueStrip)
    return [strip.text for strip in strip.draw(*strip.size)]


def test_queues_side_by_side_and_their_drivers_as_arrows(tmp_path: Path) -> None:
    async def scenario(driver: QueueDriver) -> None:
        top, _, ready, working, failed, twice, bottom = drawn(driver)
        assert [word for word in top.split() if word.isalpha()] == ["start", "values", "parse", "output"]
        assert ready.split("│")[1::2] == [
            " ● ready     12 ",
            " ● ready      2 ",
            " ● ready      0 ",
            " ✓ ready     43 ",
        ]
        assert "▶ working    2" in working and "◐ failed     1" in failed and "× twice      1" in twice
        assert "━ 2 " in working and "━▶" in working and "─ 4 ╌" in twice, "one works, one leaves"
        assert bottom.count("╰") == 4
        assert all(len(line) == 120 for line in drawn(driver))

    drive_queues(scenario, tmp_path)


def test_arrows_move_with_work_only() -> None:
    busy, idle = a_view().drivers[1], a_view().drivers[4]
    frames = {"".join(text for text, _ in arrow(busy, phase, 16)) for phase in range(12)}
    assert len(frames) > 3 and all(len(frame) == 16 and frame.endswith("▶") for frame in frames)
    assert arrow(idle, 0, 16) == arrow(idle, 5, 16)
    assert "".join(text for text, _ in arrow(None, 0, 10)) == "··" + " " * 8


def test_counts_take_no_more_room_than_there_is() -> None:
    assert [brief(n, 4) for n in (0, 999, 12_345, 123_456, 1_234_567)] == ["0", "999", "12k", "123k", "1.2M"]
    assert (brief(12_345, 6), brief(12_345, 5)) == ("12,345", "12.3k")


def test_a_stage_in_trouble_says_so_in_words_and_a_done_queue_too(tmp_path: Path) -> None:
    view = a_view()
    stages = (
        view.stages[0]._replace(state="done"),
        view.stages[1]._replace(state="stopped"),
        view.stages[2]._replace(state="paused"),
    )
    queues = (
        view.queues[0]._replace(counts=Counts(done=True)),
        view.queues[1]._replace(trouble="Permission denied"),
        *view.queues[2:],
    )

    async def scenario(driver: QueueDriver) -> None:
        lines = "\n".join(drawn(driver))
        assert all(word in lines for word in ("✓ done", "× stopped", "◇ paused", "Permission d", " ✓ ╮"))

    drive_queues(scenario, tmp_path, FakeQueues(a_view(stages=stages, queues=queues)))


def test_a_stage_says_in_a_whole_word_how_it_is_where_there_is_little_room(tmp_path: Path) -> None:
    words: tuple[StageState, ...] = ("done", "stopped", "paused")
    stages = tuple(row._replace(state=state) for row, state in zip(a_view().stages, words, strict=True))

    async def scenario(driver: QueueDriver) -> None:
        lines = "\n".join(drawn(driver))
        assert all(word in lines for word in words)
        assert all(len(line) == 80 for line in drawn(driver))

    drive_queues(scenario, tmp_path, FakeQueues(a_view(stages=stages)), size=(80, 24))


def many(count: int) -> PipelineView:
    stages = tuple(StageRow(f"s{n}", "running", "", 9, 0, 0, 0, 0.0, TIMES) for n in range(count))
    queues = tuple(QueueRow(f"s{n}", "", Counts(ready=1_234_567)) for n in range(-1, count))
    return a_view(stages=stages, queues=queues, drivers=(), documents=())


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 10)])
def test_of_many_queues_those_around_the_chosen_stage_are_shown(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: QueueDriver) -> None:
        assert "s0" in "\n".join(drawn(driver)) and "s19" not in "\n".join(drawn(driver))
        await driver.press(*["right"] * 19)
        text = "\n".join(drawn(driver))
        assert "s19" in text and "s0 " not in text
        assert "1,234,567" in text or "1.2M" in text or "1.23M" in text
        assert all(len(line) == size[0] for line in drawn(driver))
        if size[0] > 40:
            assert "+" in text and "┊" in text

    drive_queues(scenario, tmp_path, FakeQueues(many(20)), size=size)
