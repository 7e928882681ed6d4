"""The states of an alert: every row of the table, and that nothing else happens."""

from __future__ import annotations

from typing import get_args

from engine.alerts.states import TABLE, On, State, after

STATES: tuple[State, ...] = get_args(State)
EVENTS: tuple[On, ...] = get_args(On)


def test_the_table() -> None:
    assert after("cleared", "over") == "pending" and after("pending", "due") == "firing"
    assert after("firing", "acknowledge") == "acknowledged" and after("acknowledged", "under") == "cleared"
    assert after("firing", "silence") == "silenced" and after("silenced", "expire") == "cleared"


def test_what_has_no_row_changes_nothing() -> None:
    for state in STATES:
        for event in EVENTS:
            assert after(state, event) == TABLE.get((state, event), state)
    assert after("silenced", "due") == "silenced" and after("acknowledged", "due") == "acknowledged"
    assert after("cleared", "due") == "cleared" and after("pending", "acknowledge") == "pending"


def test_each_state_is_reached_and_left() -> None:
    assert {state for state, _ in TABLE} == set(STATES) == set(TABLE.values())
