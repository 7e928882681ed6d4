"""The sixth system in the catalogue, for the tests of this folder alone: its one line, and nothing else anywhere."""

from __future__ import annotations

import pytest

from engine import catalogue
from tests.sixth.mdp import SYSTEM


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a line in ``engine.catalogue`` does."""
    monkeypatch.setitem(catalogue.CATALOGUE, SYSTEM.name, SYSTEM)
    monkeypatch.setitem(catalogue.SYSTEMS, SYSTEM.name, SYSTEM)
