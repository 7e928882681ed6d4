"""State machines as tables."""

from __future__ import annotations

import copy

import pytest

from engine.parts.explain import Edge
from engine.parts.machine import Machine, Row, Tally, Walk, summed

ROWS = (
    Row("shut", "push", "none", "open", "rule 1"),
    Row("shut", "push", "ring", "shut", "rule 2", "that is locked"),
    Row("open", "pull", "none", "shut", "rule 1"),
)
DOOR = Machine(("shut", "open"), ROWS)


def test_a_step_gives_the_next_state_and_is_counted() -> None:
    walk = Walk(DOOR)
    state = walk.step("shut", "push", "that is locked")
    assert state == "shut"
    state = walk.step(walk.step(walk.step(state, "push"), "pull"), "push")
    assert state == "open"
    assert walk.walked() == ((("shut", "push"), 2), (("shut", "push that is locked"), 1), (("open", "pull"), 1))


@pytest.mark.parametrize("asked", [("open", "push", ""), ("shut", "push", "at night"), ("ajar", "pull", "")])
def test_what_has_no_row_is_our_own_mistake(asked: tuple[str, str, str]) -> None:
    walk = Walk(DOOR)
    with pytest.raises(LookupError, match="no row for"):
        walk.step(*asked)
    assert walk.walked() == ()


def test_a_map_draws_the_rows_with_their_guards() -> None:
    assert DOOR.edges == (
        Edge("shut", "push", "none", "open", "rule 1"),
        Edge("shut", "push that is locked", "ring", "shut", "rule 2"),
        Edge("open", "pull", "none", "shut", "rule 1"),
    )


def test_what_has_no_row_is_told() -> None:
    assert DOOR.events == ("push", "pull")
    assert DOOR.blank() == {"shut": ["pull"], "open": ["push"]}


def test_two_rows_for_one_thing_are_refused() -> None:
    with pytest.raises(ValueError, match="two rows"):
        Machine(("shut", "open"), (ROWS[0], ROWS[0]._replace(next="shut")))


@pytest.mark.parametrize("change", [{"state": "ajar"}, {"next": "ajar"}])
def test_a_row_of_an_unlisted_state_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not in the list"):
        Machine(("shut", "open"), (ROWS[0]._replace(**change),))


def test_copies_count_for_themselves() -> None:
    walk = Walk(DOOR)
    walk.step("shut", "push")
    other = copy.deepcopy(walk)
    other.step("shut", "push")
    assert (walk.walked(), other.walked()) == (((("shut", "push"), 1),), ((("shut", "push"), 2),))
    assert copy.deepcopy(DOOR) is DOOR


@pytest.mark.parametrize("first", [0, 1])
def test_a_core_may_hold_a_tally_and_a_copy_of_it_too(first: int) -> None:
    walk = Walk(DOOR)
    parts = (walk, walk.tally("shut", "push"))
    parts[1].times += 1
    copied = copy.deepcopy((parts[first], parts[1 - first]))
    other, tally = copied[first], copied[1 - first]
    assert isinstance(other, Walk) and isinstance(tally, Tally)
    tally.times += 1
    assert (tally.next, walk.walked(), other.walked()) == (
        "open",
        ((("shut", "push"), 1),),
        ((("shut", "push"), 2),),
    )


def test_several_walks_are_counted_together() -> None:
    one, two = ((("shut", "push"), 1),), ((("open", "pull"), 2), (("shut", "push"), 3))
    assert dict(summed((one, (), two))) == {("shut", "push"): 4, ("open", "pull"): 2}
