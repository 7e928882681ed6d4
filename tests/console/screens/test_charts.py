from __future__ import annotations

from pathlib import Path

import pytest

from engine.files.minutes import Figures, Recorder, path_of
from tests.helpers.fake_queues import EPOCH, FakeQueues, QueueDriver, drive_queues
from tests.helpers.protocols import User, on, running_sandbox


def test_four_charts_share_span_and_cursor(tmp_path: Path) -> None:
    """Tasks that ended: the throughput of then, and the latency that the broker saw of one in sixteen."""

    async def scenario(user: User) -> None:
        await user.press("H")
        for title in ("throughput · 1 min", "backlog · 1 min", "latency p99 · 1 min", "lost workers · 1 min"):
            assert user.shows(title), title
        assert user.shows("ms ┈")
        assert sum("· an hour ago – · peak" in line for line in user.screen()) == 4, "nobody has seen it"
        series = user.app.session.bridge._series["backlog"]
        for at in range(-3700, 0, 10):
            series.add(user.app.clock() + at, 777 if at < -3550 else 3)
        await user.pass_time(0.25)
        assert user.shows("· an hour ago 777 · peak")
        await user.press("left", "left")
        assert sum("▲ " in line and " ago, " in line for line in user.screen()) == 4
        await user.press("z", "end")
        assert user.shows("latency p99 · 10 min") and not user.shows(" ago, ")
        await user.press("escape")
        await user.pass_time(0.25)
        assert user.at_main and user.shows("backlog · 10 min")
        await user.command("charts")
        assert user.shows("throughput · 10 min")

    on(running_sandbox(tasks=40), scenario, tmp_path)


def test_a_pipeline_has_two_from_the_history_that_its_process_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = FakeQueues(demonstration=False)
    wall = EPOCH
    monkeypatch.setattr("console.shell.time.time", lambda: wall)
    path = path_of(tmp_path / "state" / "minutes", "diskqueue", (lab.root,))
    recorder = Recorder(path, lambda words, well: None)
    for ago, done in ((7200, 0), (7190, 6000), (3600, 6000)):
        recorder.look(wall - ago, Figures(done, 0, 700, 0, 1, 0))
    recorder.close()

    async def scenario(driver: QueueDriver) -> None:
        await driver.press("H")
        assert driver.shows("documents done · 1 min") and driver.shows("documents waiting · 1 min")
        assert not driver.shows("peak 700")
        await driver.press("z", "z", "z")
        await driver.tick()
        assert driver.shows("documents waiting · 1 day") and driver.shows("peak 700")
        await driver.press("escape")
        await driver.tick()
        assert driver.shows("╭─ documents")

    drive_queues(scenario, tmp_path, lab=lab)
