"""The first line and the books."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.pictures.queuebridge import SETTLED, QueueBridge
from console.widgets.queuelines import equation
from tests.helpers.fake_queues import FakeQueues, QueueDriver, drive_queues


def books(fed: int, polls: int = 1, terse: bool = False) -> str:
    lab = FakeQueues()
    lab.documents = fed
    bridge = QueueBridge(lab)
    for step in range(polls - 1):
        bridge.poll(1000.0 + step)
    return "".join(text for text, _ in equation(bridge.poll(2000.0), terse))


def test_both_sides_and_what_others_did() -> None:
    right = "published 43 + failed twice 1 + waiting 15 + working 3"
    assert books(62) == f"fed 62 = {right}  ✓"
    assert books(65) == f"fed 65 = {right}  ~ on the move"
    assert books(65, SETTLED) == f"fed 65 = {right} + taken out by others 3  ✓"
    assert books(60, SETTLED) == f"fed 60 + by others 2 = {right}  ✓"
    assert books(62, terse=True) == "fed 62 = out 43 + twice 1 + wait 15 + work 3  ✓"


@pytest.mark.parametrize("width", [120, 80, 60, 40, 20, 3])
def test_a_narrow_line_keeps_the_state(tmp_path: Path, width: int) -> None:
    async def scenario(driver: QueueDriver) -> None:
        line = driver.screen()[0]
        assert len(line) == width
        assert width < 20 or "RUNNING" in line
        assert width < 80 or "3.4 docs/s  1 failed twice  up 1:40" in line
        assert width < 120 or "/srv/pipeline" in line

    drive_queues(scenario, tmp_path, size=(width, 24))
