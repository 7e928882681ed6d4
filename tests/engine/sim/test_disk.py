"""The simulated disk and the real one give the same answers; its faults are what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.drive import disk as real
from engine.protocols.diskqueue.operations import (
    Append,
    Exists,
    List,
    Operation,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
)
from engine.sim.disk import TORN, SimDisk, SimDriver, SimRecovery, config


def steps(folder: str) -> list[Operation]:
    return [
        Touch(folder, "a"),
        Touch(folder, "a"),
        Exists(folder, "a"),
        Exists(folder, "b"),
        Append(folder, "a", "one"),
        Append(folder, "a", "two"),
        Read(folder, "a"),
        Read(folder, "b"),
        Take(folder, "a", "b"),
        Take(folder, "a", "b"),
        Touch(folder, "a"),
        Rename(folder, "a", "b"),
        Read(folder, "b"),
        Rename(folder, "b", "c"),
        Sync(folder, "c"),
        Sync(folder, "b"),
        Sync(folder),
        Remove(folder, "c"),
        Remove(folder, "c"),
        List(folder),
        Touch(f"{folder}/none", "a"),
        Exists(f"{folder}/none", "a"),
        Take(f"{folder}/none", "a", "b"),
        List(f"{folder}/none"),
    ]


def test_both_disks_give_the_same_answers(tmp_path: Path) -> None:
    folder = str(tmp_path)
    simulated = SimDisk(folder)
    for operation in steps(folder):
        mine, theirs = simulated.perform(operation, "1"), real.perform(operation)
        assert (mine.error, [entry.name for entry in mine.entries]) == (
            theirs.error,
            [entry.name for entry in theirs.entries],
        ), operation
        if isinstance(operation, Read) and not mine.error:
            assert mine.text == theirs.text == "one\ntwo\n"


def test_the_power_takes_what_was_not_synced() -> None:
    disk = SimDisk("q")
    disk.put("q", "a", "text", synced=False)
    disk.put("q", "b", "text", synced=False)
    disk.perform(Sync("q", "b"), "1")
    disk.cut_power()
    assert (disk.text("q", "a"), disk.text("q", "b")) == (TORN, "text")


def test_a_full_and_a_forbidden_disk() -> None:
    disk = SimDisk("q")
    disk.full = True
    assert disk.perform(Touch("q", "a"), "1").error == "full"
    disk.full, disk.denied = False, {"q"}
    assert disk.perform(Touch("q", "a"), "1").error == "denied"
    assert disk.folders["q"] == {}


def test_a_number_is_held_until_its_holder_dies() -> None:
    disk = SimDisk("a", "b")
    driver = SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")
    with pytest.raises(ValueError, match="another driver works under number 1"):
        SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")
    with pytest.raises(ValueError, match="driver 1 lives"):
        SimRecovery(disk, config("a", "b", "1"))
    driver.crash()
    assert SimRecovery(disk, config("a", "b", "1")).busy
