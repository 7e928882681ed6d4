"""The times follow the settings."""

from __future__ import annotations

from engine.parts.promise import Times
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.promises import times


def test_times_of_the_settings() -> None:
    assert times(Options()) == Times(kept=1.5, lost=7.0, back=6.0, repair=13.0)
    assert times(Options(worker_expiry=2.0, probe_deadline=1.0, n_timeouts=5)) == Times(0.5, 3.0, 8.0, 11.0)
