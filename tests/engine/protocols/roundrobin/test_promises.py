"""The times follow the settings."""

from __future__ import annotations

from engine.parts.promise import Times
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.promises import times


def test_times_of_the_settings() -> None:
    assert times(Options()) == Times(kept=1.5, lost=3.0, back=5.0, repair=65.0)
    assert times(Options(heartbeat=1.0, expiry=4.0, task_deadline=20.0)) == Times(2.5, 4.0, 6.0, 26.0)
