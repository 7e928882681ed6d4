"""Minutes as figures of charts."""

from __future__ import annotations

from console.pictures.minutes import course
from engine.files.minutes import Minute


def test_a_minute_holds_until_its_end_and_between_two_nothing_ran() -> None:
    minutes = [Minute(100, 60, 600, 0, 7, 900, 1, 2), Minute(101, 30, 30), Minute(105, 10, 10, backlog=3)]
    found = course(minutes, now=1000.0, wall=105 * 60.0 + 15)  # in the minute 105
    begins = 1000.0 - 15 - 300
    assert found["throughput"] == [(begins, 0), (begins + 60, 10), (begins + 120, 1), (begins + 300, 0), (1000.0, 1)]
    assert found["backlog"][1] == (begins + 60, 7) and found["backlog"][-1] == (1000.0, 3)
    assert found["latency"][1][1] == 900 and found["lost"][1][1] == 2


def test_after_the_last_one_nothing_ran_until_now() -> None:
    assert course([Minute(100, 60, 60)], 1000.0, 200 * 60.0)["throughput"][-1] == (1000.0, 0)
    assert course([], 1000.0, 0.0) == {"throughput": [], "backlog": [], "latency": [], "lost": []}
