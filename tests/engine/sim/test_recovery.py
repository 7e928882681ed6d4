"""Who recovers holds the dead driver's number; trouble makes it ask again; it may be dropped between two steps."""

from __future__ import annotations

import pytest

from engine.sim.disk import SimDisk
from engine.sim.driver import SimDriver, config
from engine.sim.recovery import SimRecovery


def test_only_the_dead_are_recovered_from() -> None:
    disk = SimDisk("a", "b")
    driver = SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")
    with pytest.raises(ValueError, match="driver 1 lives"):
        SimRecovery(disk, config("a", "b", "1"))
    driver.crash()
    assert SimRecovery(disk, config("a", "b", "1")).busy


def test_trouble_is_asked_again_and_a_dropped_one_can_be_repeated() -> None:
    disk = SimDisk("a", "b")
    disk.put("a", "x.1.working", "x")
    first = SimRecovery(disk, config("a", "b", "1"))
    disk.full = True
    for _ in range(10):
        first.step()
    assert first.said[-2:] == ["append a/.x.attempts fail 1 1 driver 1 died = full"] * 2
    first.crash()
    disk.full = False
    second = SimRecovery(disk, config("a", "b", "1"))
    while second.busy:
        second.step()
    assert second.settled == [("x", "failed")]
    assert sorted(disk.folders["a"]) == [".x.attempts", "x.failed"]
