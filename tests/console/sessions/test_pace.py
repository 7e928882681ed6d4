from __future__ import annotations

import pytest

from console.sessions.pace import LATE, Pace


def test_real_time_is_made_up_for_within_bounds() -> None:
    pace = Pace()
    assert pace.hertz == 4.0
    assert [pace.passed(at) for at in (5.0, 5.25, 5.5, 90.0)] == [0.0, 0.25, 0.25, LATE]
    assert pace.hertz == pytest.approx(3 / 85.0)
