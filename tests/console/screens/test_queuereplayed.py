"""A recording of disk queues at the console: the pipeline's screen, moved both ways, and the protocol of any moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from console import keys
from tests.helpers.queue_replays import Viewer, watch


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_stepping_backwards_shows_the_same_screens_as_forwards(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(viewer: Viewer) -> None:
        await viewer.press("2")
        forwards: dict[int, list[str]] = {}
        for _ in range(8):
            await viewer.press("full_stop")
            forwards[viewer.recording.position] = viewer.still()
        assert len(forwards) == 8 and len({"\n".join(screen) for screen in forwards.values()}) > 4
        for _ in range(7):
            await viewer.press("comma")
            assert viewer.still() == forwards[viewer.recording.position]
        assert viewer.shows("✓ replayed as recorded") and viewer.shows("start") and viewer.shows("fed ")

    watch(scenario, tmp_path, size)


def test_the_ends_the_tenths_and_the_speed(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        await viewer.press("end")
        assert viewer.shows("12.0000 of 12.00 s") and viewer.shows("× failed twice     2")
        await viewer.press("full_stop")
        assert viewer.notice == "· this is the end"
        await viewer.press("home", "comma")
        assert viewer.notice == "· this is the beginning" and viewer.shows("0.0000 of 12.00 s")
        await viewer.press("right", "right", "left", "plus", "space")
        assert viewer.shows("1.0000 of") and viewer.shows("▶ ×2")
        viewer.lab[0] += 0.5  # type: ignore[index]
        viewer.app.tick()
        await viewer.pilot.pause()
        assert viewer.recording.now > 1.0
        await viewer.press("space", "5")
        assert round(viewer.recording.now, 3) == 6.0 and viewer.shows("‖ ×2")

    watch(scenario, tmp_path)


def test_the_protocol_of_a_moment(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        await viewer.press("3", "T")
        assert viewer.shows("trace · diskqueue") and viewer.shows("TAKE") and not viewer.shows("tracing costs")
        await viewer.press("L")
        assert viewer.shows("ladder · diskqueue") and viewer.shows("▶│")
        await viewer.press("C")
        assert viewer.shows("everybody has kept to the protocol")
        await viewer.press("M")
        assert viewer.shows("A document") and viewer.shows("▐ ready")
        await viewer.press("escape")
        assert viewer.app.screen is viewer.app.main

    watch(scenario, tmp_path)


def test_it_is_said_why_a_document_was_taken(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        await viewer.press("home", "w")
        assert viewer.notice == "! no document was taken lately"
        await viewer.press("3", "w")
        assert viewer.shows("why?") and viewer.shows("took d") and viewer.shows("ruling 2")
        await viewer.press("escape", "T", "w")
        assert viewer.shows("choose an operation with which a driver takes a document") or viewer.shows("why?")
        await viewer.press("slash", *"cmd=TAKE", "enter", "w")
        assert viewer.shows("why?") and viewer.shows("that could be taken")
        await viewer.press("escape")

    watch(scenario, tmp_path)


def test_stages_are_chosen_and_documents_looked_at(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        await viewer.press("end", "right_square_bracket")
        assert viewer.shows("▸output")
        await viewer.press("left_square_bracket")
        assert viewer.shows("▸parse")
        await viewer.press("down", "enter")
        assert viewer.shows("document d1") and viewer.shows("failed twice, was given up")
        await viewer.press("escape")

    watch(scenario, tmp_path)


def test_orders_are_none_of_a_recordings(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        before = viewer.still()
        await viewer.press("h", "ctrl+k", "p", "R")
        assert viewer.app.screen is viewer.app.main and viewer.still()[:-1] == before[:-1]

    watch(scenario, tmp_path)


def test_every_key_is_explained_and_none_means_two_things(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        await viewer.press("question_mark")
        text = "\n".join(viewer.screen())
        assert "on to the next new name of a document" in text and "feed twenty" not in text
        await viewer.press("escape")

    app = watch(scenario, tmp_path)
    used = [name for key in (*keys.APP, *app.offered(), *keys.SEE_QUEUES) for name in key.keys.split(",")]
    assert sorted(used) == sorted(set(used))
