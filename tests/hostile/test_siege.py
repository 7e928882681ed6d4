"""Strangers at every endpoint that a broker binds, on real sockets: it lives, counts them, and serves its own peers."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from tests.hostile.siege import GROWN, HONEST, besiege

MESSAGES = 800  # at each endpoint
CASES = [(name, False) for name in SYSTEMS] + [(name, True) for name, system in SYSTEMS.items() if system.paired]


@pytest.mark.parametrize(("name", "pair"), CASES)
def test_a_broker_lives_through_strangers_at_all_its_endpoints(name: str, pair: bool, tmp_path: Path) -> None:
    siege = besiege(name, tmp_path, seed=1, messages=MESSAGES, pair=pair)
    assert siege.troubles == ""
    assert (siege.succeeded, siege.balanced) == (HONEST, True)
    assert siege.messages >= MESSAGES and siege.refused > siege.messages / 2
    assert siege.grown < GROWN
    assert siege.right
