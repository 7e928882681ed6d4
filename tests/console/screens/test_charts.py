from __future__ import annotations

from pathlib import Path

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
