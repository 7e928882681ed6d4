"""What each kind supplies, for each mode that a session may have."""

from __future__ import annotations

from typing import get_args

import pytest
from textual.screen import Screen

from console.kinds import brokers, queues
from engine.labs.lab import Mode


@pytest.mark.parametrize("kind", [brokers, queues])
def test_there_is_a_main_screen_for_every_mode_and_another_process_has_that_of_this_one(kind: object) -> None:
    mains: dict[str, type[Screen[None]]] = dict(kind.MAINS)  # type: ignore[attr-defined]
    assert set(mains) == set(get_args(Mode))
    assert mains.pop("remote") is mains["live"] and len(set(mains.values())) == len(mains)
