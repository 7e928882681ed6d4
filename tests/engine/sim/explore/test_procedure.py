"""Two drivers that stand alike go on alike."""

from __future__ import annotations

import pytest

from engine.core import Started
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.operations import Done, List
from engine.sim.driver import config
from engine.sim.explore import documents
from engine.sim.explore.documents import Documents, walk
from engine.sim.explore.procedure import stands


@pytest.mark.parametrize("fault", ["power"])
def test_the_same_disks_are_reached_where_every_list_of_answers_is_a_state(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = Documents(1, fault)
    few = walk(merged)
    for name in ("stands", "stands_in"):
        monkeypatch.setattr(documents, name, lambda driver: ())
    apart = Documents(1, fault)
    many = walk(apart)
    assert few.wrong == many.wrong == few.bound == many.bound == ""
    assert few.progress.states < many.progress.states
    assert merged.disks == apart.disks


def started() -> tuple[Driver, Done]:
    """A driver that has settled what an earlier one left, and the answer to what it asks."""
    driver = Driver(config("src", "dst", "1"))
    asked = driver.handle(Started(), 0.0)
    while asked[-1:] != [List("src")] or driver.snapshot(0.0).phase != "taking":
        asked = driver.handle(Done(asked[-1]), 0.0)  # type: ignore[arg-type]
    return driver, Done(asked[-1])  # type: ignore[arg-type]


def test_where_a_driver_stands_is_known_once_it_has_settled_what_an_earlier_one_left() -> None:
    (driver, _), (other, answer) = started(), started()
    assert stands(driver) == stands(other) != ()
    other.handle(answer, 0.0)
    assert stands(driver) != stands(other)
