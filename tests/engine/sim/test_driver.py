"""A driver's core on a simulated disk; whole lives: ``tests/engine/protocols/diskqueue`` and ``tests/sim``."""

from __future__ import annotations

import pytest

from engine.protocols.diskqueue.operations import Append, List, Log, Operation, Remove, Take, WriteOut
from engine.sim.disk import FOLDER, SimDisk
from engine.sim.driver import SimDriver, config, describe, result
from engine.sim.owners import STRANGER, Access


def test_a_number_is_held_until_its_holder_dies() -> None:
    disk = SimDisk("a", "b")
    driver = SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")
    with pytest.raises(ValueError, match="another driver works under number 1"):
        SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")
    driver.crash()
    SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")


def worked(disk: SimDisk) -> SimDriver:
    """A driver that has done what there was to do without waiting."""
    driver = SimDriver(disk, config("a", "b", "1"), lambda id, attempt: "done")
    while driver.busy:
        driver.step(0.0)
    return driver


def test_a_document_is_processed_and_published() -> None:
    disk = SimDisk("a", "b")
    disk.put("a", "x.ready", "text")
    driver = worked(disk)
    assert disk.text("b", "x.ready") == result("text") and disk.folders["a"] == {}
    assert driver.attempts == [("x", 1)]


def test_what_is_left_under_the_name_of_an_output_goes_before() -> None:
    disk = SimDisk("a", "b")
    disk.put("a", "x.ready", "text")
    disk.put("b", "x.1.writing.xml", kind="a link", owner=STRANGER)
    worked(disk)
    assert disk.text("b", "x.ready") == result("text")


@pytest.mark.parametrize("kind", ["", FOLDER])
def test_a_document_fails_whose_output_can_have_no_name(kind: str) -> None:
    disk = SimDisk("a", "b")
    disk.access["b"] = Access(0, 0o1777)
    disk.put("a", "x.ready", "text")
    disk.put("b", "x.1.writing.xml", kind=kind, owner=STRANGER)
    worked(disk)
    assert disk.text("a", "x.failed_twice.input") == "text"


def test_a_document_that_may_not_be_read_fails() -> None:
    disk = SimDisk("a", "b")
    disk.put("a", "x.ready", "text", owner=STRANGER, mode=0o600)
    worked(disk)
    assert disk.text("a", "x.failed_twice.input") == "text"


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (List("q"), "list q"),
        (Remove("q", "a"), "remove q/a"),
        (Take("q", "a", "b"), "take q/a b"),
        (WriteOut("p/times", "text"), "writeout p/times"),
        (Log("p/log", "1.0 published 1"), "log p/log published 1"),
        (Append("q", "r", "begin\t2\t1\t1.000\t"), "append q/r begin 2 1"),
    ],
)
def test_an_operation_in_one_line(operation: Operation, text: str) -> None:
    assert describe(operation) == text
