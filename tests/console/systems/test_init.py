from __future__ import annotations

from pathlib import Path

import pytest

import console.systems
from console.screens.terms import ProtocolScreen
from console.systems import view_of
from console.widgets.workers import COLUMNS
from engine.catalogue import SYSTEMS

FILES = sorted(path.stem for path in Path(console.systems.__file__).parent.glob("*.py") if path.stem != "__init__")


def test_every_file_is_that_of_a_system() -> None:
    assert FILES
    assert set(FILES) <= set(SYSTEMS)


def test_a_system_without_a_view_of_its_own_shows_its_terms() -> None:
    view = view_of("a sixth one")
    assert (view.columns, view.screen) == (COLUMNS, ProtocolScreen)


@pytest.mark.parametrize("name", FILES)
def test_columns_have_names_of_their_own_and_the_state_is_last(name: str) -> None:
    names = [column.id for column in view_of(name).columns]
    assert sorted(names) == sorted(set(names))
    assert (names[0], names[-1]) == ("worker", "state")
    assert ("rtt" in names) == (name == "roundrobin"), "only its broker asks its workers"
