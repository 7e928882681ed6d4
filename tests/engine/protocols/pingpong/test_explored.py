"""What is ignored is there, and is of the kind that changes nothing (``tests/engine/sim/explore/test_walk.py``)."""

from __future__ import annotations

from tests.engine.sim.explore.scenes import fields_are_there


def test_each_field_that_is_ignored_is_one() -> None:
    fields_are_there("pingpong")
