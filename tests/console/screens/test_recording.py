"""The bar of a recording, and how it moves by itself."""

from __future__ import annotations

from pathlib import Path

from console.sessions.replay import SPEEDS, Playing
from engine.labs.queuereplaylab import QueueReplayLab
from engine.labs.replay import Difference
from tests.helpers.queue_recordings import opened, write
from tests.helpers.queue_replays import Viewer, watch


def a_lab(tmp_path: Path) -> QueueReplayLab:
    return opened(write(tmp_path / "a.journal"))


def test_it_goes_on_as_fast_as_it_is_told_and_stops_at_the_end(tmp_path: Path) -> None:
    lab = a_lab(tmp_path)
    playing = Playing(lab)
    playing.pass_time(0.0)
    playing.pass_time(0.25)
    assert lab.now == lab.started, "it is held"
    playing.playing = True
    playing.pass_time(0.5)
    assert lab.now == 0.25
    playing.speed = SPEEDS.index(60.0)
    playing.pass_time(0.75)
    assert lab.position == lab.last and not playing.playing


def test_the_bar_says_where_it_stands_and_whether_it_was_so(tmp_path: Path) -> None:
    async def scenario(viewer: Viewer) -> None:
        lab = viewer.recording
        await viewer.press("right", "right", "right")
        first, second = viewer.screen()[:2]
        assert first.startswith(" ‖ ×1 ━") and first.rstrip().endswith(" 3.0000 of 12.00 s")
        assert "record " in second and second.rstrip().endswith("✓ replayed as recorded")
        lab.replay.differences.append(Difference(1, 2.0, "parse.1", "parse.1"))
        lab.replay.cut = "block 3 is cut"
        await viewer.press("space")
        first, second = viewer.screen()[:2]
        assert first.startswith(" ▶ ") and "× 1 differences, first 2.000 s by parse.1" in second
        assert "cut: block 3 is cut" in second
        lab.broken = "AssertionError: no"
        await viewer.press("space")
        assert "× ends where a core could not go on" in viewer.screen()[1]

    watch(scenario, tmp_path)
