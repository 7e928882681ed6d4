"""A move is a value."""

from __future__ import annotations

from typing import get_args

from engine.sim.explore.moves import FAULTS, Move
from engine.sim.explore.scene import Fault


def test_faults_are_those_that_a_scene_may_name() -> None:
    assert set(get_args(Fault)) == FAULTS


def test_a_move_is_known_by_what_it_says() -> None:
    assert Move("wake", 1) == Move("wake", 1, 0) != Move("wake", 2)
    assert Move("tick").kind not in FAULTS  # the clock that goes on is not a clock that is wrong
