"""What each kind supplies, for each mode that a session may have."""

from __future__ import annotations

from typing import get_args

import pytest
from textual.screen import Screen

from console.kinds import brokers, queues
from engine.labs.lab import Mode


@pytest.mark.parametrize("kind", [brokers, queues])
def test_there_is_a_main_screen_for_every_mode_and_no_two_modes_share_one(kind: object) -> None:
    mains: dict[str, type[Screen[None]]] = kind.MAINS  # type: ignore[attr-defined]
    assert set(mains) == set(get_args(Mode))
    assert len(set(mains.values())) == len(mains)
