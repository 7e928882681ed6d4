"""Rows that were walked, and rows that never were."""

from __future__ import annotations

from typing import get_args

import pytest

from engine.catalogue import SYSTEMS
from engine.sim.explore.coverage import Coverage, Rows, summed
from engine.sim.explore.model import Model
from engine.sim.explore.scene import Fault
from engine.sim.explore.walk import Walk
from tests.engine.sim.explore.scenes import scene


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_row_is_walked_or_never(name: str) -> None:
    model = Model(scene(name))
    coverage = Coverage(model)
    Walk(model).run()
    maps = [one for one in SYSTEMS[name].explain.state_maps() if one.walked is not None]
    assert [rows.title for rows in coverage.rows()] == [one.title for one in maps]
    for one, rows in zip(maps, coverage.rows(), strict=True):
        edges = {(edge.state, edge.event) for edge in one.edges} - one.uncounted
        assert set(rows.walked) | set(rows.never) == edges and not set(rows.walked) & set(rows.never)
    assert sum(len(rows.walked) for rows in coverage.rows()) >= 3


def test_a_row_that_one_of_several_walks_reached_is_reached() -> None:
    one, two = ("idle", "PING"), ("idle", "PONG")
    walks = [[Rows("a", (one,), (two,)), Rows("b", (), (one,))], [Rows("a", (two,), (one,)), Rows("b", (), (one,))]]
    assert summed(walks) == [Rows("a", (one, two), ()), Rows("b", (), (one,))]


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.explored.unreached])
def test_every_row_is_walked_with_some_fault_or_it_is_said_why_not(name: str) -> None:
    walks = []
    for faults in [(), *((kind,) for kind in get_args(Fault))]:
        model = Model(scene(name, workers=1, tasks=1, faults=faults))
        coverage = Coverage(model)
        assert Walk(model).run().complete
        walks.append(coverage.rows())
    never = {(rows.title, *row) for rows in summed(walks) for row in rows.never}
    assert never == SYSTEMS[name].explored.unreached.keys()


def test_what_goes_wrong_walks_more_rows() -> None:
    def walked(*faults: str) -> int:
        model = Model(scene(faults=faults))
        coverage = Coverage(model)
        Walk(model).run()
        return sum(len(rows.walked) for rows in coverage.rows())

    assert walked("leave") > walked()
