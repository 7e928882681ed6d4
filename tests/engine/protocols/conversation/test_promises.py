"""The times follow the settings."""

from __future__ import annotations

from engine.parts.promise import Times
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.promises import times


def test_times_of_the_settings() -> None:
    assert times(Options()) == Times(kept=1.5, lost=3.0, back=6.0, repair=9.0)
    assert times(Options(heartbeat=2.0, expiry=8.0)) == Times(5.0, 8.0, 14.0, 22.0)
