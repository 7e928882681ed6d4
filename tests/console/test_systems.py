from __future__ import annotations

from console.screens.terms import Terms
from console.systems import VIEWS, view_of
from console.widgets.workers import COLUMNS
from engine.catalogue import SYSTEMS


def test_every_view_is_that_of_a_system() -> None:
    assert set(VIEWS) <= set(SYSTEMS)


def test_a_system_without_a_view_of_its_own_shows_its_terms() -> None:
    view = view_of("a sixth one")
    assert (view.columns, view.screen) == (COLUMNS, Terms)


def test_columns_have_names_of_their_own_and_the_state_is_last() -> None:
    for view in VIEWS.values():
        names = [column.id for column in view.columns]
        assert sorted(names) == sorted(set(names))
        assert (names[0], names[-1]) == ("worker", "state")
        assert "rtt" not in names
